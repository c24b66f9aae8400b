package stats

import "math"

// FisherExact is the two-sided p of Fisher's exact test for the table
//
//	a  b
//	c  d
//
// p = Σ C(a+b, x)·C(c+d, a+c−x)/C(n, a+c) over all tables x with the same margins
// that are no more probable than this one. Source: Fisher (1935), in
// the two-sided form of R's fisher.test. Assumes independent counts. They must
// not be negative or above 1e6.
func FisherExact(a, b, c, d int) (float64, error) {
	for _, v := range []int{a, b, c, d} {
		if v < 0 || v > 1_000_000 {
			return 0, notTestable("Fisher's exact test", "a count is %d: counts must be within [0, 1000000]", v)
		}
	}
	row, other, col := a+b, c+d, a+c
	lo, hi := max(0, col-other), min(row, col)
	lf := func(n int) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
	logp := func(x int) float64 {
		return -(lf(x) + lf(row-x) + lf(col-x) + lf(other-col+x))
	}
	// Relative to the observed table, and normalised by the sum: no overflow, and
	// exactly 1 when every table counts.
	at := logp(a)
	var all, extreme float64
	for x := lo; x <= hi; x++ {
		// A common factor keeps exp in range when the observed table is improbable.
		l := logp(x) - at
		p := math.Exp(math.Min(l, 700))
		all += p
		if l <= 1e-7 {
			extreme += p
		}
	}
	return clampP(extreme / all), nil
}

// ArmRounds counts the rounds of one arm: those whose gates passed for this arm
// and those that this arm made fail.
type ArmRounds struct {
	Arm    string `json:"arm"`
	Passed int    `json:"passed"`
	Failed int    `json:"failed"`
}

// Discards says whether throwing rounds away can have made the result.
type Discards struct {
	Arms []ArmRounds `json:"arms"`
	// P is the Fisher p of the variant's failures against the baseline's, not
	// corrected for other rows. 1 when nothing was discarded.
	P float64 `json:"p"`
	// Without is the row as published, With the same with the gate-failed rounds
	// put back; nil when none of them gave a number.
	Without Effect  `json:"without"`
	With    *Effect `json:"with"`
	// Void is true when the row must not be published; Reason says why.
	Void   bool   `json:"void"`
	Reason string `json:"reason"`
}

// CheckDiscards compares, for one row, the failures of its two arms (the baseline
// first) and the estimate with and without the gate-failed rounds.
//
// Void when P = FisherExact of failed and passed ≤ 0.05 (the arms did not fail
// alike, so that the rest is a selection; each row by itself and uncorrected,
// because a check of validity that gets milder with every row added protects
// nobody), or when the two estimates disagree: With lies outside the 95%
// interval of Without, or one interval excludes zero on a side where the other
// does not. Source: Fisher's exact test; the rule is this package's. Assumes that
// rounds fail independently. with is nil when no discarded round gave a number.
// Other than two arms are a *NotTestableError: another arm's failures void its
// own row, not this one.
func CheckDiscards(arms []ArmRounds, without Effect, with *Effect) (Discards, error) {
	d := Discards{Arms: arms, P: 1, Without: without, With: with}
	if len(arms) != 2 {
		return d, notTestable("discards", "there are %d arms: give the row's baseline and its variant", len(arms))
	}
	if err := without.check("discards"); err != nil {
		return d, err
	}
	base, variant := arms[0], arms[1]
	p, err := FisherExact(base.Failed, base.Passed, variant.Failed, variant.Passed)
	if err != nil {
		return d, err
	}
	if d.P = p; d.P <= 0.05 {
		d.Void = true
		d.Reason = text("arm %q failed %d of %d rounds and the baseline %d of %d (Fisher p %.3g): the kept rounds are a selection",
			variant.Arm, variant.Failed, variant.Failed+variant.Passed, base.Failed, base.Failed+base.Passed, d.P)
		return d, nil
	}
	if with == nil {
		return d, nil
	}
	if err := with.check("discards"); err != nil {
		return d, err
	}
	a, b := without.interval(0.95), with.interval(0.95)
	if !a.Contains(with.Value) || a.side(0) != b.side(0) {
		d.Void = true
		d.Reason = text("the estimate is %s without the failed rounds and %s with them: the gates decided the result", percent(without.Value, a), percent(with.Value, b))
	}
	return d, nil
}
