package arrivals

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Schedule is what a generator was asked for.
type Schedule struct {
	// Rate is requests per second.
	Rate float64
	// Skip is the time after the first arrival that is not looked at: there
	// most generators open connections. Default: none.
	Skip time.Duration
}

// Analysis is how requests arrived.
type Analysis struct {
	Arrivals int     `json:"arrivals"` // that were looked at
	Rate     float64 `json:"rate"`     // per second, as reached
	Bunches  Bunches `json:"bunches"`
	Error    Error   `json:"error_ns"`
}

// Bunches is the size of bunches of arrivals; 1 is one at a time.
type Bunches struct {
	Mean float64 `json:"mean"` // of the bunches
	// Seen is the size of the bunch that the average request came in.
	Seen    float64 `json:"seen"`
	Largest int     `json:"largest"`
}

// Error is how far arrivals were from the ideal schedule, in nanoseconds,
// early or late.
type Error struct {
	P50 int64 `json:"p50"`
	P90 int64 `json:"p90"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// bunchShare is the part of the ideal interval below which two arrivals are of
// one bunch.
const bunchShare = 0.2

// minArrivals are the fewest that percentiles can be taken of.
const minArrivals = 100

// Analyze holds arrival times, nanoseconds from any origin and in any order,
// against a schedule. It wants at least 100 of them after Skip.
func Analyze(times []int64, s Schedule) (Analysis, error) {
	if math.IsNaN(s.Rate) || s.Rate <= 0 || math.IsInf(s.Rate, 0) {
		return Analysis{}, fmt.Errorf("arrivals: rate %v is not one to compare with; give what the generator was asked for", s.Rate)
	}
	t := slices.Sorted(slices.Values(times))
	if len(t) > 0 && s.Skip > 0 {
		from, _ := slices.BinarySearch(t, t[0]+int64(s.Skip))
		t = t[from:]
	}
	if len(t) < minArrivals || t[len(t)-1] == t[0] {
		return Analysis{}, fmt.Errorf("arrivals: %d arrivals after the first %v cannot be analysed; record at least %d, over some time", len(t), s.Skip, minArrivals)
	}
	return Analysis{
		Arrivals: len(t),
		Rate:     rateOf(t),
		Bunches:  bunches(t, bunchShare*1e9/s.Rate),
		Error:    errorOf(t, s.Rate),
	}, nil
}

// rateOf is the slope of the count over time by least squares: unlike the count
// over the time from the first to the last, it is not higher for bunches that
// happen to stand at both ends.
func rateOf(t []int64) float64 {
	middle, mean := float64(len(t)-1)/2, 0.0
	for _, at := range t {
		mean += float64(at-t[0]) / float64(len(t))
	}
	both, square := 0.0, 0.0
	for k, at := range t {
		x := float64(at-t[0]) - mean
		both += x * (float64(k) - middle)
		square += x * x
	}
	return both / square * 1e9
}

func bunches(t []int64, gap float64) Bunches {
	var b Bunches
	size, count, squares := 1, 0, 0.0
	end := func() {
		count++
		squares += float64(size) * float64(size)
		b.Largest = max(b.Largest, size)
		size = 1
	}
	for k := 1; k < len(t); k++ {
		if float64(t[k]-t[k-1]) < gap {
			size++
		} else {
			end()
		}
	}
	end()
	b.Mean = float64(len(t)) / float64(count)
	b.Seen = squares / float64(len(t))
	return b
}

func errorOf(t []int64, rate float64) Error {
	off := make([]float64, len(t))
	for k := range t {
		off[k] = float64(t[k]-t[0]) - float64(k)*1e9/rate
	}
	start := slices.Sorted(slices.Values(off))[len(off)/2]
	for k := range off {
		off[k] = math.Abs(off[k] - start)
	}
	slices.Sort(off)
	at := func(q float64) int64 { return int64(off[int(math.Ceil(q*float64(len(off))))-1]) }
	return Error{P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: at(1)}
}
