package stats

import (
	"math"
	"sort"
)

// maxWalsh bounds the values for which all pairwise averages are formed.
const maxWalsh = 2000

// crossChecks adds the alternatives and warns where one reaches another conclusion.
// Whether they do is decided at 95%: a level that the caller chooses for what it
// shows must not switch off what Judge relies on.
func crossChecks(e *Estimate, x sample, o settled) {
	gate := o
	gate.level, gate.alpha = gateLevel, gateAlpha
	h := tUpper(gate.alpha/2, e.DF) * e.SE
	at95 := Interval{Low: e.Mean - h, High: e.Mean + h}
	main := at95.side(x.null)
	// judge holds checked, the alternative at 95%, against the main interval.
	judge := func(shown, checked *Alternative, code Code, name string) {
		side := checked.Interval.side(x.null)
		// With an order term all but the log-ratio still carry the order effect as
		// noise: a wider interval that covers no change contradicts nothing.
		agrees := side == main || o.onePair && code != SkewedRatios && side == 0
		if shown != nil {
			shown.Agrees = agrees
		}
		if !agrees {
			warn(&e.Warnings, code, "%s gives %.6g [%.6g, %.6g], %s gives %.6g [%.6g, %.6g]: they do not agree on whether there is a change",
				name, checked.Point, checked.Interval.Low, checked.Interval.High, e.Interval.Name, e.Mean, at95.Low, at95.High)
		}
	}
	// both makes an alternative to show and one to check; they are one at 95%.
	both := func(name string, by func(settled) (*Alternative, string)) (shown, checked *Alternative) {
		shown, reason := by(o)
		checked = shown
		if o.level != gateLevel {
			var why string
			if checked, why = by(gate); checked == nil {
				reason = why
			}
		}
		if shown == nil || checked == nil {
			warn(&e.Warnings, CheckMissing, "%s: %s", name, reason)
		}
		return shown, checked
	}
	if x.null == 1 {
		shown, checked := both("log-ratio", func(o settled) (*Alternative, string) { return geometricMean(x, o) })
		if e.Log = shown; checked != nil {
			judge(shown, checked, SkewedRatios, "the log-ratio")
		}
	}
	// For a coefficient of variation c of each arm E[B/A] is about 1+c² too high,
	// and the ratio's own is √2·c; below c = 3% that is under a tenth of a percent.
	// The bias is that of one round, also where the units are means of several.
	c := e.SD / e.Mean
	if x.roundSD > 0 {
		c = x.roundSD / e.Mean
	}
	if x.null == 1 && c > 0.03*math.Sqrt2 {
		warn(&e.Warnings, RatioBias, "ratios vary by %.2g%%: their mean is too high by up to %.2g%%, the log-ratio is not", 100*c, 100*c*c/2)
	}
	shown, checked := both("Hodges–Lehmann", func(o settled) (*Alternative, string) { return hodgesLehmann(x.values, o) })
	e.HodgesLehmann = shown
	switch {
	case checked == nil:
	// With few values no rank interval reaches the level; a wider one that
	// covers no change contradicts nothing.
	case checked.Interval.Level >= gateLevel || checked.Interval.side(x.null) != 0:
		judge(shown, checked, RanksDisagree, "Hodges–Lehmann")
	default:
		shown.Agrees = true
		warn(&e.Warnings, CheckMissing, "Hodges–Lehmann: %d values reach a level of %.4g only", len(x.values), checked.Interval.Level)
	}
	if x.base != nil {
		shown, checked := both("ratio of means", func(o settled) (*Alternative, string) {
			a, err := fieller(x.base, x.variant, o)
			if err != nil {
				return nil, err.Error()
			}
			return &a, ""
		})
		if e.RatioOfMeans = shown; checked != nil {
			judge(shown, checked, MeansDisagree, "Fieller's ratio of means")
		}
	}
	if smallest := math.Ldexp(2, -len(x.values)); e.SignFlip.Exact && smallest > gate.alpha {
		warn(&e.Warnings, TooFewRounds, "%d values: the sign-flip p cannot be below %.4g, and the t interval rests on normality alone", len(x.values), smallest)
	} else if flip := e.SignFlip.P <= gate.alpha; flip != (main != 0) && (flip || !o.onePair) {
		warn(&e.Warnings, SignFlipDisagrees, "sign-flip p is %.4g where the t test gives %.4g", e.SignFlip.P, e.P)
	}
}

// The level at which the checks that change a verdict are decided.
const (
	gateLevel = 0.95
	gateAlpha = 1 - gateLevel
)

// geometricMean is exp(mean ln r) with the t interval of ln r. Swapping the arms
// inverts it exactly, which the mean of ratios does not do: {0.5, 2} is +25%
// both ways by the mean, and 0% by this.
func geometricMean(x sample, o settled) (*Alternative, string) {
	l := make([]float64, len(x.values))
	for i, r := range x.values {
		l[i] = math.Log(r)
	}
	m, sd := moments(l)
	se, df, name := sd/math.Sqrt(float64(len(l))), float64(len(l)-1), "t of log-ratio"
	if o.onePair {
		t, why := orderTerm(sample{values: l, order: x.order}, o)
		if t == nil {
			return nil, why
		}
		m, se, df, name = t.mean, t.meanSE, t.df, "t of log-ratio with order term"
	}
	h := tUpper(o.alpha/2, df) * se
	if m+h > math.Log(maxMagnitude) || m-h < math.Log(minMagnitude) {
		return nil, "the interval is beyond 1e±30"
	}
	return &Alternative{Point: math.Exp(m), Interval: Interval{math.Exp(m - h), math.Exp(m + h), o.level, name}}, ""
}

