package stats

import "math"

// LoadPoint is the cost of one configuration at one load.
type LoadPoint struct {
	// BusyPercent is the proxy CPUs' busy share, 0 to 100.
	BusyPercent float64 `json:"busy_percent"`
	// Cost per response with its standard error and degrees of freedom, in any one unit.
	Cost float64 `json:"cost"`
	SE   float64 `json:"se"`
	DF   float64 `json:"df"`
}

// LoadSlope is how the cost of a response changes with the busy share.
type LoadSlope struct {
	// PercentPerPoint is the slope in percent of the cost per percentage point of
	// busy share, with its standard error, degrees of freedom and 95% interval.
	PercentPerPoint float64  `json:"percent_per_point"`
	SE              float64  `json:"se"`
	DF              float64  `json:"df"`
	Interval        Interval `json:"interval"`
	// From and To are the busy shares that it was measured between.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// LackOfFitP tests whether three or more points lie on a line; 1 for two.
	LackOfFitP float64 `json:"lack_of_fit_p"`
}

// SlopeOfCost fits the cost against the busy share from two or more rates of
// the same configuration, by least squares:
//
//	b = Σ(x−x̄)(y−ȳ)/Σ(x−x̄)² = Σ c_i·y_i, Var b = Σ c_i²·SE_i²
//
// given in percent of the mean cost, degrees of freedom by Satterthwaite from
// the points' own; the error of the mean is neglected beside the slope's.
// Unweighted, because weights from estimated errors favour the points whose
// error came out small and make the interval cover 93%. Source: Satterthwaite
// (1946), for a linear contrast. Assumes independent points and a straight line
// between them; LackOfFitP looks at the latter (weighted residuals, χ² with points−2).
// Without a standard error on every point there is no slope and no wording: a
// *NotTestableError.
func SlopeOfCost(points []LoadPoint) (LoadSlope, error) {
	const q = "slope of cost against load"
	if len(points) < 2 {
		return LoadSlope{}, notTestable(q, "there are %d rates: measure the baseline at 2 or more", len(points))
	}
	s := LoadSlope{From: math.Inf(1), To: math.Inf(-1), LackOfFitP: 1}
	k := float64(len(points))
	var x, y []float64
	for i, p := range points {
		if !(p.BusyPercent >= 0 && p.BusyPercent <= 100) {
			return LoadSlope{}, notTestable(q, "point %d is %v%% busy: it must be within [0, 100]", i, p.BusyPercent)
		}
		if !(p.Cost >= minMagnitude && p.Cost <= maxMagnitude) || !(p.SE >= 1e-9*p.Cost && p.SE <= 1e9*p.Cost) || !(p.DF >= 1 && p.DF <= math.MaxFloat64) {
			return LoadSlope{}, notTestable(q, "point %d is %v ± %v with %v degrees of freedom: each point needs a positive cost, standard error and degrees of freedom", i, p.Cost, p.SE, p.DF)
		}
		s.From, s.To = math.Min(s.From, p.BusyPercent), math.Max(s.To, p.BusyPercent)
		x, y = append(x, p.BusyPercent), append(y, p.Cost/points[0].Cost)
	}
	if s.To-s.From < 1 {
		return LoadSlope{}, notTestable(q, "the rates gave busy shares from %.3g%% to %.3g%%: they must differ by a percentage point or more", s.From, s.To)
	}
	mx, sx := moments(x)
	my := mean(y)
	sxx := sx * sx * (k - 1)
	b := covariance(x, y) / (sx * sx)
	var se, df []float64
	var total float64
	for i, p := range points {
		c := math.Abs((x[i]-mx)/sxx) * (p.SE / points[0].Cost)
		total = math.Hypot(total, c)
		se, df = append(se, c), append(df, p.DF)
	}
	s.PercentPerPoint = 100 * b / my
	s.SE = 100 * total / my
	s.DF = satterthwaite(se, df)
	if len(points) > 2 {
		s.LackOfFitP = lackOfFit(points, k-2)
	}
	e := Effect{Value: s.PercentPerPoint, SE: s.SE, DF: s.DF}
	if err := e.check(q); err != nil {
		return LoadSlope{}, err
	}
	s.Interval = e.interval(0.95)
	s.Interval.Name = "least squares"
	return s, nil
}

