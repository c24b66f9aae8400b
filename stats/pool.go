package stats

import "math"

// Study is one session's effect and the variance of that effect (its squared
// standard error), for pooling.
type Study struct {
	Value    float64 `json:"value"`
	Variance float64 `json:"variance"`
}

// Estimator names how the between-session variance τ² is estimated.
type Estimator string

// The estimators. Which one hardly matters; which interval does.
const (
	PauleMandel       Estimator = "Paule–Mandel" // the default; also known as empirical Bayes
	FixedEffect       Estimator = "fixed effect" // τ² = 0
	DerSimonianLaird  Estimator = "DerSimonian–Laird"
	RestrictedML      Estimator = "REML"
	SidikJonkman      Estimator = "Sidik–Jonkman"
	defaultEstimator            = PauleMandel
	maxREMLIterations           = 100_000
)

// PoolInterval names how the interval of the pooled mean is made.
type PoolInterval string

// The intervals.
const (
	// HartungKnappFloored is Hartung–Knapp with q' = max(1, q): the default. It
	// never gets shorter than a t interval with the variances taken at their word.
	HartungKnappFloored PoolInterval = "Hartung–Knapp, q ≥ 1"
	// HartungKnapp is the plain one; it collapses when sessions agree by chance.
	HartungKnapp PoolInterval = "Hartung–Knapp"
	// NormalInterval is ±z·SE: covers 71% to 89% at 2 to 5 sessions. For
	// comparison with other tools only; it always carries a warning.
	NormalInterval PoolInterval = "normal"
)

// PoolOptions of Pool. The zero value is Paule–Mandel with floored Hartung–Knapp at 95%.
type PoolOptions struct {
	Estimator Estimator    // default PauleMandel
	Interval  PoolInterval // default HartungKnappFloored
	Level     float64      // default 0.95
}

// Pooled is a random-effects summary of sessions.
type Pooled struct {
	K         int       `json:"k"`
	Estimator Estimator `json:"estimator"`
	Mean      float64   `json:"mean"`
	// SE belongs to the chosen interval, DF to it too (k−1; very large for normal).
	SE       float64  `json:"se"`
	DF       float64  `json:"df"`
	Interval Interval `json:"interval"`
	P        float64  `json:"p"`
	// Tau2 is the between-session variance, Tau2Interval its Q-profile interval.
	Tau2         float64  `json:"tau2"`
	Tau2Interval Interval `json:"tau2_interval"`
	// Q is Cochran's statistic at τ² = 0 with its chi-squared p; I2 in percent
	// is max(0, (Q−(k−1))/Q). QP takes the variances as known: at a nominal 5%
	// it calls equal sessions different in 6% to 9% of cases where they have 12 or
	// 20 rounds, and in 8% to 18% where they have 6.
	Q        float64   `json:"q"`
	QP       float64   `json:"q_p"`
	I2       float64   `json:"i2"`
	Warnings []Warning `json:"warnings"`
}

// Effect is the pooled mean for floors, bounds, budgets and verdicts. Its error
// counts as including the between-session spread (Between) only for random
// effects with the floored Hartung–Knapp interval: the others are too short, and
// no verdict rests on them.
func (p Pooled) Effect() Effect {
	between := p.Estimator != FixedEffect && p.Interval.Name == string(HartungKnappFloored)
	return Effect{Value: p.Mean, SE: p.SE, DF: p.DF, Sessions: p.K, Between: between}
}

// Pool summarises two or more sessions. With w = 1/(v+τ²), μ̂ = Σwy/Σw:
//
//	FixedEffect       τ² = 0
//	DerSimonianLaird  τ² = max(0, (Q−(k−1))/(Σw₀−Σw₀²/Σw₀)), w₀ = 1/v
//	PauleMandel       Σ(y−μ̂)²/(v+τ²) = k−1, 0 if there is no solution
//	RestrictedML      τ² = Σw²((y−μ̂)²−v)/Σw² + 1/Σw, iterated, floor 0
//	SidikJonkman      τ₀² = Σ(y−ȳ)²/k, u = 1/(v/τ₀²+1), τ² = Σu(y−μ̂_u)²/(k−1)
//
// Interval: Hartung–Knapp, q = Σw(y−μ̂)²/(k−1), μ̂ ± t_{k−1}·√(q/Σw), q at least 1
// by default. Tau2Interval by Q-profile: Q(τ²) = χ²_{k−1} at .975 and .025.
// Sources: DerSimonian and Laird (1986), Paule and Mandel (1982), Sidik and
// Jonkman (2005), Viechtbauer (2005, 2007), Hartung and Knapp (2001), Röver et
// al. (2015) for the floor. Assumes normal session effects; the variances are
// taken as known, which at 12 rounds costs about a point of coverage.
//
// With the value of the same row in one session only it is a *NotTestableError:
// see Widen. Below five sessions prefer AcrossSessions with a borrowed spread.
func Pool(studies []Study, o PoolOptions) (Pooled, error) {
	const quantity = "pooled effect"
	level, err := settleLevel(o.Level)
	if err != nil {
		return Pooled{}, err
	}
	k := len(studies)
	if k < 2 {
		return Pooled{}, notTestable(quantity, "there is %d session and pooling needs 2: widen a single one with a borrowed spread", k)
	}
	for i, s := range studies {
		if !(math.Abs(s.Value) <= 1e12) || !(s.Variance >= 1e-24 && s.Variance <= 1e24) {
			return Pooled{}, notTestable(quantity, "session %d is %v with variance %v: values must be within ±1e12 and variances within [1e-24, 1e24]", i, s.Value, s.Variance)
		}
	}
	p := Pooled{K: k, Estimator: o.Estimator}
	if p.Estimator == "" {
		p.Estimator = defaultEstimator
	}
	df := float64(k - 1)
	_, p.Q, _ = weighted(studies, 0)
	p.QP = clampP(chiSquaredSurvival(p.Q, df))
	if p.Q > df {
		p.I2 = 100 * (p.Q - df) / p.Q
	}
	if p.Tau2, err = tau2(studies, p.Estimator, p.Q); err != nil {
		return Pooled{}, err
	}
	q := func(t float64) float64 { _, q, _ := weighted(studies, t); return q }
	p.Tau2Interval = Interval{
		solveFalling(q, chiSquaredUpper((1-level)/2, df)),
		solveFalling(q, chiSquaredUpper((1+level)/2, df)), level, "Q-profile",
	}
	var sw, qw float64
	p.Mean, qw, sw = weighted(studies, p.Tau2)
	factor := qw / df
	kind := o.Interval
	switch kind {
	case "":
		kind, factor = HartungKnappFloored, math.Max(1, factor)
	case HartungKnappFloored:
		factor = math.Max(1, factor)
	case HartungKnapp:
	case NormalInterval:
		factor, df = 1, normalDF
	default:
		return Pooled{}, &OptionError{"Interval", o.Interval, "one of the PoolInterval constants"}
	}
	p.DF, p.SE = df, math.Sqrt(factor/sw)
	if err := (Effect{Value: p.Mean, SE: p.SE, DF: df}).check(quantity); err != nil {
		return Pooled{}, err
	}
	h := tUpper((1-level)/2, df) * p.SE
	p.Interval = Interval{p.Mean - h, p.Mean + h, level, string(kind)}
	p.P = tTwoSided(p.Mean/p.SE, df)
	// Paule–Mandel makes q one by solving for it; what is left of that is rounding.
	if kind == HartungKnapp && factor < 1-1e-9 {
		warn(&p.Warnings, IntervalTooShort, "the sessions agree better than their errors allow (q %.3g): plain Hartung–Knapp is too short, use the floored one", factor)
	}
	if kind == NormalInterval {
		warn(&p.Warnings, IntervalTooShort, "a normal interval over %d sessions is too short: with 2 it covers about 71%% to 84%%", k)
	}
	return p, nil
}

