package loadgen

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/sys"
)

// Public reports about load generators, each with its smallest input, which a
// server of a few lines can play. Those about the schedule alone are in
// arrivals_test.go and schedule_test.go, those about stalls and queues in
// policy_linux_test.go.

// fortio#498, wrk2#89, ghz#233, hyperfoil#627, k6#3052: how many requests
// there are, and whose they are, depends on rate and duration alone: not on
// connections, not on workers.
func TestReportGhz233CountsOfTheGrid(t *testing.T) {
	cases := []struct {
		rate     float64
		duration time.Duration
		want     int64
	}{
		{0.3, 2 * time.Second, 1}, // 0.6
		{1, time.Second, 1},
		{7, 1500 * time.Millisecond, 11}, // 10.5
		{999.7, 500 * time.Millisecond, 500},
	}
	s := newScript(t, answering(okAnswer))
	type result struct {
		name    string
		want    int64
		workers int
		report  Report
		err     error
	}
	var results []*result
	var running sync.WaitGroup
	for _, c := range cases {
		for _, workers := range []int{1, 3, 12} {
			for _, connections := range []int{1, 12, 128} {
				if workers > connections {
					continue
				}
				g := connected(t, Spec{Connections: connections, Workers: workers, Queue: 1000, ConnectRate: 1e5}, s.target())
				r := &result{name: fmt.Sprintf("%v/s over %d connections by %d workers", c.rate, connections, workers), want: c.want, workers: workers}
				results = append(results, r)
				running.Go(func() {
					r.report, r.err = g.Run(t.Context(), Window{Rate: c.rate, Duration: c.duration, Seed: 1, Drain: time.Minute})
				})
			}
		}
	}
	running.Wait()
	sent := int64(0)
	for _, r := range results {
		require.NoError(t, r.err, r.name)
		total := r.report.Total()
		require.Equal(t, r.want, total.Scheduled, r.name)
		require.Equal(t, r.want, total.Completed, r.name)
		least, most := r.want, int64(0)
		for _, w := range r.report.Generator.Workers {
			least, most = min(least, w.Sent), max(most, w.Sent)
		}
		require.Len(t, r.report.Generator.Workers, r.workers)
		require.LessOrEqual(t, most-least, int64(1), r.name)
		sent += total.Sent
	}
	require.Equal(t, sent, s.requests.Load())
}

// giltene/wrk2#138: 10 million a second asked of a server that cannot: what
// is reported as reached is what was answered over the window.
func TestReportWrk2_138ReachedRateIsOverTheWindow(t *testing.T) {
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 50, Workers: 2}, s.target())
	r := runWindow(t, g, Window{Rate: 10_000_000, Duration: 50 * time.Millisecond})
	c := r.Total()
	require.EqualValues(t, 500_000, c.Scheduled)
	require.Equal(t, c.Sent, c.Completed)
	require.Equal(t, s.requests.Load(), c.Sent)
	require.Positive(t, c.OverflowBusy)
	require.LessOrEqual(t, c.MaxInFlight, int64(50))
}

// giltene/wrk2#117: a window shorter than any calibration.
func TestReportWrk2_117ShortWindow(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 10}, s.target())
	r := runWindow(t, g, Window{Rate: 5000, Duration: time.Millisecond})
	require.EqualValues(t, 5, r.Total().Completed)
	require.Positive(t, r.Targets[0].Response.P50)
}

// fortio#469: 100 a second of a server that takes 100 ms on one connection:
// what was not sent is said.
func TestReportFortio469WhatWasNotSentIsSaid(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		for s.request(in) {
			time.Sleep(100 * time.Millisecond)
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 1}, s.target())
	c := runWindow(t, g, Window{Rate: 100, Duration: time.Second}).Total()
	require.EqualValues(t, 100, c.Planned)
	require.LessOrEqual(t, c.Completed, int64(11))
	require.Equal(t, 100-c.Sent, c.OverflowBusy)
}

// nighthawk#576: asking for far more than the server can do must not reach
// less than asking for a little more.
func TestReportNighthawk576ReachedIsMonotone(t *testing.T) {
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 32}, s.target())
	runWindow(t, g, Window{Rate: 1000, Duration: 50 * time.Millisecond})
	var best int64
	for _, rate := range []float64{5_000, 100_000, 20_000_000} {
		c := runWindow(t, g, Window{Rate: rate, Duration: 200 * time.Millisecond}).Total()
		require.GreaterOrEqual(t, c.Completed, best/3, "at %v", rate)
		best = max(best, c.Completed)
	}
}

// nighthawk#339: very many workers are all ready before the first arrival.
func TestReportNighthawk339StartBarrierOfManyWorkers(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 100, Workers: 100, ConnectRate: 1e5}, s.target())
	for range 3 {
		r := runWindow(t, g, Window{Rate: 1000, Duration: 100 * time.Millisecond})
		require.EqualValues(t, 100, r.Total().Completed)
		for _, w := range r.Generator.Workers {
			require.EqualValues(t, 1, w.Sent)
		}
	}
}

