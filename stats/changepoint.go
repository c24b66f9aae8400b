package stats

import (
	"math"
	"math/rand/v2"
	"sort"
)

// ChangeOptions of ChangePoints. The zero value is the default.
type ChangeOptions struct {
	// Alpha of the test in each segment. Default 0.05.
	Alpha float64
	// MinSegment is the smallest number of sessions on each side. Default 3, at least 2.
	MinSegment int
	// Shuffles behind each p. Default 9999.
	Shuffles int
	Seed     uint64
}

// ChangePoint is a step in the history of one row.
type ChangePoint struct {
	// Index is the first session after the step.
	Index int `json:"index"`
	// Before and After are the means of the two sides, up to the next change.
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// P is the permutation p of "no step in this segment", never zero.
	P float64 `json:"p"`
}

// ChangePoints finds steps of level in the history of one row over many sessions
// (one value per session, in time order), by binary segmentation.
//
// In each segment, statistic max_k |x̄_1 − x̄_2|·√(k(n−k)/n), k the split, tested
// by shuffling the segment's values, p = (hits+1)/(B+1); a significant step
// splits the segment and both sides are searched. Without any step in the
// history, one is reported with probability at most Alpha. Sources: Page (1955),
// Vostrikova (1981). Assumes that sessions are exchangeable between steps; a
// slow drift is reported as steps. Fewer than 2·MinSegment sessions, or values
// without spread, are a *NotTestableError. Never use it on the rounds of one session.
func ChangePoints(history []float64, o ChangeOptions) ([]ChangePoint, error) {
	const q = "change points"
	alpha, err := settleAlpha(o.Alpha)
	if err != nil {
		return nil, err
	}
	if o.MinSegment == 0 {
		o.MinSegment = 3
	}
	if o.Shuffles == 0 {
		o.Shuffles = 9999
	}
	if o.MinSegment < 2 || o.Shuffles < 99 || o.Shuffles > 10_000_000 {
		return nil, &OptionError{"MinSegment, Shuffles", []int{o.MinSegment, o.Shuffles}, "a segment of 2 or more and 99 to 10000000 shuffles"}
	}
	if err := checkValues(q, history); err != nil {
		return nil, err
	}
	if len(history)/2 < o.MinSegment {
		return nil, notTestable(q, "there are %d sessions: a step needs %d on each side", len(history), o.MinSegment)
	}
	if _, sd := moments(history); noSpread(sd, history) {
		return nil, notTestable(q, "zero variance: all %d sessions gave %v", len(history), history[0])
	}
	var at []ChangePoint
	rng := rand.New(rand.NewPCG(o.Seed, 0xc4a6e))
	var search func(lo, hi int)
	search = func(lo, hi int) {
		x := history[lo:hi]
		if len(x)/2 < o.MinSegment {
			return
		}
		if _, sd := moments(x); noSpread(sd, x) {
			return
		}
		k, p := step(x, o, rng)
		if p > alpha {
			return
		}
		search(lo, lo+k)
		at = append(at, ChangePoint{Index: lo + k, P: p})
		search(lo+k, hi)
	}
	search(0, len(history))
	sort.Slice(at, func(i, j int) bool { return at[i].Index < at[j].Index })
	for i := range at {
		lo, hi := 0, len(history)
		if i > 0 {
			lo = at[i-1].Index
		}
		if i+1 < len(at) {
			hi = at[i+1].Index
		}
		at[i].Before, at[i].After = mean(history[lo:at[i].Index]), mean(history[at[i].Index:hi])
	}
	return at, nil
}

func step(x []float64, o ChangeOptions, rng *rand.Rand) (int, float64) {
	m := mean(x)
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = v - m
	}
	stat := func() (float64, int) {
		var s, best float64
		at, n := 0, float64(len(d))
		for i, v := range d {
			s += v
			k := i + 1
			if k < o.MinSegment || len(d)-k < o.MinSegment {
				continue
			}
			// |x̄1−x̄2|·√(k(n−k)/n) = |S_k|·√(n/(k(n−k))) for centred values.
			if c := math.Abs(s) * math.Sqrt(n/(float64(k)*(n-float64(k)))); c > best {
				best, at = c, k
			}
		}
		return best, at
	}
	observed, at := stat()
	hits := 0
	for range o.Shuffles {
		rng.Shuffle(len(d), func(i, j int) { d[i], d[j] = d[j], d[i] })
		if s, _ := stat(); s >= observed*(1-1e-12) {
			hits++
		}
	}
	return at, float64(hits+1) / float64(o.Shuffles+1)
}