// HodgesLehmann is the median of all Walsh averages (x_i+x_j)/2, i ≤ j, with the
// exact distribution-free interval from the signed-rank distribution.
//
// The interval runs from the k-th smallest to the k-th largest average, k the
// largest with 2·P(W < k) ≤ 1−level; its Level is the one reached, at or above
// the asked one where n allows (n ≥ 6 for 95%), else the widest there is with
// the lower level it has. n=12: 14th to 65th of 78, level 0.9575.
// Source: Hodges and Lehmann (1963), Tukey (1949). Assumes independent values,
// symmetric around their middle; the result is in their unit.
// Exact up to 60 values, normal approximation with continuity correction
// beyond, refused beyond 2000.
func HodgesLehmann(values []float64, o Options) (Alternative, error) {
	if err := checkValues("Hodges–Lehmann", values); err != nil {
		return Alternative{}, err
	}
	s, err := o.settle()
	if err != nil {
		return Alternative{}, err
	}
	a, reason := hodgesLehmann(values, s)
	if a == nil {
		return Alternative{}, notTestable("Hodges–Lehmann", "%s", reason)
	}
	return *a, nil
}

func hodgesLehmann(x []float64, o settled) (*Alternative, string) {
	n := len(x)
	if n < 2 || n > maxWalsh {
		return nil, "it needs 2 to 2000 values"
	}
	walsh := make([]float64, 0, n*(n+1)/2)
	for i := range x {
		for j := i; j < n; j++ {
			walsh = append(walsh, x[i]/2+x[j]/2)
		}
	}
	sort.Float64s(walsh)
	m := len(walsh)
	k, level := rankIndex(n, o.alpha)
	return &Alternative{
		Point:    walsh[(m-1)/2]/2 + walsh[m/2]/2,
		Interval: Interval{walsh[k-1], walsh[m-k], level, "Hodges–Lehmann"},
	}, ""
}

// rankIndex gives the order index k ≥ 1 of the interval and the level it reaches.
func rankIndex(n int, alpha float64) (int, float64) {
	if n > 60 {
		nf := float64(n)
		mu, sd := nf*(nf+1)/4, math.Sqrt(nf*(nf+1)*(2*nf+1)/24)
		k := max(1, int(math.Floor(mu+0.5-normalUpper(alpha/2)*sd)))
		return k, 1 - 2*normalSurvival((mu+0.5-float64(k))/sd)
	}
	// count[w]: subsets of {1..n} with sum w, as a share of 2^n.
	top := n * (n + 1) / 2
	share := make([]float64, top+1)
	share[0] = 1
	for r := 1; r <= n; r++ {
		for w := top; w >= 0; w-- {
			share[w] /= 2
			if w >= r {
				share[w] += share[w-r] / 2
			}
		}
	}
	k, below := 1, share[0]
	for 2*(below+share[k]) <= alpha {
		below += share[k]
		k++
	}
	return k, 1 - 2*below
}

// Fieller is the ratio of means mean(variant)/mean(baseline) of paired values
// with its exact interval, the roots of
//
//	(ā²−q·s_a²)ρ² − 2(ā·b̄−q·s_ab)ρ + (b̄²−q·s_b²) = 0, q = t²_{n−1}/n.
//
// Source: Fieller (1954). Assumes that pairs are independent and (a, b) is near
// bivariate normal. When ā² ≤ q·s_a² the baseline is not resolved from zero and
// the interval is unbounded: a *NotTestableError, not two infinite numbers.
func Fieller(baseline, variant []float64, o Options) (Alternative, error) {
	s, err := o.settle()
	if err != nil {
		return Alternative{}, err
	}
	return fieller(baseline, variant, s)
}

func fieller(a, b []float64, o settled) (Alternative, error) {
	const q0 = "Fieller's ratio of means"
	if len(a) != len(b) {
		return Alternative{}, notTestable(q0, "there are %d baseline and %d variant values: they must be pairs", len(a), len(b))
	}
	for _, x := range [][]float64{a, b} {
		if err := checkValues(q0, x); err != nil {
			return Alternative{}, err
		}
	}
	n := float64(len(a))
	if n < 2 {
		return Alternative{}, notTestable(q0, "there is one pair and an interval needs 2")
	}
	// Scaled to a baseline of 1, so that no unit over- or underflows.
	scale := math.Abs(mean(a))
	if scale < minMagnitude {
		return Alternative{}, notTestable(q0, "the mean baseline is %v: a ratio to it is undefined", mean(a))
	}
	u, v := make([]float64, len(a)), make([]float64, len(b))
	for i := range a {
		u[i], v[i] = a[i]/scale, b[i]/scale
	}
	if maxAbs(u) > maxMagnitude || maxAbs(v) > maxMagnitude {
		return Alternative{}, notTestable(q0, "values differ by more than 1e30 from the mean baseline")
	}
	ma, sa := moments(u)
	mb, sb := moments(v)
	t := tUpper(o.alpha/2, n-1)
	q := t * t / n
	A, B, C := ma*ma-q*sa*sa, ma*mb-q*covariance(u, v), mb*mb-q*sb*sb
	if !(A > 1e-12*ma*ma) {
		return Alternative{}, notTestable(q0, "the interval is unbounded: the mean baseline is not resolved from zero")
	}
	root := math.Sqrt(math.Max(0, B*B-A*C))
	return Alternative{Point: mb / ma, Interval: Interval{(B - root) / A, (B + root) / A, o.level, "Fieller"}}, nil
}
