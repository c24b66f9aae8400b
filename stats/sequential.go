package stats

import "math"

// Spending says how the error is shared between planned looks.
type Spending string

// The spendings. Both hold by the union bound, so that no assumption about the
// dependence of looks is needed; both err to the careful side.
const (
	// EqualSpending gives each look alpha/looks. The default.
	EqualSpending Spending = "equal"
	// LateSpending gives little to early looks: the increments of Lan and DeMets'
	// (1983) O'Brien–Fleming form, 2−2Φ(z_{α/2}/√(n_i/n)).
	LateSpending Spending = "late"
)

// Looks is a plan of when to look.
type Looks struct {
	// At are the numbers of rounds at which the data may be looked at; the last
	// is the planned end. Alphas are the levels of the tests there; they sum to
	// the plan's alpha or less. The interval at look i has level 1−Alphas[i].
	At     []int     `json:"at"`
	Alphas []float64 `json:"alphas"`
}

// PlanLooks plans looks at increasing numbers of rounds. Peeking without a plan
// is not harmless: at a nominal 5%, looks at 12 and 24 rounds err in 8.5%, a
// look after every round from 6 to 30 in 21.7%. Look i of L, at n_i rounds of n,
// is tested at α_i = α/L (EqualSpending), or α_i = A(n_i/n) − A(n_{i−1}/n) with
// A(t) = 2−2Φ(z_{α/2}/√t) (LateSpending). Source: Bonferroni, and Lan and
// DeMets (1983) for LateSpending. Assumes nothing about the dependence of looks.
// alpha 0 means 0.05, and cannot be more.
//
// A look that can never reject is refused with a *PlanError: the sign-flip p is
// at least 2/2^n up to 20 rounds and 1e-5 beyond, and α_i must not be below it.
// For a family put the plan into FamilyPlan.Looks, whose Check asks for α_i/rows.
func PlanLooks(at []int, alpha float64, s Spending) (Looks, error) {
	alpha, err := settleVerdictAlpha(alpha)
	if err != nil {
		return Looks{}, err
	}
	if len(at) == 0 || len(at) > 1000 {
		return Looks{}, &OptionError{"at", len(at), "1 to 1000 looks"}
	}
	l := Looks{At: append([]int(nil), at...)}
	if err := l.increasing(); err != nil {
		return Looks{}, err
	}
	spent := 0.0
	for _, n := range at {
		a := alpha / float64(len(at))
		switch s {
		case "", EqualSpending:
		case LateSpending:
			t := float64(n) / float64(at[len(at)-1])
			total := 2 * normalSurvival(normalUpper(alpha/2)/math.Sqrt(t))
			a = math.Max(0, total-spent)
			spent = total
		default:
			return Looks{}, &OptionError{"Spending", s, "EqualSpending or LateSpending"}
		}
		l.Alphas = append(l.Alphas, math.Max(a, smallestP))
	}
	if err := (FamilyPlan{Rows: 1, Alpha: alpha, Looks: &l}).Check(); err != nil {
		return Looks{}, err
	}
	return l, nil
}

func (l Looks) increasing() error {
	prev := 1
	for _, n := range l.At {
		if n <= prev || n > maxRounds {
			return &OptionError{"at", l.At, "increasing numbers of rounds, from 2 to 1000000"}
		}
		prev = n
	}
	return nil
}

// check refuses what PlanLooks would not have made.
func (l Looks) check() error {
	if len(l.At) != len(l.Alphas) || len(l.At) == 0 {
		return &OptionError{"Looks", l, "a plan from PlanLooks"}
	}
	var spent float64
	for _, a := range l.Alphas {
		if !(a > 0 && a < 1) {
			return &OptionError{"Looks", l, "a plan from PlanLooks"}
		}
		spent += a
	}
	if !(spent <= 0.05*(1+1e-9)) {
		return &OptionError{"Looks", l, "a plan from PlanLooks, whose looks spend 5% or less together"}
	}
	return l.increasing()
}

// Look says what the plan allows to a verdict made with that number of rounds (of
// blocks, where blocks are the unit): a planned Look with its α_i, or an unplanned
// one that allows nothing. P is left to the caller. Formula, source and what it
// assumes: as PlanLooks.
func (l Looks) Look(rounds int) Look {
	k := Look{Rounds: rounds, P: 1}
	if l.check() != nil {
		return k
	}
	for j, n := range l.At {
		if n == rounds {
			k.Planned, k.Alpha = true, l.Alphas[j]
		}
	}
	return k
}

// Look is one look that was taken.
type Look struct {
	Rounds int     `json:"rounds"`
	P      float64 `json:"p"`
	// Planned says whether the plan had a look here; Alpha is what it may spend,
	// zero for an unplanned one, so that no unplanned look ever decides. Both are
	// outputs: Review does not read them.
	Planned bool    `json:"planned"`
	Alpha   float64 `json:"alpha"`
	// Reject is true when P ≤ Alpha at a planned look.
	Reject bool `json:"reject"`
}

// LookReview is the record of all looks that were taken.
type LookReview struct {
	Looks []Look `json:"looks"`
	// Unplanned counts looks without a place in the plan. Reject is true when a
	// planned look rejected; Spent is the error used up by the planned looks taken.
	Unplanned int       `json:"unplanned"`
	Reject    bool      `json:"reject"`
	Spent     float64   `json:"spent"`
	Warnings  []Warning `json:"warnings"`
}

// Review holds the looks that were taken, each a number of rounds with its p,
// against the plan. A second look at the same number is unplanned. Rounds
// added beyond the plan's end are unplanned looks too: start a new session and
// pool all of them instead. A verdict made at one of the looks takes it as
// VerdictInput.Look.
func (l Looks) Review(taken []Look) (LookReview, error) {
	if err := l.check(); err != nil {
		return LookReview{}, err
	}
	var r LookReview
	used := make([]bool, len(l.At))
	for i, t := range taken {
		if !(t.P >= 0 && t.P <= 1) || t.Rounds < 0 {
			return LookReview{}, notTestable("looks", "look %d is p %v at %d rounds", i, t.P, t.Rounds)
		}
		k := Look{Rounds: t.Rounds, P: clampP(t.P)}
		for j, n := range l.At {
			if n == t.Rounds && !used[j] {
				used[j] = true
				k.Planned, k.Alpha = true, l.Alphas[j]
				k.Reject = k.P <= k.Alpha
				r.Spent += k.Alpha
			}
		}
		if !k.Planned {
			r.Unplanned++
			warn(&r.Warnings, UnplannedLook, "the data were looked at after %d rounds, where no look was planned", t.Rounds)
		}
		r.Reject = r.Reject || k.Reject
		r.Looks = append(r.Looks, k)
	}
	return r, nil
}
