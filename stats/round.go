package stats

import "math"

// Limits of a believable ratio. Outside them a counter or a count is broken.
const (
	smallestRatio = 1e-6
	largestRatio  = 1e6
)

// Arm is what one arm did in one round: the sums over all its runs.
type Arm struct {
	// Cost is the counter's total over the round (cycles, nanoseconds, instructions).
	Cost float64 `json:"cost"`
	// Responses is the number of responses served for that cost.
	Responses float64 `json:"responses"`
}

// PerResponse is Cost/Responses, or a *NotTestableError where that is no number.
func (a Arm) PerResponse() (float64, error) {
	for _, f := range []struct {
		name  string
		value float64
	}{{"cost", a.Cost}, {"responses", a.Responses}} {
		if !(f.value > 0) || math.IsInf(f.value, 0) {
			return 0, notTestable("cost per response", "%s is %v: it must be a positive number", f.name, f.value)
		}
	}
	c := a.Cost / a.Responses
	if !(c >= minMagnitude && c <= maxMagnitude) {
		return 0, notTestable("cost per response", "%v/%v is outside [%g, %g]", a.Cost, a.Responses, minMagnitude, maxMagnitude)
	}
	return c, nil
}

// Round is one paired comparison: a variant against the baseline of the same
// minutes. It is the unit of every test here; runs and windows inside it are not.
type Round struct {
	// Index is the round's place in time, from 0, rising; discarded rounds leave gaps.
	Index int `json:"index"`
	// Block numbers the stretch between two restarts that the round belongs to.
	// All rounds with the same Block share their processes: number them from 1.
	// 0 in all rounds: no blocks, every round has its own restarts.
	Block int `json:"block"`
	// Order is +1 when the baseline ran (or started) first, -1 when the variant
	// did, 0 when neither did or it is unknown.
	Order int `json:"order"`
	// Baseline and Variant are the sums over their runs in this round.
	Baseline Arm `json:"baseline"`
	Variant  Arm `json:"variant"`
}

// Ratio is the pooled ratio of the round,
//
//	r = (variant cost / variant responses) / (baseline cost / baseline responses).
//
// With two runs of each arm in the order A-B-B-A and equal traffic it is exact
// under additive linear drift. Source: the counterbalanced design of ABBA.
// Assumes counters that cover the same responses as the counts. A cost per response, not a cost: work that
// doubled its throughput at 1.5 times the cost became 25% cheaper.
func (r Round) Ratio() (float64, error) {
	a, err := r.Baseline.PerResponse()
	if err != nil {
		return 0, notTestable("ratio", "round %d, baseline: %v", r.Index, err)
	}
	b, err := r.Variant.PerResponse()
	if err != nil {
		return 0, notTestable("ratio", "round %d, variant: %v", r.Index, err)
	}
	return b / a, nil
}

// Total adds the runs of one arm: the costs and the responses, so that a run
// counts by its traffic. It is how the two A runs of an A-B-B-A round become one Arm.
func Total(runs ...Arm) Arm {
	var p Arm
	for _, r := range runs {
		p.Cost += r.Cost
		p.Responses += r.Responses
	}
	return p
}

// Ratios returns the pooled ratio of every round, in the order given.
// One bad round makes the whole call fail with a *NotTestableError that names
// it: a round is discarded by gates before this point, never by its value here.
func Ratios(rounds []Round) ([]float64, error) {
	if len(rounds) == 0 {
		return nil, notTestable("ratio", "there are no rounds")
	}
	ratios := make([]float64, len(rounds))
	for i, r := range rounds {
		v, err := r.Ratio()
		if err != nil {
			return nil, err
		}
		ratios[i] = v
	}
	return ratios, checkRatios(ratios)
}

func checkRatios(ratios []float64) error {
	if len(ratios) == 0 {
		return notTestable("mean of ratios", "there are no rounds")
	}
	for i, r := range ratios {
		if !(r >= smallestRatio && r <= largestRatio) {
			return notTestable("mean of ratios", "ratio %d is %v: a believable ratio is within [%g, %g]", i, r, smallestRatio, largestRatio)
		}
	}
	return nil
}
