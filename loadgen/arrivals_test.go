package loadgen

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func scheduleOf(t testing.TB, s Spec, w Window) schedule {
	require.NoError(t, s.Validate())
	s = s.withDefaults()
	w, err := w.resolve(s, len(w.Targets))
	require.NoError(t, err)
	c, err := newSchedule(s, w)
	require.NoError(t, err)
	return c
}

// Bursts have the stated size, each lies in its own slots, and the count is
// that of any other shape.
func TestBurstsOfTheStatedSize(t *testing.T) {
	for _, targets := range [][]int{{0}, {0, 1}} {
		for _, size := range []int{1, 7, 64} {
			w := Window{Rate: 1000, Duration: time.Second, Targets: targets, Seed: 3}
			s := scheduleOf(t, Spec{Arrival: Burst, BurstSize: size}, w)
			all := walk(s, 0, 1)
			require.Len(t, all, 1000*len(targets))
			group := size * len(targets)
			for i, a := range all {
				burst := i / group
				require.Equal(t, all[burst*group].offset, a.offset)
				require.GreaterOrEqual(t, a.offset, s.slotStart(uint64(burst*group)))
				require.Less(t, a.offset, s.slotStart(uint64(min((burst+1)*group, len(all)))))
				if i%group == 0 && i > 0 {
					require.Greater(t, a.offset, all[i-1].offset)
				}
			}
			var merged int
			for id := range 3 {
				merged += len(walk(s, id, 3))
			}
			require.Len(t, all, merged)
		}
	}
	// Of size 1 they are jittered arrivals.
	w := Window{Rate: 777, Duration: time.Second, Targets: []int{0}, Seed: 9}
	require.Equal(t, walk(scheduleOf(t, Spec{}, w), 0, 1), walk(scheduleOf(t, Spec{Arrival: Burst, BurstSize: 1}, w), 0, 1))
}

// Coarse arrivals are put off to the next multiple of the interval, never
// before their time, and none is lost.
func TestCoarseArrivals(t *testing.T) {
	const interval = 10 * time.Millisecond
	for _, a := range []Arrival{Jitter, Uniform, Poisson} {
		w := Window{Rate: 2000, Duration: time.Second, Targets: []int{0}, Seed: 3}
		fine := walk(scheduleOf(t, Spec{Arrival: a}, w), 0, 1)
		coarse := walk(scheduleOf(t, Spec{Arrival: a, Coarse: interval}, w), 0, 1)
		require.Len(t, coarse, len(fine))
		for i := range fine {
			require.Zero(t, coarse[i].offset%int64(interval))
			require.GreaterOrEqual(t, coarse[i].offset, fine[i].offset)
			require.Less(t, coarse[i].offset-fine[i].offset, int64(interval))
			require.Equal(t, fine[i].target, coarse[i].target)
		}
	}
}

// The ramp rises from nothing in a straight line, the warm-up has the whole
// rate, both lie before the measured part, whose schedule they do not change.
func TestLeadBeforeTheMeasuredPart(t *testing.T) {
	for _, targets := range [][]int{{0}, {0, 1}} {
		w := Window{Rate: 1000, Duration: time.Second, Targets: targets, Seed: 3}
		plain := walk(scheduleOf(t, Spec{}, w), 0, 1)
		w.Ramp, w.WarmUp = 2*time.Second, time.Second
		n := len(targets)
		for _, coarse := range []time.Duration{0, 10 * time.Millisecond} {
			s := scheduleOf(t, Spec{Coarse: coarse}, w)
			lead := int64(3 * time.Second)
			require.Equal(t, lead, s.lead.end)
			var before, after []arrivalAt
			for _, a := range walk(s, 0, 1) {
				if a.offset < lead {
					require.Empty(t, after)
					before = append(before, a)
				} else {
					after = append(after, arrivalAt{a.offset - lead, a.target})
				}
			}
			if coarse == 0 {
				require.Equal(t, plain, after)
			}
			require.Len(t, after, len(plain))
			require.Len(t, before, 2000*n) // half of 2 s, and 1 s
			parts := [3]int{}
			perTarget := map[int]int{}
			for i, a := range before {
				parts[a.offset/int64(time.Second)]++
				perTarget[a.target]++
				if i > 0 {
					require.GreaterOrEqual(t, a.offset, before[i-1].offset)
				}
			}
			require.InDelta(t, 250*n, parts[0], 25) // an eighth of the square
			require.InDelta(t, 750*n, parts[1], 25)
			require.InDelta(t, 1000*n, parts[2], 25)
			for _, k := range perTarget {
				require.Equal(t, 2000, k)
			}
			merged := 0
			for id := range 3 {
				merged += len(walk(s, id, 3))
			}
			require.Equal(t, len(before)+len(after), merged)
		}
	}
}

// No window of any length has more arrivals than the rate gives, plus one
// slot: the schedule itself never bunches (jittered and uniform).
func TestReportNghttp2_1584NeverAboveTheRate(t *testing.T) {
	for _, rate := range []float64{70, 78, 999.7, 33_333} {
		for _, a := range []Arrival{Jitter, Uniform} {
			all := walk(scheduleOf(t, Spec{Arrival: a}, Window{Rate: rate, Duration: 3 * time.Second, Targets: []int{0}, Seed: 1}), 0, 1)
			for _, span := range []int64{1e6, 1e7, 1e8, 1e9} {
				most, from := 0, 0
				for to := range all {
					for all[to].offset-all[from].offset >= span {
						from++
					}
					most = max(most, to-from+1)
				}
				require.LessOrEqual(t, float64(most), math.Ceil(rate*float64(span)/1e9)+1, "rate %v, %v, span %d", rate, a, span)
			}
		}
	}
}

func TestGeneratedHeaders(t *testing.T) {
	s := Spec{Generated: GeneratedHeaders{Count: 30, Bytes: 100, Sets: 3}}
	require.NoError(t, s.Validate())
	s = s.withDefaults()
	target := Target{Address: "a:1"}
	plain := len(requestBytes(Spec{}.withDefaults(), target, 0))
	seen := map[string]bool{}
	for set := range 3 {
		b := requestBytes(s, target, set)
		require.Len(t, b, plain+30*(100+len(": \r\n")))
		seen[string(b)] = true
		for _, h := range requestHeaders(s, set) {
			require.Len(t, h.Name+h.Value, 100)
		}
	}
	require.Len(t, seen, 3)
	require.Equal(t, requestBytes(s, target, 1), requestBytes(s, target, 1))
}

func TestWindowLoopRefusals(t *testing.T) {
	spec := Spec{Connections: 4, Pipeline: 2}.withDefaults()
	for field, w := range map[string]Window{
		"Window.InFlight": {InFlight: 9},
		"Window.Rate":     {InFlight: 8, Rate: 5},
		"Window.Ramp":     {InFlight: 8, Ramp: 1},
		"Window.Idle":     {Idle: true, Rate: 1},
		"Window.WarmUp":   {Rate: 1, WarmUp: -1},
	} {
		w.Duration = time.Second
		_, err := w.resolve(spec, 1)
		var wrong *InvalidError
		require.ErrorAs(t, err, &wrong, field)
		require.Equal(t, field, wrong.Field)
	}
	for _, w := range []Window{{InFlight: 8}, {Idle: true}, {Rate: 5, Ramp: time.Second, WarmUp: time.Second}} {
		w.Duration = time.Second
		_, err := w.resolve(spec, 1)
		require.NoError(t, err)
	}
}
