package arrivals

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// at makes n arrivals; k-th of n at f(k) nanoseconds.
func at(n int, f func(k int) float64) []int64 {
	t := make([]int64, n)
	for k := range t {
		t[k] = int64(f(k)) + 1_000_000_000_000
	}
	return t
}

func TestAnalyzeKnownSchedules(t *testing.T) {
	const n, rate, slot = 20_000, 2000.0, 500_000.0
	random := rand.New(rand.NewPCG(1, 2))
	exact := func(k int) float64 { return float64(k) * slot }

	a, err := Analyze(at(n, exact), Schedule{Rate: rate})
	require.NoError(t, err)
	require.InEpsilon(t, rate, a.Rate, 1e-9)
	a.Rate = rate
	require.Equal(t, Analysis{Arrivals: n, Rate: rate, Bunches: Bunches{1, 1, 1}}, a)

	// 20 at once, each 10 ms.
	a, err = Analyze(at(n, func(k int) float64 { return float64(k/20*20) * slot }), Schedule{Rate: rate})
	require.NoError(t, err)
	require.Equal(t, Bunches{20, 20, 20}, a.Bunches)
	require.EqualValues(t, 5_000_000, a.Error.Max)
	require.InEpsilon(t, rate, a.Rate, 1e-4) // no more for the bunches at both ends
	require.InEpsilon(t, 2_500_000, a.Error.P50, 0.01)

	// One late by 3 ms moves nothing else.
	a, err = Analyze(at(n, func(k int) float64 {
		if k == n/2 {
			return exact(k) + 3e6
		}
		return exact(k)
	}), Schedule{Rate: rate})
	require.NoError(t, err)
	require.LessOrEqual(t, a.Error.Max, int64(3_000_000))
	require.Zero(t, a.Error.P99)

	// A rate 1% off drifts: 100 ms over 10 s, half of it to each side.
	a, err = Analyze(at(n, func(k int) float64 { return exact(k) * 1.01 }), Schedule{Rate: rate})
	require.NoError(t, err)
	require.InEpsilon(t, rate/1.01, a.Rate, 1e-6)
	require.InEpsilon(t, 50e6, a.Error.Max, 0.01)

	// What the package comment says of shares below a fifth of the interval.
	jitter := at(n, func(k int) float64 { return exact(k) + random.Float64()*slot })
	a, err = Analyze(jitter, Schedule{Rate: rate})
	require.NoError(t, err)
	require.InDelta(t, 0.02, 1-1/a.Bunches.Mean, 0.005)
	random.Shuffle(n, func(i, k int) { jitter[i], jitter[k] = jitter[k], jitter[i] })
	again, err := Analyze(jitter, Schedule{Rate: rate})
	require.NoError(t, err)
	require.Equal(t, a, again)
	sum := 0.0
	a, err = Analyze(at(n, func(int) float64 { sum += random.ExpFloat64() * slot; return sum }), Schedule{Rate: rate})
	require.NoError(t, err)
	require.InDelta(t, 0.18, 1-1/a.Bunches.Mean, 0.02)
}

func TestAnalyzeSkipsTheBeginning(t *testing.T) {
	times := at(3000, func(k int) float64 {
		if k < 1000 {
			return float64(k) * 1000 // a storm, then the schedule
		}
		return 1e9 + float64(k)*1e6
	})
	a, err := Analyze(times, Schedule{Rate: 1000, Skip: time.Second})
	require.NoError(t, err)
	require.Equal(t, 2000, a.Arrivals)
	require.Zero(t, a.Error.Max)
	require.Equal(t, Bunches{1, 1, 1}, a.Bunches)
}

func TestAnalyzeRefusesTooLittle(t *testing.T) {
	for _, times := range [][]int64{nil, {1}, make([]int64, 99), make([]int64, 1000)} {
		_, err := Analyze(times, Schedule{Rate: 1})
		require.Error(t, err)
	}
	_, err := Analyze(at(1000, func(k int) float64 { return float64(k) }), Schedule{})
	require.ErrorContains(t, err, "rate 0")
}

func ExampleAnalyze() {
	var times []int64 // 1,000 a second for a second, ten at a time
	for k := range int64(1000) {
		times = append(times, k/10*10_000_000)
	}
	a, err := Analyze(times, Schedule{Rate: 1000})
	fmt.Println(a.Bunches.Seen, time.Duration(a.Error.Max), err)
	// Output: 10 5ms <nil>
}
