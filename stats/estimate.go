package stats

import (
	"math"
	"slices"
)

// Interval is a confidence interval with the level it really has and the name
// of the method that made it.
type Interval struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Level float64 `json:"level"`
	Name  string  `json:"name"`
}

// Contains reports Low ≤ x ≤ High.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

// HalfWidth is half of High − Low.
func (i Interval) HalfWidth() float64 { return (i.High - i.Low) / 2 }

// side is -1, 0, +1: below x, around it, above it.
func (i Interval) side(x float64) int {
	switch {
	case i.High < x:
		return -1
	case i.Low > x:
		return 1
	}
	return 0
}

// Alternative is another estimate of the same quantity by another method, there
// to agree with the main one.
type Alternative struct {
	Point    float64  `json:"point"`
	Interval Interval `json:"interval"`
	// Agrees is true when, at 95% whatever the level of the intervals shown, it
	// excludes no change on the same side as the main one, or neither does.
	Agrees bool `json:"agrees"`
}

// Estimate is what the rounds of one row say. For ratios the null is 1 and
// Effect gives the change in percent; for differences the null is 0 and every
// number is in the unit of the input. Pointers are nil where the quantity could
// not be computed. For the cross-checks, and for Serial from 4 units on, a Warning
// says why; Order is nil without orders, or with one order only; all three that
// look for time are nil below 4 units, and Blocks has a Note.
type Estimate struct {
	// N counts the rounds, Units the independent units behind DF: the rounds, or
	// the blocks of a blocked estimate.
	N     int `json:"n"`
	Units int `json:"units"`
	// Null is the value of no change: 1 for ratios, 0 for differences.
	Null float64 `json:"null"`
	// Mean of the units, their standard deviation, the standard error of the mean.
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
	SE   float64 `json:"se"`
	DF   float64 `json:"df"`
	// Interval is Mean ± t·SE; P the two-sided t test of no change. Both know
	// this session only.
	Interval Interval `json:"interval"`
	P        float64  `json:"p"`

	SignFlip SignFlip  `json:"sign_flip"`
	Signs    SignCount `json:"signs"`

	// Log is the geometric mean (ratios only), HodgesLehmann the median of Walsh
	// averages, RatioOfMeans Fieller's interval (needs the arms, so only FromRounds).
	Log           *Alternative `json:"log"`
	HodgesLehmann *Alternative `json:"hodges_lehmann"`
	RatioOfMeans  *Alternative `json:"ratio_of_means"`

	// Order, Drift and Serial look for what the model of independent units leaves out.
	Order  *OrderTerm `json:"order"`
	Drift  *Slope     `json:"drift"`
	Serial *Serial    `json:"serial"`
	// LeaveOneOut is the range of the mean over all ways to leave one unit out.
	LeaveOneOut *Range `json:"leave_one_out"`
	// Blocks is set on blocked estimates.
	Blocks *Blocks `json:"blocks"`

	Warnings []Warning `json:"warnings"`
}

// Testable reports whether the estimate has an interval. The Estimate beside a
// *NotTestableError has not; its p values are 1.
func (e Estimate) Testable() bool { return e.DF > 0 && e.SE > 0 }

// untested is an estimate before, or without, any evidence: every p is 1.
func untested(n int, null float64) Estimate {
	return Estimate{N: n, Null: null, P: 1, SignFlip: SignFlip{P: 1}, Signs: SignCount{Of: n, P: 1}}
}

// MeanOfRatios is the estimate of a row from its round ratios in time order.
//
// m = mean(r), s = sd(r, n−1), interval m ± t_{n−1}·s/√n, p from t = (m−1)/(s/√n).
// The change in percent is 100(m−1). Beside it: geometric mean, Hodges–Lehmann,
// exact sign-flip p of r−1, sign count, drift, serial correlation, leave-one-out.
// Source: Student (1908); the choice of t over bootstraps at n ≤ 20 is by
// simulation (go run ./internal/statsim). Assumes rounds that are independent
// and roughly symmetric; the warnings look for both. At 12 rounds the nominal 95% stays within a
// point for normal and t3 noise and falls to 86% when neighbouring rounds
// correlate at +0.3. The mean of B/A is biased by about +c² for a
// coefficient of variation c of one arm in one round: ignore below 3%.
//
// Fewer than two ratios, ratios all equal, and ratios outside [1e-6, 1e6] are a
// *NotTestableError; the Estimate beside it still has N and, where defined, Mean.
func MeanOfRatios(ratios []float64, o Options) (Estimate, error) {
	if err := checkRatios(ratios); err != nil {
		return untested(len(ratios), 1), err
	}
	return estimate(sample{values: ratios, null: 1}, o)
}