// nighthawk#334: one request a second does not take a core.
func TestReportNighthawk334OneASecondSleeps(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{}, s.target())
	r := runWindow(t, g, Window{Rate: 1, Duration: time.Second})
	require.Less(t, r.Generator.Workers[0].Waits, int64(50))
	require.Less(t, r.Generator.BusyShare(), 0.2)
}

// rakyll/hey#112: more results than any list holds are all counted.
func TestReportHey112MoreThanAMillionResults(t *testing.T) {
	h := newHistogram()
	for i := range int64(1_200_000) {
		record(h, i)
	}
	d, err := newDistribution(h)
	require.NoError(t, err)
	require.EqualValues(t, 1_200_000, d.Count)
	require.InEpsilon(t, 600_000, d.P50, 0.002)
}

// FalkorDB/benchmark#179, tsenart/vegeta#164: no request is early, by the
// server's own clock, and no latency is below the service time.
func TestReportVegeta164NeverEarly(t *testing.T) {
	t.Parallel()
	for _, arrival := range []Arrival{Uniform, Jitter, Poisson, Burst} {
		var mu sync.Mutex
		var at []int64
		s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
			for s.request(in) {
				now, err := sys.MonotonicNanoseconds()
				mu.Lock()
				if err == nil {
					at = append(at, now)
				}
				mu.Unlock()
				io.WriteString(c, okAnswer)
			}
		})
		spec := Spec{Connections: 1, Arrival: arrival, Queue: 1000}
		if arrival == Burst {
			spec.BurstSize = 10
		}
		g := connected(t, spec, s.target())
		w := Window{Rate: 500, Duration: 300 * time.Millisecond, Seed: 3}
		r := runWindow2(t, g, w)
		mu.Lock()
		require.Len(t, at, 150)
		_, arrivals, err := Arrivals(spec, 1, w)
		require.NoError(t, err)
		k := 0
		// Both clocks are read in one go (clock_linux.go) to within this.
		const apart = int64(20 * time.Microsecond)
		for offset := range arrivals {
			require.GreaterOrEqual(t, at[k]-r.StartNanoseconds+apart, int64(offset), "%s, arrival %d", arrival, k)
			k++
		}
		mu.Unlock()
		require.GreaterOrEqual(t, r.Targets[0].Response.Min, r.Targets[0].Service.Min)
		require.GreaterOrEqual(t, r.Targets[0].Response.Max, r.Targets[0].Service.Max)
	}
}

// hatoo/oha#857: with one slow answer both figures are there, and the one
// from the intended time is the greater.
func TestReportOha857BothFigures(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		for s.request(in) {
			if s.requests.Load() == 3 {
				time.Sleep(300 * time.Millisecond)
			}
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 1, Queue: 100}, s.target())
	r := runWindow2(t, g, Window{Rate: 50, Duration: 500 * time.Millisecond, Seed: 1})
	slow := int64(300 * time.Millisecond)
	require.GreaterOrEqual(t, r.Targets[0].Service.Max, slow)
	require.GreaterOrEqual(t, r.Targets[0].Response.Max, slow)
	// Those that came due meanwhile waited, and only Response says so.
	require.Greater(t, r.Targets[0].Response.Mean, 2*r.Targets[0].Service.Mean)
}

// wg/wrk#280: what the server has seen and the client has not completed is
// in flight at the end.
func TestReportWrk280ServerTotalIsSent(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		for k := 0; s.request(in); k++ {
			if n%2 == 0 && k == 3 {
				in.ReadByte()
				return
			}
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 6}, s.target())
	r := runWindow(t, g, Window{Rate: 200, Duration: 300 * time.Millisecond, Drain: 100 * time.Millisecond})
	c := r.Total()
	require.Equal(t, s.requests.Load(), c.Sent)
	require.GreaterOrEqual(t, c.InFlightAtEnd, int64(3)) // more where this machine is busy
	require.Equal(t, c.Sent, c.Completed+c.InFlightAtEnd)
}

// nighthawk#142: how evenly the connections were used is said.
func TestReportNighthawk142AnswersPerConnection(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 10, Reuse: MostRecent}, s.target())
	r := runWindow(t, g, Window{Rate: 100, Duration: 100 * time.Millisecond, Seed: 1})
	require.Zero(t, r.Targets[0].AnswersLeast)
	require.Positive(t, r.Targets[0].AnswersMost)
	r, err := g.Run(t.Context(), Window{InFlight: 10, Duration: 50 * time.Millisecond})
	require.NoError(t, err)
	require.Positive(t, r.Targets[0].AnswersLeast)
}