// lackOfFit is the chi-squared p of the residuals from the weighted line, which
// fits better than any other: a small p means that no line fits.
func lackOfFit(points []LoadPoint, df float64) float64 {
	var sw, swx, swy, swxx, swxy, q float64
	weight := func(p LoadPoint) float64 { return (points[0].Cost / p.SE) * (points[0].Cost / p.SE) }
	for _, p := range points {
		w := weight(p)
		sw += w
		swx += w * p.BusyPercent
		swy += w * p.Cost / points[0].Cost
	}
	mx, my := swx/sw, swy/sw
	for _, p := range points {
		w, dx := weight(p), p.BusyPercent-mx
		swxx += w * dx * dx
		swxy += w * dx * (p.Cost/points[0].Cost - my)
	}
	if !(swxx > 0) { // one point has all the weight: nothing is left to contradict it
		return 1
	}
	for _, p := range points {
		r := p.Cost/points[0].Cost - my - swxy/swxx*(p.BusyPercent-mx)
		q += weight(p) * r * r
	}
	return clampP(chiSquaredSurvival(q, df))
}

// BoundDirection says on which side of the measured effect the effect at equal
// load lies.
type BoundDirection string

// The directions.
const (
	BoundNone    BoundDirection = "none"    // equal busy shares
	BoundLower   BoundDirection = "lower"   // measured is a lower bound
	BoundUpper   BoundDirection = "upper"   // measured is an upper bound
	BoundUnknown BoundDirection = "unknown" // different busy shares, no resolved slope
)

// LoadBound is what a difference in busy share does to a measured effect.
type LoadBound struct {
	Direction BoundDirection `json:"direction"`
	// ShiftPercent is how far load alone moved the measured effect, with its 95%
	// interval, standard error and degrees of freedom; nil, and zero, where the
	// slope is unknown.
	ShiftPercent *float64  `json:"shift_percent"`
	Interval     *Interval `json:"interval"`
	ShiftSE      float64   `json:"shift_se"`
	ShiftDF      float64   `json:"shift_df"`
	Text         string    `json:"text"`
}

// explains says why load alone can have made the effect; "" when it cannot, or
// nothing is known of it. A shift against the effect hides a part of it, and the
// bound holds. A shift with it is a part of it, and what is left must stand.
func (b *LoadBound) explains(e Effect, notBelow, level float64) string {
	if b == nil || b.Direction != BoundLower && b.Direction != BoundUpper {
		return ""
	}
	if (b.Direction == BoundUpper) != (e.Value > 0) { // upper: load moved it up
		return ""
	}
	if b.ShiftPercent == nil {
		return "how much of it load alone made is not given"
	}
	left, why := e.without(Effect{Value: *b.ShiftPercent, SE: b.ShiftSE, DF: b.ShiftDF}, notBelow, level)
	if why != "" && left != "" {
		return text("at equal load it is %s", left)
	}
	return why
}

// without takes a shift off an effect in whose direction it is,
//
//	effect − shift, SE = √(SE² + SE_shift²), degrees of freedom by Satterthwaite,
//
// and says why what is left is nothing: it must exclude zero on the effect's side
// and, from one session, reach notBelow. left is what is left, if that could be said.
func (e Effect) without(shift Effect, notBelow, level float64) (left, why string) {
	if err := shift.check("shift"); err != nil {
		return "", err.Error()
	}
	r := Effect{Value: e.Value - shift.Value, SE: math.Hypot(e.SE, shift.SE), DF: satterthwaite([]float64{e.SE, shift.SE}, []float64{e.DF, shift.DF})}
	if err := r.check("what is left of the effect"); err != nil {
		return "", err.Error()
	}
	i := r.interval(level)
	switch {
	case i.side(0) == 0 || (r.Value > 0) != (e.Value > 0):
		return percent(r.Value, i), "not resolved"
	case e.Sessions <= 1 && math.Abs(r.Value) < notBelow:
		return text("%s, under %.3g%%", percent(r.Value, i), notBelow), "too small"
	}
	return "", ""
}