// MeanOfDifferences is the estimate of a difference per round in any unit, for
// example nanoseconds per response, variant minus baseline: the paired t
// interval d̄ ± t_{n−1}·s/√n, with the same checks as MeanOfRatios but no
// log-ratio. Source: Student (1908). Assumes what MeanOfRatios assumes.
func MeanOfDifferences(differences []float64, o Options) (Estimate, error) {
	if err := checkValues("mean of differences", differences); err != nil {
		return untested(len(differences), 0), err
	}
	return estimate(sample{values: differences, null: 0}, o)
}

// FromRounds is the estimate of a row from its rounds: pooled ratios, then
// MeanOfRatios where every Block is 0, and Blocked where any is not: rounds that
// all carry the same number other than 0 came from one start of the processes,
// and are not testable. It adds what only whole rounds can tell: the order term
// and Fieller's ratio of means.
// Rounds whose Index does not rise are refused.
func FromRounds(rounds []Round, o Options) (Estimate, error) {
	ratios, err := Ratios(rounds)
	if err == nil {
		err = inOrder(rounds)
	}
	if err != nil {
		return untested(len(rounds), 1), err
	}
	s := sample{values: ratios, null: 1}
	var block []int
	for _, r := range rounds {
		a, _ := r.Baseline.PerResponse() // Ratios has refused the bad ones
		b, _ := r.Variant.PerResponse()
		s.base = append(s.base, a)
		s.variant = append(s.variant, b)
		s.order = append(s.order, sign(r.Order))
		block = append(block, r.Block)
		s.index = append(s.index, float64(r.Index))
	}
	if rounds[0].Index == rounds[len(rounds)-1].Index { // not set
		s.index = nil
	}
	if slices.ContainsFunc(block, func(b int) bool { return b != 0 }) {
		return blocked(s, block, o)
	}
	return estimate(s, o)
}

// inOrder refuses rounds out of time order, or twice the same: drift and serial
// checks would look at nonsense. All Index zero means that they were not set.
func inOrder(rounds []Round) error {
	set := false
	for _, r := range rounds {
		set = set || r.Index != 0
	}
	for i := 1; set && i < len(rounds); i++ {
		if rounds[i].Index <= rounds[i-1].Index {
			return notTestable("mean of ratios", "round %d stands after round %d: give every round once, in time order", rounds[i].Index, rounds[i-1].Index)
		}
	}
	return nil
}

func sign(x int) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// sample is one value per unit, with what is known beside it.
type sample struct {
	values        []float64
	null          float64
	base, variant []float64 // cost per response, or nil
	order         []float64 // ±1, 0 unknown, or nil
	index         []float64 // places in time; nil: one after the other
	roundSD       float64   // of the rounds, where the values are means of several; else 0
}

func (s sample) quantity() string {
	if s.null == 1 {
		return "mean of ratios"
	}
	return "mean of differences"
}

func estimate(x sample, opts Options) (Estimate, error) {
	n := len(x.values)
	e := untested(n, x.null)
	e.Units = n
	o, err := opts.settle()
	if err != nil {
		return e, err
	}
	e.Mean, e.SD = moments(x.values)
	if n < 2 {
		e.SD = 0
		return e, notTestable(x.quantity(), "there is %d value and an interval needs 2", n)
	}
	if noSpread(e.SD, x.values) {
		e.SD = 0
		return e, notTestable(x.quantity(), "zero variance: all %d values are %v, which no live counter gives", n, x.values[0])
	}
	e.SE, e.DF = e.SD/math.Sqrt(float64(n)), float64(n-1)
	name := "t"
	order, reason := orderTerm(x, o)
	e.Order = order
	if o.onePair {
		if order == nil {
			e.DF, e.SE = 0, 0
			return e, notTestable(x.quantity(), "the order effect of rounds of one pair cannot be taken out: %s", reason)
		}
		e.Mean, e.SE, e.DF, name = order.mean, order.meanSE, order.df, "t with order term"
	}
	h := tUpper(o.alpha/2, e.DF) * e.SE
	e.Interval = Interval{e.Mean - h, e.Mean + h, o.level, name}
	e.P = tTwoSided((e.Mean-x.null)/e.SE, e.DF)

	d := make([]float64, n)
	for i, v := range x.values {
		d[i] = v - x.null
	}
	e.SignFlip, e.Signs = signFlip(d, o), countSigns(d)
	crossChecks(&e, x, o)
	timeChecks(&e, x, o)
	return e, nil
}
