package stats

import (
	"math"
)

// Effect is a change with its standard error, the form in which everything past
// one row's rounds works: floors, sessions, bounds, budgets, verdicts. Value and
// SE are in percent when the effect comes from ratios (and all thresholds of
// this package's verdicts are), else in the unit of the differences.
type Effect struct {
	Value float64 `json:"value"`
	SE    float64 `json:"se"`
	// DF are the degrees of freedom of SE.
	DF float64 `json:"df"`
	// Sessions behind the effect. From one Estimate: 1.
	Sessions int `json:"sessions"`
	// Between is true when SE includes the between-session spread.
	Between bool `json:"between"`
}

// Effect gives the change of the estimate: 100(Mean−1) with 100·SE for ratios.
// For an estimate that is not testable SE and DF are zero, and everything that
// takes an Effect refuses it.
func (e Estimate) Effect() Effect {
	f := Effect{Value: e.Mean - e.Null, SE: e.SE, DF: e.DF, Sessions: 1}
	if e.Null == 1 {
		f.Value *= 100
		f.SE *= 100
	}
	return f
}

// Percent turns an interval of ratios into one of changes: 100(x−1).
func (i Interval) Percent() Interval {
	i.Low, i.High = 100*(i.Low-1), 100*(i.High-1)
	return i
}

func (e Effect) check(quantity string) error {
	if !(math.Abs(e.Value) <= maxMagnitude) {
		return notTestable(quantity, "the effect is %v: it must be finite", e.Value)
	}
	if !(e.SE >= minMagnitude && e.SE <= maxMagnitude) {
		return notTestable(quantity, "the standard error is %v: it must be positive", e.SE)
	}
	if !(e.DF >= 0.5 && e.DF <= math.MaxFloat64) {
		return notTestable(quantity, "there are %v degrees of freedom: at least 0.5 are needed", e.DF)
	}
	// A tail point of few degrees of freedom times a large error must stay finite.
	if math.Abs(e.Value)/e.SE > 1e60 {
		return notTestable(quantity, "the standard error %v is only the rounding of %v", e.SE, e.Value)
	}
	return nil
}

// Interval is Value ± t_DF·SE at the given level; 0 means 0.95. Source: Student
// (1908). Assumes a normal estimate with DF degrees of freedom behind SE.
func (e Effect) Interval(level float64) (Interval, error) {
	if err := e.check("interval"); err != nil {
		return Interval{}, err
	}
	level, err := settleLevel(level)
	if err != nil {
		return Interval{}, err
	}
	return e.interval(level), nil
}

func (e Effect) interval(level float64) Interval {
	h := tUpper((1-level)/2, e.DF) * e.SE
	name := "t, this session only"
	switch {
	case e.Between && e.Sessions > 1:
		name = "between sessions"
	case e.Between:
		name = "widened"
	case e.Sessions > 1:
		name = "t"
	}
	return Interval{e.Value - h, e.Value + h, level, name}
}

// P is the two-sided p of no effect, from t = Value/SE. It is never zero. Source
// and what it assumes: as Interval.
func (e Effect) P() (float64, error) {
	if err := e.check("p"); err != nil {
		return 0, err
	}
	return e.p(), nil
}

func (e Effect) p() float64 { return tTwoSided(e.Value/e.SE, e.DF) }

// upperP is P(T ≥ t) for the one-sided test that the effect is at most x.
func (e Effect) above(x float64) float64 { return clampP(tSurvival((e.Value-x)/e.SE, e.DF)) }
func (e Effect) below(x float64) float64 { return clampP(tSurvival((x-e.Value)/e.SE, e.DF)) }

// Comparison is the difference between two independent effects.
type Comparison struct {
	// Difference is second − first, with Welch–Satterthwaite degrees of freedom.
	Difference float64  `json:"difference"`
	SE         float64  `json:"se"`
	DF         float64  `json:"df"`
	Interval   Interval `json:"interval"`
	P          float64  `json:"p"`
	// Resolved is true when the interval excludes zero.
	Resolved bool `json:"resolved"`
	// SessionOnly is true when the between-session spread is missing in one effect
	// or both: a difference between two sessions is then a difference between
	// those sessions, of which the spread may be all.
	SessionOnly bool `json:"session_only"`
}

// Compare gives the difference between two independent estimates of the same
// change, for example by two ways of filling a round.
//
//	d = b − a, SE = √(SEa²+SEb²), ν = SE⁴/(SEa⁴/νa + SEb⁴/νb)
//
// Source: Welch (1947), Satterthwaite (1946). Assumes that no round, and no
// restart, is behind both effects, and that both have the between-session spread
// or come from the same session (SessionOnly says where it is missing).
// level 0 means 0.95.
func Compare(a, b Effect, level float64) (Comparison, error) {
	for _, e := range []Effect{a, b} {
		if err := e.check("difference"); err != nil {
			return Comparison{}, err
		}
	}
	level, err := settleLevel(level)
	if err != nil {
		return Comparison{}, err
	}
	d := Effect{Value: b.Value - a.Value, SE: math.Hypot(a.SE, b.SE), Sessions: 2}
	d.DF = satterthwaite([]float64{a.SE, b.SE}, []float64{a.DF, b.DF})
	if err := d.check("difference"); err != nil {
		return Comparison{}, err
	}
	c := Comparison{Difference: d.Value, SE: d.SE, DF: d.DF, P: d.p(), SessionOnly: !a.Between || !b.Between}
	c.Interval = d.interval(level)
	c.Interval.Name = "Welch–Satterthwaite"
	c.Resolved = c.Interval.side(0) != 0
	return c, nil
}

// satterthwaite gives the degrees of freedom of the sum of variances se_i².
func satterthwaite(se, df []float64) float64 {
	var big float64
	for _, s := range se {
		big = math.Max(big, s)
	}
	var v, q float64
	for i, s := range se { // relative to the largest, so that nothing underflows
		u := (s / big) * (s / big)
		v += u
		q += u * u / df[i]
	}
	return v * v / q
}
