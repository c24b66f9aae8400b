package stats

import "math"

// MinBlocks is the number of restarts that a blocked interval needs to be
// trusted. Below it the estimate carries TooFewBlocks and Judge calls nothing a finding.
const MinBlocks = 6

// Blocks describes the blocks of a blocked estimate: what a restart adds to the
// noise beyond what the rounds inside a block explain.
type Blocks struct {
	// Count of blocks, and their mean ratios (or differences) in time order.
	Count int       `json:"count"`
	Means []float64 `json:"means"`
	// WithinSD is the pooled standard deviation of rounds around their block's
	// mean; nil when no block has two rounds or the rounds do not differ.
	WithinSD *float64 `json:"within_sd"`
	// RestartSD is the standard deviation that a restart adds, in the unit of the
	// ratios: √max(0, var(block means) − WithinSD²·mean(1/rounds in block)).
	// Zero means "not shown", not "none": see RestartInterval. nil: not estimable.
	RestartSD *float64 `json:"restart_sd"`
	// RestartInterval is the interval of RestartSD by Williams (1962) and Tukey:
	// (var(means) − F_q·WithinSD²·mean(1/rounds))·(B−1)/χ²_q at both tails q.
	// Made for equal blocks; unequal ones as in Thomas and Hultquist (1978).
	RestartInterval *Interval `json:"restart_interval"`
	// P tests "a restart adds nothing", by F = var(means)/(WithinSD²·mean(1/rounds)).
	P *float64 `json:"p"`
	// Note says why the component is not estimable, or is zero.
	Note string `json:"note"`
}

// Blocked is the estimate of a row whose rounds came in blocks between restarts.
//
// The unit is the block: m = mean of the block means, interval
// m ± t_{B−1}·sd(block means)/√B. Rounds inside a block share their processes
// and are no replicates of a restart; treating them as such (pseudo-replication)
// makes an interval that is too short by √(1+(n−1)·ICC) for n rounds in a block,
// ICC = σ²_restart/(σ²_restart+σ²_within).
// block[i] is the block of ratios[i]; a block's rounds need not be adjacent.
// Source: one-way random effects, Searle, Casella and McCulloch (1992) ch. 3.
// Assumes independent blocks with roughly normal means. Fewer than 2 blocks is
// a *NotTestableError, fewer than MinBlocks a warning. All checks of
// MeanOfRatios then run over block means.
func Blocked(ratios []float64, block []int, o Options) (Estimate, error) {
	if err := checkRatios(ratios); err != nil {
		return untested(len(ratios), 1), err
	}
	return blocked(sample{values: ratios, null: 1}, block, o)
}

func blocked(x sample, block []int, o Options) (Estimate, error) {
	n := len(x.values)
	if len(block) != n {
		return untested(n, x.null), notTestable("blocked mean", "there are %d values and %d block numbers", n, len(block))
	}
	if o.OnePair {
		return untested(n, x.null), &OptionError{"OnePair", true, "false with blocks: the order is balanced inside a block"}
	}
	var ids []int // in order of first appearance
	at := map[int][]int{}
	for i, b := range block {
		if _, ok := at[b]; !ok {
			ids = append(ids, b)
		}
		at[b] = append(at[b], i)
	}
	means := sample{null: x.null}
	_, means.roundSD = moments(x.values)
	var inverse, within, wdf float64
	unequal := false
	for _, id := range ids {
		idx := at[id]
		m, sd := moments(pick(x.values, idx))
		means.values = append(means.values, m)
		if x.base != nil {
			means.base = append(means.base, mean(pick(x.base, idx)))
			means.variant = append(means.variant, mean(pick(x.variant, idx)))
		}
		if x.index != nil {
			means.index = append(means.index, mean(pick(x.index, idx)))
		}
		if x.order != nil { // duet: the start order is swapped from block to block
			o := x.order[idx[0]]
			for _, i := range idx {
				if x.order[i] != o {
					o = 0
				}
			}
			means.order = append(means.order, o)
		}
		k := float64(len(idx))
		inverse += 1 / k
		within += sd * sd * (k - 1)
		wdf += k - 1
		unequal = unequal || len(idx) != len(at[ids[0]])
	}
	count := len(ids)
	if count < 2 {
		e := untested(n, x.null)
		e.Units, e.Mean, e.Blocks = count, mean(x.values), &Blocks{Count: count, Means: means.values}
		return e, notTestable("blocked mean", "all rounds are in one block: restart the arms at least %d times", MinBlocks)
	}
	e, err := estimate(means, o)
	e.N = n
	if e.Interval.Name != "" {
		e.Interval.Name = "t over blocks"
	}
	e.Blocks = &Blocks{Count: count, Means: means.values}
	if err != nil {
		return e, err
	}
	e.Blocks.component(e.SD, within, wdf, inverse/float64(count), maxAbs(x.values), 1-e.Interval.Level)
	if e.Blocks.RestartSD == nil {
		warn(&e.Warnings, ComponentUnknown, "restart component: %s", e.Blocks.Note)
	}
	if count < MinBlocks {
		warn(&e.Warnings, TooFewBlocks, "%d blocks; an interval over restarts is trusted from %d", count, MinBlocks)
	}
	if unequal {
		warn(&e.Warnings, BlocksUnequal, "blocks hold different numbers of rounds: every block counts the same in the mean")
	}
	return e, nil
}

func (b *Blocks) component(sdMeans, ssWithin, wdf, inverse, size, alpha float64) {
	if wdf < 1 {
		b.Note = "every block has one round, so that restarts and rounds cannot be told apart"
		return
	}
	w := math.Sqrt(ssWithin / wdf)
	if w <= 1e-14*size {
		b.Note = "the rounds inside the blocks do not differ"
		return
	}
	b.WithinSD = &w
	v := sdMeans*sdMeans - w*w*inverse
	s := math.Sqrt(math.Max(0, v))
	b.RestartSD = &s
	if v <= 0 {
		b.Note = "block means differ no more than their rounds explain; the upper end of the interval says what is not excluded"
	}
	d1 := float64(b.Count - 1)
	f := sdMeans * sdMeans / (w * w * inverse)
	p := clampP(fSurvival(f, d1, wdf))
	b.P = &p
	end := func(q float64) float64 {
		v := (sdMeans*sdMeans - w*w*inverse*fUpper(q, d1, wdf)) * d1 / chiSquaredUpper(q, d1)
		return math.Sqrt(math.Max(0, v))
	}
	b.RestartInterval = &Interval{end(alpha / 2), end(1 - alpha/2), 1 - alpha, "Williams–Tukey"}
}

func pick(x []float64, idx []int) []float64 {
	y := make([]float64, len(idx))
	for i, j := range idx {
		y[i] = x[j]
	}
	return y
}
