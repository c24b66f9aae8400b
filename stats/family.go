package stats

import (
	"fmt"
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

// FamilyPlan is the declaration of a family, made before measuring.
type FamilyPlan struct {
	// Rows in the family, and the units (rounds, or blocks) that each will have.
	Rows  int `json:"rows"`
	Units int `json:"units"`
	// Alpha is the family-wise error rate. Default 0.05.
	Alpha float64 `json:"alpha"`
	// Flips drawn beyond 20 units, as Options.Flips. Default 99999.
	Flips int `json:"flips"`
}

// PlanError says that a plan cannot produce a significant row whatever is measured.
type PlanError struct {
	Plan FamilyPlan
	// SmallestP is the smallest p that the sign-flip test can give, Needed the
	// p that the first row to be rejected must reach, NeedUnits the units that
	// suffice, with NeedFlips drawn flips where that is above 20; else zero.
	SmallestP float64
	Needed    float64
	NeedUnits int
	NeedFlips int
}

func (e *PlanError) Error() string {
	if e.NeedFlips > 0 {
		return fmt.Sprintf("with %d units the smallest possible sign-flip p is %.3g, and in a family of %d no row above %.3g can be called different: plan at least %d units and draw at least %d flips, or a smaller family",
			e.Plan.Units, e.SmallestP, e.Plan.Rows, e.Needed, e.NeedUnits, e.NeedFlips)
	}
	return fmt.Sprintf("with %d units the smallest possible sign-flip p is %.3g, and in a family of %d no row above %.3g can be called different: plan at least %d units, or a smaller family",
		e.Plan.Units, e.SmallestP, e.Plan.Rows, e.Needed, e.NeedUnits)
}

// Check refuses, with a *PlanError, a plan whose smallest possible p cannot
// survive its family: the sign-flip p is at least 2/2^n up to 20 units (exact),
// and 1/(Flips+1) beyond (drawn), and Holm's (and Bonferroni's) first step asks
// for alpha/m. n = 8 fails for m ≥ 7; n = 12 allows up to 102 rows, n = 24 with
// the default flips 5000.
func (p FamilyPlan) Check() error {
	alpha, err := settleAlpha(p.Alpha)
	if err != nil {
		return err
	}
	if p.Rows < 1 || p.Rows > maxRounds || p.Units < 0 {
		return &OptionError{"Rows, Units", []int{p.Rows, p.Units}, "1 to 1000000 rows and no negative count"}
	}
	o, err := Options{Flips: p.Flips}.settle()
	if err != nil {
		return err
	}
	smallest := func(n int) float64 {
		if n > ExactSignFlips {
			return 1 / float64(o.flips+1)
		}
		return math.Min(1, math.Ldexp(2, -n))
	}
	need := alpha / float64(p.Rows)
	if smallest(p.Units) <= need {
		return nil
	}
	e := &PlanError{Plan: p, SmallestP: smallest(p.Units), Needed: need}
	for n := p.Units + 1; n <= ExactSignFlips; n++ {
		if smallest(n) <= need {
			e.NeedUnits = n
			return e
		}
	}
	e.NeedUnits = max(p.Units, ExactSignFlips+1)
	e.NeedFlips = int(math.Ceil(1/need*(1+1e-12))) - 1
	return e
}
