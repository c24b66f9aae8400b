package stats

import (
	"fmt"
	"math"
)

// FamilyPlan is the declaration of a family, made before measuring.
type FamilyPlan struct {
	// Rows in the family, and the units (rounds, or blocks) that each will have.
	Rows  int `json:"rows"`
	Units int `json:"units"`
	// Alpha is the family-wise error rate. Default 0.05, and not more.
	Alpha float64 `json:"alpha"`
	// Flips drawn beyond 20 units, as Options.Flips. Default 99999.
	Flips int `json:"flips"`
	// Looks is for a family that is looked at more than once, from PlanLooks with
	// the same Alpha. Units is then 0 or the last look's. nil: one look, at the end.
	Looks *Looks `json:"looks"`
}

// PlanError says that a plan cannot produce a significant row whatever is measured.
type PlanError struct {
	Plan FamilyPlan
	// Units and Look (counted from 1; 0 without looks) are where it cannot.
	Units int
	Look  int
	// SmallestP is the smallest p that the sign-flip test can give, Needed the
	// p that the first row to be rejected must reach, NeedUnits the units that
	// suffice, with NeedFlips drawn flips where that is above 20; else zero.
	SmallestP float64
	Needed    float64
	NeedUnits int
	NeedFlips int
}

func (e *PlanError) Error() string {
	where := ""
	if e.Look > 0 {
		where = fmt.Sprintf("look %d: ", e.Look)
	}
	more := "or a smaller family"
	if e.Look > 0 {
		more = "fewer looks, or a smaller family"
	}
	if e.NeedFlips > 0 {
		more = fmt.Sprintf("and draw at least %d flips, %s", e.NeedFlips, more)
	}
	return fmt.Sprintf("%swith %d units the smallest possible sign-flip p is %.3g, and in a family of %d no row above %.3g can be called different: plan at least %d units, %s",
		where, e.Units, e.SmallestP, e.Plan.Rows, e.Needed, e.NeedUnits, more)
}

// Check refuses, with a *PlanError, a plan whose smallest possible p cannot
// survive its family: the sign-flip p is at least 2/2^n up to 20 units (exact),
// and 1/(Flips+1) beyond (drawn), and Holm's (and Bonferroni's) first step asks
// for alpha/m, at look i of a plan for alpha_i/m. n = 8 fails for m ≥ 7; n = 12
// allows up to 102 rows, n = 24 with the default flips 5000.
func (p FamilyPlan) Check() error {
	alpha, err := settleVerdictAlpha(p.Alpha)
	if err != nil {
		return err
	}
	if p.Rows < 1 || p.Rows > maxRounds || p.Units < 0 || p.Units > maxRounds {
		return &OptionError{"Rows, Units", []int{p.Rows, p.Units}, "1 to 1000000 rows and no negative count"}
	}
	o, err := Options{Flips: p.Flips}.settle()
	if err != nil {
		return err
	}
	if p.Looks == nil {
		return p.reach(p.Units, 0, alpha, o.flips)
	}
	if err := p.Looks.check(); err != nil {
		return err
	}
	last := p.Looks.At[len(p.Looks.At)-1]
	if p.Units != 0 && p.Units != last {
		return &OptionError{"Units", p.Units, fmt.Sprintf("0, or the %d of the last look", last)}
	}
	var spent float64
	for i, n := range p.Looks.At {
		spent += p.Looks.Alphas[i]
		if err := p.reach(n, i+1, p.Looks.Alphas[i], o.flips); err != nil {
			return err
		}
	}
	if spent > alpha*(1+1e-9) {
		return &OptionError{"Looks", *p.Looks, fmt.Sprintf("looks that spend no more than the family's alpha of %v", alpha)}
	}
	return nil
}

// reach asks whether n units can give a p that rejects at alpha.
func (p FamilyPlan) reach(n, look int, alpha float64, flips int) error {
	smallest := func(n int) float64 {
		if n > ExactSignFlips {
			return 1 / float64(flips+1)
		}
		return math.Min(1, math.Ldexp(2, -n))
	}
	need := alpha / float64(p.Rows)
	if smallest(n) <= need {
		return nil
	}
	e := &PlanError{Plan: p, Units: n, Look: look, SmallestP: smallest(n), Needed: need}
	for more := n + 1; more <= ExactSignFlips; more++ {
		if smallest(more) <= need {
			e.NeedUnits = more
			return e
		}
	}
	e.NeedUnits = max(n, ExactSignFlips+1)
	e.NeedFlips = int(math.Ceil(math.Min(1e15, 1/need*(1+1e-12)))) - 1
	return e
}
