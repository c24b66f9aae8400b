package stats

import "math"

// Equivalent is the answer of a two one-sided tests procedure.
type Equivalent struct {
	// Bound in percent (or the unit of the effect): is the change inside ±Bound?
	Bound float64 `json:"bound"`
	// Holds is true when both one-sided tests reject at Alpha.
	Holds bool    `json:"holds"`
	Alpha float64 `json:"alpha"`
	// P is the larger of the two one-sided p values.
	P float64 `json:"p"`
	// Interval has level 1−2·Alpha; Holds exactly when it lies inside (−Bound, Bound).
	Interval Interval `json:"interval"`
	// SmallestBound is the smallest bound that these data can claim:
	// "no change bigger than SmallestBound".
	SmallestBound float64 `json:"smallest_bound"`
	// Log is true when it was decided on ln r with ln(1±Bound/100).
	Log bool `json:"log"`
	// SessionOnly is true when the between-session spread is not in the effect:
	// the answer then holds for the measured session, and for the setting it errs
	// more often than Alpha.
	SessionOnly bool `json:"session_only"`
}

// Equivalence tests whether an effect lies inside ±bound, by TOST:
//
//	p = max(P(T ≥ (bound−value)/SE), P(T ≥ (value+bound)/SE)), α = 5% each side,
//
// the same as the 90% interval lying inside (−bound, bound). Source:
// Schuirmann (1987). bound > 0, in percent, fixed before looking. Give it the
// widened effect, or the one across sessions, where the claim is about the
// setting: of one session's own effect it answers for that session (SessionOnly).
// Assumes what the effect's interval assumes; a wide interval never passes. Not
// corrected for a family: each row's claim stands alone.
func Equivalence(e Effect, bound float64) (Equivalent, error) {
	if !(bound > 0 && bound <= maxMagnitude) {
		return Equivalent{}, &OptionError{"bound", bound, "a positive number of percent"}
	}
	if err := e.check("equivalence"); err != nil {
		return Equivalent{}, err
	}
	return equivalent(e, bound, 0.05), nil
}

// equivalent is TOST at alpha on each side, of an effect and a bound that were checked.
func equivalent(e Effect, bound, alpha float64) Equivalent {
	q := Equivalent{Bound: bound, Alpha: alpha, Interval: e.interval(1 - 2*alpha), SessionOnly: !e.Between}
	q.P = math.Max(e.above(-bound), e.below(bound))
	q.SmallestBound = math.Max(math.Abs(q.Interval.Low), math.Abs(q.Interval.High))
	q.Holds = q.SmallestBound < bound
	return q
}

// Equivalence is Equivalence of the estimate's effect (this session only). For
// ratios and a bound above 5% it is decided on the log scale, with bounds
// ln(1±bound/100), where −5% and +5% are not the same size. Formula, source and
// what it assumes: as the function Equivalence.
func (e Estimate) Equivalence(bound float64) (Equivalent, error) {
	if e.Null != 1 || !(bound > 5) || e.Log == nil || bound >= 100 {
		return Equivalence(e.Effect(), bound)
	}
	// The log interval was made at some level with DF degrees of freedom; its
	// half-width gives back the standard error.
	if err := e.Effect().check("equivalence"); err != nil {
		return Equivalent{}, err
	}
	df := e.DF // the log-ratio has the same model, order term included
	m := math.Log(e.Log.Point)
	half := math.Log(e.Log.Interval.High/e.Log.Interval.Low) / 2
	l := Effect{Value: m, SE: half / tUpper((1-e.Log.Interval.Level)/2, df), DF: df}
	if err := l.check("equivalence"); err != nil {
		return Equivalent{}, err
	}
	const alpha = 0.05
	i := l.interval(1 - 2*alpha)
	q := Equivalent{Bound: bound, Alpha: alpha, Log: true, SessionOnly: true}
	q.Interval = Interval{100 * math.Expm1(i.Low), 100 * math.Expm1(i.High), i.Level, "t of log-ratio, this session only"}
	q.P = math.Max(l.above(math.Log1p(-bound/100)), l.below(math.Log1p(bound/100)))
	q.SmallestBound = math.Max(-q.Interval.Low, q.Interval.High)
	q.Holds = q.SmallestBound < bound
	return q, nil
}

// BudgetAnswer is the answer to a budget question.
type BudgetAnswer string

// The three answers. Undecided is no pass: measure longer or in more sessions.
const (
	WithinBudget    BudgetAnswer = "yes"
	OverBudget      BudgetAnswer = "no"
	BudgetUndecided BudgetAnswer = "undecided"
)

// Budget is a budget question with its answer.
type Budget struct {
	// Limit in percent: is the change below it?
	Limit  float64      `json:"limit"`
	Answer BudgetAnswer `json:"answer"`
	// PWithin and POver are the one-sided p values behind yes and no.
	PWithin float64 `json:"p_within"`
	POver   float64 `json:"p_over"`
	// Interval has level 0.90: yes when it is below Limit, no when above.
	Interval Interval `json:"interval"`
	// SessionOnly is true when the between-session spread is not in the effect:
	// the answer then holds for the measured session only.
	SessionOnly bool `json:"session_only"`
}

// AskBudget answers "is the change under limit percent?": yes when the upper
// one-sided 95% confidence limit is below it, no when the lower one is above it,
// undecided otherwise: value ± t_{ν,.95}·SE against limit. Each wrong answer has
// a chance of at most 5% where the effect is widened or across sessions; for one
// session's own effect that chance is about that session's change (SessionOnly),
// and about the setting's it is larger. Source: one-sided t tests, Student
// (1908). Assumes what the effect's interval assumes.
func AskBudget(e Effect, limit float64) (Budget, error) {
	if !(math.Abs(limit) <= maxMagnitude) {
		return Budget{}, &OptionError{"limit", limit, "a finite number of percent"}
	}
	if err := e.check("budget"); err != nil {
		return Budget{}, err
	}
	b := Budget{Limit: limit, Answer: BudgetUndecided, Interval: e.interval(0.90), SessionOnly: !e.Between}
	b.PWithin, b.POver = e.below(limit), e.above(limit)
	switch b.Interval.side(limit) {
	case -1:
		b.Answer = WithinBudget
	case 1:
		b.Answer = OverBudget
	}
	return b, nil
}
