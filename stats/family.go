package stats

import (
	"math"
	"sort"
)

// AdjustedP is one row's p value within its family.
type AdjustedP struct {
	// P is the row's own p, Adjusted the one that controls the family.
	P        float64 `json:"p"`
	Adjusted float64 `json:"adjusted"`
	// Reject is Adjusted ≤ alpha.
	Reject bool `json:"reject"`
	// Failed rows had no p. They keep their place, and count as p = 1.
	Failed bool `json:"failed"`
}

// Holm adjusts the p values of a declared family for the family-wise error rate:
//
//	p̃_(i) = max_{j≤i} min(1, (m−j+1)·p_(j)), rejected when p̃ ≤ alpha.
//
// Source: Holm (1979). No assumption on dependence. A p that is NaN or outside
// [0, 1] marks a failed row: it stays in m as p = 1, because a family that
// shrinks when rows fail is chosen after looking. A p of 0, which no test on
// data gives, is read as 1e-300. alpha 0 means 0.05.
func Holm(p []float64, alpha float64) ([]AdjustedP, error) {
	return adjust(p, alpha, func(rank, m int, p float64) float64 { return float64(m-rank) * p }, true)
}

// BenjaminiHochberg adjusts for the false discovery rate instead,
// p̃_(i) = min_{j≥i} min(1, m·p_(j)/j): of the rows called different, the
// expected share that is not. Weaker than Holm, for screening only.
// Source: Benjamini and Hochberg (1995). Assumes independence or positive
// dependence. Failed rows as in Holm.
func BenjaminiHochberg(p []float64, alpha float64) ([]AdjustedP, error) {
	return adjust(p, alpha, func(rank, m int, p float64) float64 { return float64(m) * p / float64(rank+1) }, false)
}

func adjust(p []float64, alpha float64, step func(rank, m int, p float64) float64, down bool) ([]AdjustedP, error) {
	alpha, err := settleAlpha(alpha)
	if err != nil {
		return nil, err
	}
	m := len(p)
	if m == 0 {
		return nil, notTestable("family", "there are no rows")
	}
	rows := make([]AdjustedP, m)
	order := make([]int, m)
	for i, v := range p {
		order[i] = i
		if v >= 0 && v <= 1 {
			rows[i].P = clampP(v)
		} else {
			rows[i] = AdjustedP{P: 1, Failed: true}
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return rows[order[a]].P < rows[order[b]].P })
	run := 0.0
	if !down {
		run = 1
	}
	for k := range order {
		rank := k
		if !down {
			rank = m - 1 - k
		}
		r := &rows[order[rank]]
		v := math.Min(1, step(rank, m, r.P))
		if down {
			run = math.Max(run, v)
		} else {
			run = math.Min(run, v)
		}
		r.Adjusted = run
		r.Reject = !r.Failed && run <= alpha
	}
	return rows, nil
}

// Simultaneous gives every row of a family of m an interval such that all of
// them cover at once with the given level (0 means 0.95): Value ± t·SE with t the
// point 1−(1−level)/(2m) of Student's t with DF, Bonferroni. Source: Dunn (1961).
// Assumes what each effect's interval assumes; nothing on
// dependence between rows. m counts the declared rows, failed ones included.
//
// Holm's p has no matching interval: a row can be rejected by Holm while this
// interval contains zero. Publish both, named.
func Simultaneous(e Effect, m int, level float64) (Interval, error) {
	if m < 1 || m > 1_000_000 {
		return Interval{}, &OptionError{"m", m, "the number of declared rows, 1 to 1000000"}
	}
	if err := e.check("simultaneous interval"); err != nil {
		return Interval{}, err
	}
	level, err := settleLevel(level)
	if err != nil {
		return Interval{}, err
	}
	h := tUpper((1-level)/(2*float64(m)), e.DF) * e.SE
	return Interval{e.Value - h, e.Value + h, level, "simultaneous (Bonferroni)"}, nil
}
