package stats

import "math"

// Bias is what A/A gives on average.
type Bias struct {
	// Mean over sessions with its interval (random effects, Paule–Mandel,
	// Hartung–Knapp with floor).
	Mean     float64  `json:"mean"`
	Interval Interval `json:"interval"`
	SE       float64  `json:"se"`
	DF       float64  `json:"df"`
	// ExcludedAbove: a bias larger than this is excluded at the interval's level.
	ExcludedAbove float64 `json:"excluded_above"`
	// Pass is the TOST of the mean against the declared bound. It is never
	// "the interval contains zero", which a noisy rig always passes.
	Pass Equivalent `json:"pass"`
}

// PooledBias pools two or more A/A sessions and tests them against a bound in
// percent, declared beforehand. Formula, source and what it assumes: as Pool.
// Give it to Judge beside the row: a bias that is shown counts against the row
// like a shift by load does.
func PooledBias(aa []Effect, bound float64) (Bias, error) {
	studies, err := studiesOf(aa)
	if err != nil {
		return Bias{}, err
	}
	p, err := Pool(studies, PoolOptions{})
	if err != nil {
		return Bias{}, err
	}
	b := Bias{Mean: p.Mean, Interval: p.Interval, SE: p.SE, DF: p.DF}
	b.ExcludedAbove = math.Max(math.Abs(p.Interval.Low), math.Abs(p.Interval.High))
	b.Pass, err = Equivalence(p.Effect(), bound)
	return b, err
}

// shown is -1, 0, +1: A/A lies below zero, is not resolved from it, lies above.
func (b *Bias) shown() int {
	if b == nil {
		return 0
	}
	return b.Interval.side(0)
}

// check refuses what PooledBias would not have made.
func (b Bias) check() error {
	e := Effect{Value: b.Mean, SE: b.SE, DF: b.DF}
	if err := e.check("bias"); err != nil {
		return err
	}
	if !(b.Interval.Low <= b.Mean && b.Mean <= b.Interval.High) || !(b.ExcludedAbove >= math.Abs(b.Mean)) {
		return notTestable("bias", "%v [%v, %v], excluded above %v: take it from PooledBias", b.Mean, b.Interval.Low, b.Interval.High, b.ExcludedAbove)
	}
	return nil
}

// explains says why the bias can have made the effect; "" when it cannot, or
// none is shown in that direction.
func (b *Bias) explains(e Effect, notBelow, level float64) string {
	if b.shown() == 0 || (b.shown() > 0) != (e.Value > 0) {
		return ""
	}
	left, why := e.without(Effect{Value: b.Mean, SE: b.SE, DF: b.DF}, notBelow, level)
	if why != "" && left != "" {
		return text("A/A itself averages %+.3g%%: without it, it is %s", b.Mean, left)
	}
	return why
}
