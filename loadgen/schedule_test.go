package loadgen

import (
	"math"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type arrivalAt struct {
	offset int64
	target int
}

func mustSchedule(t testing.TB, a Arrival, w Window) schedule {
	w, err := w.resolve(Spec{}.withDefaults(), len(w.Targets))
	require.NoError(t, err)
	s, err := newSchedule(Spec{Arrival: a}, w)
	require.NoError(t, err)
	return s
}

func walk(s schedule, worker, workers int) []arrivalAt {
	c := s.cursor(worker, workers)
	var all []arrivalAt
	for {
		offset, target, ok := c.next()
		if !ok {
			return all
		}
		all = append(all, arrivalAt{offset, target})
	}
}

func targetsOf(n int) []int {
	t := make([]int, n)
	for i := range t {
		t[i] = i
	}
	return t
}

// The count is exact at every rate, arrivals are inside the window and in
// order, and workers share one schedule that does not depend on their number.
func TestScheduleGrid(t *testing.T) {
	cases := []struct {
		rate     float64
		duration time.Duration
		want     int // per target
	}{
		{0.3, 10 * time.Second, 3},
		{1, 3 * time.Second, 3},
		{7, 1500 * time.Millisecond, 11}, // 10.5 rounds up
		{30, 30 * time.Second, 900},
		{999.7, 10 * time.Second, 9997},
		{600_000, 5 * time.Millisecond, 3_000}, // period 1666.67 ns
		{1e9, 2 * time.Microsecond, 2_000},
		{1e-9, 7 * 24 * time.Hour, 0},
	}
	for _, c := range cases {
		for _, a := range []Arrival{Jitter, Uniform, Poisson} {
			for _, targets := range []int{1, 2, 3} {
				w := Window{Rate: c.rate, Duration: c.duration, Targets: targetsOf(targets), Seed: 11}
				if c.want == 0 {
					_, err := w.resolve(Spec{Arrival: a}.withDefaults(), targets)
					var wrong *InvalidError
					require.ErrorAs(t, err, &wrong)
					continue
				}
				s := mustSchedule(t, a, w)
				one := walk(s, 0, 1)
				require.Len(t, one, c.want*targets, "%v %v", c.rate, a)
				counts := make([]int, targets)
				last := int64(0)
				for _, at := range one {
					counts[at.target]++
					if at.offset < last {
						t.Fatalf("%v %v: %d after %d", c.rate, a, at.offset, last)
					}
					last = at.offset
				}
				require.LessOrEqual(t, float64(last), float64(c.duration)+0.5e9/c.rate) // when the count was rounded up
				for _, n := range counts {
					require.Equal(t, c.want, n)
				}
				for _, workers := range []int{3, 12} {
					var merged []arrivalAt
					for id := range workers {
						merged = append(merged, walk(s, id, workers)...)
					}
					sort.SliceStable(merged, func(i, j int) bool { return merged[i].offset < merged[j].offset })
					require.True(t, slices.Equal(offsets(one), offsets(merged)))
				}
			}
		}
	}
}

func offsets(all []arrivalAt) []int64 {
	o := make([]int64, len(all))
	for i, a := range all {
		o[i] = a.offset
	}
	return o
}

// Slots are floor(i/rate) in exact arithmetic, at the last index as at the
// first, and jitter stays inside its slot (periods of whole nanoseconds, as in
// vegeta, k6 and ghz, give 600,240 for 600,000; golang/go#47084).
func TestReportGo47084SlotsAreExact(t *testing.T) {
	for _, rate := range []float64{0.3, 999.7, 600_000, 1234.56789, 3} {
		duration := time.Duration(math.Ceil(5_000 / rate * 1e9))
		w := Window{Rate: rate, Duration: min(duration, maxDuration), Targets: []int{0}, Seed: 5}
		exact, ok := new(big.Rat).SetString(strconv.FormatFloat(rate, 'g', -1, 64))
		require.True(t, ok)
		slot := func(i int) int64 {
			r := new(big.Rat).Quo(new(big.Rat).SetInt64(int64(i)*1e9), exact)
			return new(big.Int).Quo(r.Num(), r.Denom()).Int64()
		}
		uniform := walk(mustSchedule(t, Uniform, w), 0, 1)
		jitter := walk(mustSchedule(t, Jitter, w), 0, 1)
		moved := 0
		for i := range uniform {
			from, to := slot(i), slot(i+1)
			if uniform[i].offset != from || jitter[i].offset < from || jitter[i].offset >= to {
				t.Fatalf("rate %v slot %d from %d to %d: uniform %d, jitter %d", rate, i, from, to, uniform[i].offset, jitter[i].offset)
			}
			if jitter[i].offset != from {
				moved++
			}
		}
		require.Greater(t, moved, len(uniform)*9/10)
	}
}

// Each pair goes to both targets, first to either about equally often, and
// only the seed decides.
func TestSchedulePairsInSeededRandomOrder(t *testing.T) {
	w := Window{Rate: 1000, Duration: 10 * time.Second, Targets: []int{4, 9}, Seed: 1}
	s, err := newSchedule(Spec{Arrival: Jitter}, w)
	require.NoError(t, err)
	one := walk(s, 0, 1)
	first, same := 0, 0
	for i := 0; i < len(one); i += 2 {
		require.Equal(t, 13, one[i].target+one[i+1].target, "pair %d", i/2)
		if one[i].target == 4 {
			first++
		}
		if i > 0 && one[i].target == one[i-2].target {
			same++
		}
	}
	require.InDelta(t, 5000, first, 250) // 5 standard deviations
	require.InDelta(t, 5000, same, 250)  // successive pairs are independent
	require.Equal(t, one, walk(s, 0, 1))
	w.Seed = 2
	other, err := newSchedule(Spec{Arrival: Jitter}, w)
	require.NoError(t, err)
	require.NotEqual(t, one, walk(other, 0, 1))
	for id := range 3 { // workers own whole pairs
		part := walk(s, id, 3)
		for i := 0; i+1 < len(part); i += 2 {
			require.Equal(t, 13, part[i].target+part[i+1].target)
		}
	}
}

// Poisson gaps have a standard deviation equal to their mean, and the rate
// is the same in both halves.
func TestSchedulePoissonShape(t *testing.T) {
	s := mustSchedule(t, Poisson, Window{Rate: 10_000, Duration: 10 * time.Second, Targets: []int{0}, Seed: 3})
	all := walk(s, 0, 1)
	sum, squares, firstHalf := 0.0, 0.0, 0
	for i := 1; i < len(all); i++ {
		gap := float64(all[i].offset - all[i-1].offset)
		sum, squares = sum+gap, squares+gap*gap
		if all[i].offset < int64(5*time.Second) {
			firstHalf++
		}
	}
	n := float64(len(all) - 1)
	mean := sum / n
	require.InEpsilon(t, 100_000, mean, 0.01)
	require.InEpsilon(t, mean, math.Sqrt(squares/n-mean*mean), 0.03)
	require.InDelta(t, 50_000, firstHalf, 5*math.Sqrt(100_000)/2)
}

func TestScheduleAllocatesNothing(t *testing.T) {
	for _, a := range []Arrival{Jitter, Uniform, Poisson} {
		c := mustSchedule(t, a, Window{Rate: 1e6, Duration: time.Second, Targets: []int{0, 1}}).cursor(0, 1)
		require.Zero(t, testing.AllocsPerRun(1000, func() { c.next() }), a)
	}
}

func TestWindowRefusals(t *testing.T) {
	good := Window{Rate: 10, Duration: time.Second}
	for field, wrong := range map[string]func(*Window){
		"Window.Rate":       func(w *Window) { w.Rate = math.NaN() },
		"Window.Duration":   func(w *Window) { w.Duration = 0 },
		"Window.Drain":      func(w *Window) { w.Drain = -1 },
		"Window.Targets":    func(w *Window) { w.Targets = []int{} },
		"Window.Targets[0]": func(w *Window) { w.Targets = []int{2} },
		"Window.Targets[1]": func(w *Window) { w.Targets = []int{0, 0} },
	} {
		w := good
		wrong(&w)
		_, err := w.resolve(Spec{}.withDefaults(), 2)
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Field)
	}
	for _, rate := range []float64{0, -1, math.Inf(1), 1e9 + 1, 2e9, 0.0001} {
		_, err := Window{Rate: rate, Duration: time.Second}.resolve(Spec{}.withDefaults(), 2)
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid, "rate %v", rate)
		require.Equal(t, "Window.Rate", invalid.Field)
	}
	w, err := good.resolve(Spec{}.withDefaults(), 2)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, w.Targets)
	require.Equal(t, 5*time.Second, w.Drain)
}
