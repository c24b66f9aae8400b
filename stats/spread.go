package stats

import "math"

// Spread is the between-session standard deviation of a rig, in percent, from
// the user's own sessions. There is no default: neither zero nor another rig's.
type Spread struct {
	// Percent is τ, the standard deviation between sessions.
	Percent float64 `json:"percent"`
	// DF are the degrees of freedom behind it: sessions minus rows, for a spread
	// pooled over rows that were repeated. Must be at least 1 unless Known.
	DF float64 `json:"df"`
	// Upper is the upper 97.5% limit of τ, used where Percent is zero.
	Upper float64 `json:"upper"`
	// Known takes Percent as exact: the quantile is then nearly the normal's.
	// It reproduces published widened intervals made with 1.96.
	Known bool `json:"known"`
}

// use gives τ for widening; a spread estimated as zero is not believed.
func (s Spread) use(warnings *[]Warning) (float64, error) {
	const q = "between-session spread"
	if !(s.Percent >= 0 && s.Percent <= maxMagnitude) || !(s.Upper >= 0 && s.Upper <= maxMagnitude) {
		return 0, notTestable(q, "it is %v (upper limit %v): it must be finite and not negative", s.Percent, s.Upper)
	}
	if !s.Known && !(s.DF >= 1 && s.DF <= math.MaxFloat64) {
		return 0, notTestable(q, "it has %v degrees of freedom: it needs at least one repeated session, or Known", s.DF)
	}
	if s.Percent >= minMagnitude {
		return s.Percent, nil
	}
	if s.Upper >= minMagnitude {
		warn(warnings, SpreadIsUpper, "the spread was estimated as zero, which few sessions often give: its upper limit %.3g is used", s.Upper)
		return s.Upper, nil
	}
	return 0, notTestable(q, "it is zero and has no upper limit: no rig has none, repeat a row in more sessions")
}

func (s Spread) df() float64 {
	if s.Known {
		return normalDF
	}
	return s.DF
}

// PooledSpread estimates one between-session spread from a library of rows (A/A
// among them), each measured in two or more sessions.
//
// Generalised Paule–Mandel over rows with a mean of their own: τ² solves
// Σ_rows Q_row(τ²) = Σ(k_row−1) = DF, zero if there is no solution; Upper solves
// ΣQ = χ²_{DF,.025}. Source: Paule and Mandel (1982), Viechtbauer (2007) for the
// profile. Assumes that the spread is the same for all rows pooled. Rows with
// one session say nothing and are skipped.
func PooledSpread(rows [][]Effect) (Spread, error) {
	var groups [][]Study
	df := 0
	for _, r := range rows {
		if len(r) < 2 {
			continue
		}
		s, err := studiesOf(r)
		if err != nil {
			return Spread{}, err
		}
		groups = append(groups, s)
		df += len(r) - 1
	}
	if df == 0 {
		return Spread{}, notTestable("between-session spread", "no row has two sessions: repeat at least one row, A/A for example, in another session")
	}
	q := func(tau2 float64) float64 {
		var t float64
		for _, g := range groups {
			_, qg, _ := weighted(g, tau2)
			t += qg
		}
		return t
	}
	return Spread{
		Percent: math.Sqrt(solveFalling(q, float64(df))),
		DF:      float64(df),
		Upper:   math.Sqrt(solveFalling(q, chiSquaredUpper(0.975, float64(df)))),
	}, nil
}

// Widen adds the between-session spread to an effect of one session:
// SE = √(se²+τ²), degrees of freedom by Satterthwaite,
// (se²+τ²)²/(se⁴/ν + τ⁴/ν_τ). Its interval is the widened interval.
// Source: Satterthwaite (1946). Assumes that the row varies between sessions as
// the rows behind spread do. Measured at a nominal 95%: 95% with a known spread or
// from 18 degrees of freedom behind it, 93% with 6 to 12.
func Widen(e Effect, spread Spread) (Effect, []Warning, error) {
	if e.Sessions > 1 || e.Between {
		return Effect{}, nil, notTestable("widened effect", "the effect already spans %d sessions or has been widened", e.Sessions)
	}
	return Borrow([]Effect{e}, spread)
}