func studiesOf(effects []Effect) ([]Study, error) {
	if err := checkSessions("sessions", effects); err != nil {
		return nil, err
	}
	s := make([]Study, len(effects))
	for i, e := range effects {
		if math.Abs(e.Value) > 1e12 || e.SE < 1e-12 || e.SE > 1e12 {
			return nil, notTestable("sessions", "session %d is %v ± %v: values must be within ±1e12 and standard errors within [1e-12, 1e12]", i, e.Value, e.SE)
		}
		s[i] = Study{e.Value, e.SE * e.SE}
	}
	return s, nil
}

// weighted gives the mean with weights 1/(v+τ²), its Q and the sum of weights.
func weighted(s []Study, tau2 float64) (mu, q, sw float64) {
	// Around the first value: Q loses its digits when values are large and close.
	base := s[0].Value
	var swy float64
	for _, x := range s {
		w := 1 / (x.Variance + tau2)
		sw += w
		swy += w * (x.Value - base)
	}
	d := swy / sw
	for _, x := range s {
		r := x.Value - base - d
		q += r * r / (x.Variance + tau2)
	}
	return base + d, q, sw
}

// solveFalling finds x ≥ 0 with f(x) = target for falling f, 0 if f(0) ≤ target.
func solveFalling(f func(float64) float64, target float64) float64 {
	if f(0) <= target {
		return 0
	}
	lo, hi := 0.0, 1e-24
	for f(hi) > target && hi < 1e60 {
		lo, hi = hi, hi*16
	}
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if f(mid) > target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}

func tau2(s []Study, how Estimator, q float64) (float64, error) {
	k := float64(len(s))
	switch how {
	case FixedEffect:
		return 0, nil
	case DerSimonianLaird:
		var w1, w2 float64
		for _, x := range s {
			w1 += 1 / x.Variance
			w2 += 1 / (x.Variance * x.Variance)
		}
		c := w1 - w2/w1
		if !(c > 0) { // one session outweighs the others by all of a float's digits
			return 0, notTestable("between-session variance", "one session has all the weight")
		}
		return math.Max(0, (q-(k-1))/c), nil
	case PauleMandel:
		return solveFalling(func(t float64) float64 { _, q, _ := weighted(s, t); return q }, k-1), nil
	case SidikJonkman:
		y := make([]float64, len(s))
		for i, x := range s {
			y[i] = x.Value
		}
		_, sd := moments(y)
		t0 := sd * sd * (k - 1) / k
		if noSpread(sd, y) || t0 < minMagnitude {
			return 0, nil
		}
		// u = 1/(v/t0+1) = t0/(v+t0): the weighted Q at t0, times t0.
		_, qu, _ := weighted(s, t0)
		return t0 * qu / (k - 1), nil
	case RestrictedML:
		return reml(s)
	}
	return 0, &OptionError{"Estimator", how, "one of the Estimator constants"}
}

func reml(s []Study) (float64, error) {
	t := solveFalling(func(t float64) float64 { _, q, _ := weighted(s, t); return q }, float64(len(s)-1))
	for range maxREMLIterations {
		mu, _, sw := weighted(s, t)
		var a, b float64
		for _, x := range s {
			w := 1 / (x.Variance + t)
			r := x.Value - mu
			a += w * w * (r*r - x.Variance)
			b += w * w
		}
		next := math.Max(0, a/b+1/sw)
		if math.Abs(next-t) <= 1e-13*(next+t) {
			return next, nil
		}
		t = next
	}
	return 0, notTestable("between-session variance", "REML did not settle in %d steps: use Paule–Mandel", maxREMLIterations)
}
