package abtest

import (
	"errors"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/stats"
)

// Result is what a record says: a pure function of it, but for RowsPath and
// Took.
type Result struct {
	RecordPath  string
	RowsPath    string // the file that holds Text, "" if there is none
	Name        string
	Session     Session
	Rate        float64 // requests per second for each arm
	Planned     int     // rounds
	Kept        int
	Failed      int // rounds that failed a gate or were interrupted
	Interrupted int // of those
	Resumed     int // times that the session was resumed
	Arrivals    Arrivals
	// BaselineBusy is the gate of that name over all kept rounds.
	BaselineBusy gate.Result
	Complete     bool
	Ended        string // why the session ended early, "" if it did not or may be resumed
	Took         time.Duration

	// Placebo is the row of the arm that equals the baseline: the floor of
	// these very minutes. Nil if the experiment declined it.
	Placebo *Row

	// Rows are those of the variants, in their order: one family.
	Rows []Row

	// Warnings are about the session, those of one row stand in the row.
	Warnings []string
}

// Row is one line of a price list: one variant against the baseline.
type Row struct {
	Experiment, Arm, Baseline string

	// Estimate has the paired ratios' mean with its interval; Effect of it is
	// in percent. Err says why there is no estimate.
	Estimate stats.Estimate
	Err      string `json:",omitempty"`

	// Simultaneous is the interval that holds for all rows of the family
	// together, in percent; HolmP the p-value after Holm's correction.
	Simultaneous stats.Interval
	HolmP        float64

	// Cost of one request: means over rounds, in the metric's unit.
	BaselineCost, VariantCost float64
	// Difference is VariantCost − BaselineCost with its paired interval.
	Difference stats.Estimate

	// Busy shares of the proxy's CPUs, means over rounds.
	BaselineBusy, VariantBusy float64

	// Floor is the size of difference, in percent, that these minutes cannot
	// tell from noise; 0 if there was no placebo.
	Floor float64

	// WithFailed is the estimate with gate-failed but whole rounds included,
	// nil if there were none.
	WithFailed *stats.Estimate

	// Discards says whether the rounds that were not kept can have made the
	// result.
	Discards stats.Discards

	Verdict stats.Verdict
}

// Change is the row's effect in percent with its 95% interval.
func (r Row) Change() (percent float64, interval stats.Interval) {
	return 100 * (r.Estimate.Mean - 1), r.Estimate.Interval.Percent()
}

// Analyze computes a record's result. It never changes the record; the same
// record gives the same result.
func Analyze(r Record) (Result, error) {
	result := Result{
		RecordPath: r.Path, Name: r.Session.Name, Session: r.Session, Planned: r.Session.Plan.Rounds,
		Complete: r.End != nil && r.End.Complete,
	}
	if r.End != nil {
		result.Ended = r.End.Reason
	}
	if r.Pilot != nil {
		result.Rate = r.Pilot.Rate
	}
	kept := r.Kept()
	result.Kept, result.Failed = len(kept), len(r.Rounds)-len(kept)
	if len(r.Session.Arms) == 0 {
		return result, &RecordError{Path: r.Path, Line: 1, Err: errors.New("the session has no arms")}
	}
	for _, round := range r.Rounds {
		if round.Interrupted != "" {
			result.Interrupted++
		}
	}
	for _, n := range r.Notes {
		if n.Resumed {
			result.Resumed++
		}
	}
	result.Arrivals = arrivals(kept)
	base := r.Session.Arms[0].Name
	starts := startOrder(r)
	result.BaselineBusy = baselineBusy(r, kept)
	for _, a := range r.Session.Arms[1:] {
		row := newRow(r, base, a.Name, kept, starts)
		if a.Placebo && result.Placebo == nil {
			result.Placebo = &row
			continue
		}
		result.Rows = append(result.Rows, row)
	}
	if err := result.judge(r); err != nil {
		return result, err
	}
	return result, nil
}

// inTime numbers some of all rounds by their place among those that were run: a
// discarded one leaves a gap, which the search for drift and serial correlation
// must see.
func inTime(all, some []RoundRecord) []int {
	type key struct{ index, attempt, block int }
	of := func(r RoundRecord) key { return key{r.Index, r.Attempt, r.Block} }
	at := map[key]int{}
	for i, r := range all {
		at[of(r)] = i
	}
	places, rising := make([]int, len(some)), true
	for i, r := range some {
		places[i] = at[of(r)]
		rising = rising && (i == 0 || places[i] > places[i-1])
	}
	for i := range places {
		if !rising { // the record does not tell its tries apart
			places[i] = i
		}
	}
	return places
}

// pairs extracts one paired round per record round in which both arms have
// samples: in Duet the window in which they met, in Restart all their runs.
func pairs(all, rounds []RoundRecord, starts map[int][]string, base, variant string) []stats.Round {
	var out []stats.Round
	places := inTime(all, rounds)
	for i, round := range rounds {
		a, b := meet(round, base, variant)
		if len(a) == 0 || len(b) == 0 {
			continue
		}
		order := 0
		switch names, duet := starts[round.Block]; {
		case duet: // who was started first in the block
			order = 1
			if slices.Index(names, variant) < slices.Index(names, base) {
				order = -1
			}
		case first(a) < first(b): // who ran first in the round
			order = 1
		default:
			order = -1
		}
		out = append(out, stats.Round{Index: places[i], Block: round.Block, Order: order, Baseline: pool(a), Variant: pool(b)})
	}
	return out
}