// Borrow is the mean over k sessions of one row with a borrowed spread, the rule
// for one to four sessions:
//
//	m = mean(e_j), SE² = Σ(se_j²)/k² + τ²/k, degrees of freedom by Satterthwaite.
//
// Source: Satterthwaite (1946). Assumes that the row varies between sessions as
// the rows behind spread do; SessionsDisagree warns where it does not.
// A row's own few sessions cannot estimate τ: with four, the usual estimators
// say zero in a quarter of cases at τ = 0.34.
func Borrow(sessions []Effect, spread Spread) (Effect, []Warning, error) {
	var warnings []Warning
	if err := checkSessions("effect over sessions", sessions); err != nil {
		return Effect{}, nil, err
	}
	tau, err := spread.use(&warnings)
	if err != nil {
		return Effect{}, nil, err
	}
	k := float64(len(sessions))
	y, se, df := make([]float64, 0, len(sessions)), []float64{tau / math.Sqrt(k)}, []float64{spread.df()}
	for _, e := range sessions {
		y = append(y, e.Value)
		se = append(se, e.SE/k)
		df = append(df, e.DF)
	}
	w := Effect{Value: mean(y), Sessions: len(sessions), Between: true}
	for _, s := range se {
		w.SE = math.Hypot(w.SE, s)
	}
	w.DF = satterthwaite(se, df)
	if err := w.check("effect over sessions"); err != nil {
		return Effect{}, nil, err
	}
	if len(sessions) > 1 {
		studies, err := studiesOf(sessions)
		if err != nil {
			return Effect{}, nil, err
		}
		_, q, _ := weighted(studies, tau*tau)
		if p := chiSquaredSurvival(q, k-1); p < 0.05 {
			warn(&warnings, SessionsDisagree, "the %d sessions differ more than a spread of %.3g allows (p %.3g): the borrowed spread does not fit this row", len(sessions), tau, p)
		}
		warnFewRounds(&warnings, sessions)
	}
	return w, warnings, nil
}

// AcrossSessions is the effect of a row over its sessions, by the rule that the
// number of sessions calls for.
//
//	k = 1..4 with spread     Borrow: ν by Satterthwaite
//	k ≥ 5                    Pool: Paule–Mandel, Hartung–Knapp with floor, ν = k−1
//	k = 2..4 without spread  t over the session effects (k−1 degrees of freedom):
//	                         right, and very wide
//	k = 1 without spread     the session's own effect, marked "this session only"
//
// Each must be the effect of one session, not widened. Hand the warnings to Judge
// with the effect: sessions that disagree, or of which one has fewer than 5
// degrees of freedom, are no finding.
func AcrossSessions(sessions []Effect, spread *Spread) (Effect, []Warning, error) {
	if err := checkSessions("effect over sessions", sessions); err != nil {
		return Effect{}, nil, err
	}
	k := len(sessions)
	var w []Warning
	switch {
	case k >= pooledFrom:
		s, err := studiesOf(sessions)
		if err != nil {
			return Effect{}, nil, err
		}
		p, err := Pool(s, PoolOptions{})
		if err != nil {
			return Effect{}, nil, err
		}
		warnFewRounds(&p.Warnings, sessions)
		return p.Effect(), p.Warnings, nil
	case spread != nil:
		return Borrow(sessions, *spread)
	case k == 1:
		warn(&w, SessionOnly, "the between-session spread is unknown: interval and p hold for this session")
		return sessions[0], w, nil
	}
	y := make([]float64, k)
	for i, e := range sessions {
		y[i] = e.Value
	}
	m, sd := moments(y)
	e := Effect{Value: m, SE: sd / math.Sqrt(float64(k)), DF: float64(k - 1), Sessions: k, Between: true}
	warnFewRounds(&w, sessions)
	return e, w, e.check("effect over sessions")
}

// pooledFrom is the number of sessions of one row that can speak for their own
// spread.
const pooledFrom = 5

// minSessionDF are the degrees of freedom that each session needs behind its
// error to be a part of a finding over sessions: those of 6 rounds or 6 blocks.
const minSessionDF = 5

// checkSessions refuses what is not a list of single sessions' own effects:
// pooling a widened effect, or one over several sessions, counts its spread twice.
func checkSessions(quantity string, sessions []Effect) error {
	if len(sessions) == 0 {
		return notTestable(quantity, "there are no sessions")
	}
	for i, e := range sessions {
		if err := e.check(quantity); err != nil {
			return err
		}
		if e.Sessions > 1 || e.Between {
			return notTestable(quantity, "effect %d of %d already spans %d sessions or has been widened: give each session's own effect", i, len(sessions), e.Sessions)
		}
	}
	return nil
}

func warnFewRounds(warnings *[]Warning, sessions []Effect) {
	for i, e := range sessions {
		if e.DF < minSessionDF {
			warn(warnings, TooFewRounds, "session %d has %.3g degrees of freedom: a finding over sessions needs %d in each", i, e.DF, minSessionDF)
		}
	}
}
