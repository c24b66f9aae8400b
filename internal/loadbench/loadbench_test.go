package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/loadgen"
	"github.com/tareperf/tare/stats"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Every tool runs against a server, with counts that agree: measure compares
// them.
func TestEveryToolIsMeasured(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("measures on Linux only")
	}
	if runtime.NumCPU() < 2 {
		t.Skip("needs two CPUs")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := newRig(ctx, settings{rounds: 2, length: time.Second, saturated: time.Second, serverCPU: 1})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.close()) }()
	t.Log(r.describe())
	for _, name := range []string{"wrk", "h2load", "hey"} {
		if _, ok := r.find(name); !ok && need.Required(name) {
			t.Errorf("%s is required by TARE_REQUIRE and is not here", name)
		}
	}
	recorder := job{server: r.servers[0], rate: rate, length: r.length}
	for _, own := range append([]tool{tare(tareUniform, loadgen.Uniform, 0), tare(tareCoarse, loadgen.Uniform, 10*time.Millisecond), vegetaTool}, r.tools...) {
		if own.name == "wrk" { // has no rate
			continue
		}
		s, err := r.measure(ctx, own, recorder)
		require.NoError(t, err)
		require.Positive(t, s.steadyCPU())
		require.Positive(t, s.wholeCPU())
		require.NotNil(t, s.arrivals)
		if own.name == tareCoarse {
			require.Greater(t, s.arrivals.Bunches.Seen, 10.0)
		}
		t.Logf("%s: %.1f µs of CPU for a request, %+v", own.name, s.steadyCPU()/1e3, *s.arrivals)
	}
	closed := tare(tareClosed, loadgen.Jitter, 0)
	for _, server := range r.servers {
		s, err := r.measure(ctx, closed, job{server: server, length: r.saturated})
		require.NoError(t, err)
		require.Zero(t, s.Failed)
		require.Nil(t, s.arrivals)
		t.Logf("%s saturated: %.0f/s", server.name, s.Rate)
	}
	for _, name := range []string{"wrk", "h2load"} {
		if other, ok := r.find(name); ok {
			server := r.servers[len(r.servers)-1]
			_, err := r.measure(ctx, other, job{server: server, h2: name == "h2load" && server.h2c != "", length: r.saturated})
			require.NoError(t, err)
		}
	}
}

func TestOrderIsBalanced(t *testing.T) {
	tools := []tool{{name: "a"}, {name: "b"}, {name: "c"}}
	first := map[string]int{}
	for round := range 6 {
		o := order(tools, round)
		require.Len(t, o, 3)
		require.ElementsMatch(t, []string{"a", "b", "c"}, []string{o[0].name, o[1].name, o[2].name})
		first[o[0].name]++
	}
	require.Equal(t, map[string]int{"a": 2, "b": 2, "c": 2}, first)
	require.Equal(t, "a", tools[0].name)
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		demand    demand
		low, high float64
		want      string
	}{
		{atMost, 0.3, 0.5, met}, {atMost, 0.4, 0.6, open}, {atMost, 0.51, 0.6, missed},
		{notWhollyBelow, 0.4, 0.49, missed}, {notWhollyBelow, 0.4, 0.5, met}, {notWhollyBelow, 0.6, 0.7, met},
		{notWhollyAbove, 0.51, 0.6, missed}, {notWhollyAbove, 0.5, 0.6, met}, {notWhollyAbove, 0.1, 0.2, met},
	} {
		v := verdict{what: "x", interval: stats.Interval{Low: c.low, High: c.high}, demand: c.demand, limit: 0.5}
		require.Equal(t, c.want, v.says(), "%+v", c)
	}
}

// A server that is busy, or a generator that is not, makes rates worthless.
func TestSaturationIsJudgedByTheBottleneck(t *testing.T) {
	run := func(rate, process, generator, server float64) sample {
		return sample{outcome: outcome{Rate: rate}, middle: middle{process: process, generator: generator, server: server}}
	}
	got := samples{
		tareClosed: {run(110, 1, 0.99, 0.5), run(111, 1, 0.98, 0.6)},
		"wrk":      {run(100, 1, 1, 0.5), run(100, 1, 1, 0.9)},
	}
	v, err := judgeSaturated(server{name: "s"}, false, "wrk", got)
	require.NoError(t, err)
	require.Equal(t, notWhollyBelow, v.demand)
	require.InDelta(t, 1.105, v.mean, 1e-9)
	got["wrk"][1].middle.server = 0.91
	v, err = judgeSaturated(server{name: "s"}, false, "wrk", got)
	require.NoError(t, err)
	require.Equal(t, notWhollyAbove, v.demand)
	require.InDelta(t, 1/1.105, v.mean, 0.001)
	require.Contains(t, v.note, "not the bottleneck")
}