// baselineBusy holds the baseline's mean busy share over the kept rounds
// against the limits.
func baselineBusy(r Record, kept []RoundRecord) gate.Result {
	var shares, n float64
	for _, round := range kept {
		for _, run := range round.Runs {
			for _, s := range run.Samples {
				if s.Arm == r.Session.Arms[0].Name {
					shares, n = shares+s.Busy, n+1
				}
			}
		}
	}
	const second = 1e9
	return gate.BaselineBusy(r.Session.Gates, gate.BusyEvidence{
		Arm: r.Session.Arms[0].Name, CPUNanoseconds: int64(shares / max(n, 1) * second), WallNanoseconds: second, CPUs: 1,
	})
}

// startOrder gives, by block, the arms in the order of their starts.
func startOrder(r Record) map[int][]string {
	starts := map[int][]string{}
	for _, b := range r.Blocks {
		starts[b.Index] = b.Starts
	}
	return starts
}

// first is the earliest place in the round.
func first(samples []Sample) int {
	place := samples[0].Position
	for _, s := range samples {
		place = min(place, s.Position)
	}
	return place
}

// meet returns the samples of two arms that are compared in a round.
func meet(round RoundRecord, base, variant string) (a, b []Sample) {
	for _, run := range round.Runs {
		var ra, rb []Sample
		for _, s := range run.Samples {
			switch s.Arm {
			case base:
				ra = append(ra, s)
			case variant:
				rb = append(rb, s)
			}
		}
		if len(run.Samples) > 1 && (ra == nil || rb == nil) {
			continue // a duet with another arm
		}
		a, b = append(a, ra...), append(b, rb...)
	}
	return a, b
}

func pool(samples []Sample) stats.Arm {
	arms := make([]stats.Arm, len(samples))
	for i, s := range samples {
		arms[i] = stats.Arm{Cost: s.Cost.Value, Responses: float64(s.Load.Completed)}
	}
	return stats.Total(arms...)
}

func newRow(r Record, base, variant string, kept []RoundRecord, starts map[int][]string) Row {
	row := Row{Experiment: r.Session.Name, Arm: variant, Baseline: base}
	rounds := pairs(r.Rounds, kept, starts, base, variant)
	est, err := stats.FromRounds(rounds, stats.Options{})
	row.Estimate = est
	if err != nil {
		row.Err = err.Error()
	}
	row.costs(rounds)
	row.BaselineBusy, row.VariantBusy = busy(kept, base, variant)
	whole := wholeRounds(r)
	if len(whole) > len(kept) {
		if e, err := stats.FromRounds(pairs(r.Rounds, whole, starts, base, variant), stats.Options{}); err == nil {
			row.WithFailed = &e
		}
	}
	return row
}

// costs fills in what a request cost in either arm and the paired difference,
// over the same units as the ratio.
func (row *Row) costs(rounds []stats.Round) {
	var differences []float64
	var blocks []int
	for _, r := range rounds {
		a, errA := r.Baseline.PerResponse()
		b, errB := r.Variant.PerResponse()
		if errA != nil || errB != nil {
			continue
		}
		row.BaselineCost += a / float64(len(rounds))
		row.VariantCost += b / float64(len(rounds))
		differences = append(differences, b-a)
		blocks = append(blocks, r.Block)
	}
	if d, err := stats.MeanOfDifferences(byBlock(differences, blocks), stats.Options{}); err == nil {
		row.Difference = d
	}
}

// byBlock averages values over blocks, if there are several.
func byBlock(values []float64, blocks []int) []float64 {
	sum, n := map[int]float64{}, map[int]float64{}
	for i, b := range blocks {
		sum[b] += values[i]
		n[b]++
	}
	if len(sum) < 2 {
		return values
	}
	keys := make([]int, 0, len(sum))
	for b := range sum {
		keys = append(keys, b)
	}
	sort.Ints(keys)
	means := make([]float64, len(keys))
	for i, b := range keys {
		means[i] = sum[b] / n[b]
	}
	return means
}

func busy(rounds []RoundRecord, base, variant string) (a, b float64) {
	var na, nb float64
	for _, round := range rounds {
		sa, sb := meet(round, base, variant)
		for _, s := range sa {
			a, na = a+s.Busy, na+1
		}
		for _, s := range sb {
			b, nb = b+s.Busy, nb+1
		}
	}
	return a / math.Max(na, 1), b / math.Max(nb, 1)
}

// wholeRounds are the kept ones and those gate-failed ones in which every run
// was made, in time order; of one index the kept one and its failed tries.
func wholeRounds(r Record) []RoundRecord {
	want := 0
	for _, round := range r.Rounds {
		want = max(want, len(round.Runs))
	}
	var whole []RoundRecord
	for _, round := range r.Rounds {
		if len(round.Runs) == want && usable(round) {
			whole = append(whole, round)
		}
	}
	return whole
}

// usable reports whether every sample of a round has a cost and responses.
func usable(round RoundRecord) bool {
	for _, run := range round.Runs {
		for _, s := range run.Samples {
			if s.Cost.Value <= 0 || s.Load.Completed <= 0 {
				return false
			}
		}
	}
	return true
}