// busyTolerance is the difference in busy share, in percentage points, that is
// not worth a word.
const busyTolerance = 1

// BoundFromLoad gives the direction and size of the bound for a row whose arms
// ran at different busy shares (percent): the shift that load alone made in the
// measured effect is shift = slope × (variant − baseline). If the slope is negative
// (responses get cheaper as the proxy gets busier) and the variant was
// busier, the effect was measured too low: a lower bound. Judge takes a shift in
// the direction of the effect off before it believes it. To first order, in
// percent of the cost at the slope's rates. Source: the law of propagation, here
// one term. Assumes that the slope is the variant's too and the busy shares exact.
//
// slope nil, a slope whose interval contains zero, points that do not lie on a
// line, or busy shares outside the slope's range give BoundUnknown: no wording.
func BoundFromLoad(slope *LoadSlope, baselineBusy, variantBusy float64) (LoadBound, error) {
	for _, b := range []float64{baselineBusy, variantBusy} {
		if !(b >= 0 && b <= 100) {
			return LoadBound{}, notTestable("bound from load", "a busy share is %v%%: it must be within [0, 100]", b)
		}
	}
	d := variantBusy - baselineBusy
	if math.Abs(d) <= busyTolerance {
		return LoadBound{Direction: BoundNone, Text: text("the arms were equally busy (%.3g%% and %.3g%%)", baselineBusy, variantBusy)}, nil
	}
	unknown := func(why string) (LoadBound, error) {
		return LoadBound{Direction: BoundUnknown, Text: text("the arms were %.3g%% and %.3g%% busy and what that does to the effect is unknown: %s", baselineBusy, variantBusy, why)}, nil
	}
	if slope == nil {
		return unknown("the slope of cost against load was not measured")
	}
	e := Effect{Value: slope.PercentPerPoint, SE: slope.SE, DF: slope.DF}
	if err := e.check("bound from load"); err != nil {
		return LoadBound{}, err
	}
	if !(slope.LackOfFitP > 0 && slope.LackOfFitP <= 1) || !(slope.From >= 0 && slope.From <= slope.To && slope.To <= 100) {
		return LoadBound{}, notTestable("bound from load", "the slope was measured between %v%% and %v%% with a lack of fit p of %v: take it from SlopeOfCost", slope.From, slope.To, slope.LackOfFitP)
	}
	i := e.interval(0.95)
	lo, hi := math.Min(baselineBusy, variantBusy), math.Max(baselineBusy, variantBusy)
	switch {
	case i.side(0) == 0:
		return unknown(text("the slope %.3g%% per point [%.3g, %.3g] contains zero", e.Value, i.Low, i.High))
	case slope.LackOfFitP < 0.05:
		return unknown("cost against load is no straight line")
	case lo < slope.From-busyTolerance || hi > slope.To+busyTolerance:
		return unknown(text("the slope was measured between %.3g%% and %.3g%%", slope.From, slope.To))
	}
	shift := e.Value * d
	si := Interval{math.Min(i.Low*d, i.High*d), math.Max(i.Low*d, i.High*d), 0.95, "slope × difference in busy share"}
	b := LoadBound{Direction: BoundLower, ShiftPercent: &shift, Interval: &si, ShiftSE: e.SE * math.Abs(d), ShiftDF: e.DF}
	if shift > 0 {
		b.Direction = BoundUpper
	}
	b.Text = text("%s bound: the arms were %.3g%% and %.3g%% busy, and load alone moved the effect by %s", b.Direction, baselineBusy, variantBusy, percent(shift, si))
	return b, nil
}
