package stats

import "math"

// OrderTerm is the effect of being second, from r = μ + δ·o + e with o = ±1.
type OrderTerm struct {
	// Delta is δ, in the unit of the values (a fraction for ratios): half of the
	// difference between rounds with the baseline first and the others.
	Delta    float64  `json:"delta"`
	Interval Interval `json:"interval"`
	P        float64  `json:"p"`

	mean, meanSE, df float64
}

// orderTerm fits least squares; nil with a reason when it cannot.
func orderTerm(x sample, o settled) (*OrderTerm, string) {
	n := len(x.values)
	if n < 4 {
		return nil, "it needs at least 4 rounds"
	}
	if x.order == nil {
		return nil, "the order of the arms is unknown, give whole rounds with Order"
	}
	var first, second []float64
	for i, v := range x.order {
		switch v {
		case 1:
			first = append(first, x.values[i])
		case -1:
			second = append(second, x.values[i])
		default:
			return nil, "the order of a round is unknown"
		}
	}
	if len(first) == 0 || len(second) == 0 {
		return nil, "all rounds have the same order"
	}
	// Two groups: the least-squares μ is the plain middle of the group means,
	// which for equal counts is the overall mean.
	m1, s1 := moments(first)
	m2, s2 := moments(second)
	n1, n2 := float64(len(first)), float64(len(second))
	t := OrderTerm{Delta: (m1 - m2) / 2, mean: (m1 + m2) / 2, df: float64(n - 2)}
	rss := math.Sqrt((s1*s1*(n1-1) + s2*s2*(n2-1)) / t.df)
	t.meanSE = rss * math.Sqrt(1/n1+1/n2) / 2
	if noSpread(rss, x.values) {
		return nil, "zero variance: the order explains every round"
	}
	h := tUpper(o.alpha/2, t.df) * t.meanSE
	t.Interval = Interval{t.Delta - h, t.Delta + h, o.level, "t"}
	t.P = tTwoSided(t.Delta/t.meanSE, t.df)
	return &t, ""
}

// Slope is a least-squares slope per unit of the x axis.
type Slope struct {
	PerUnit  float64  `json:"per_unit"`
	Interval Interval `json:"interval"`
	P        float64  `json:"p"`
}

func drift(y []float64, o settled) *Slope {
	n := len(y)
	if n < 4 {
		return nil
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	return fitLine(x, y, o.level)
}

// fitLine is nil where x has no spread or the residuals have none.
func fitLine(x, y []float64, level float64) *Slope {
	n := len(y)
	mx, sx := moments(x)
	my, sy := moments(y)
	if n < 3 || noSpread(sx, x) || noSpread(sy, y) {
		return nil
	}
	slope := covariance(x, y) / (sx * sx)
	res := make([]float64, n)
	for i := range y {
		res[i] = y[i] - my - slope*(x[i]-mx)
		res[i] *= res[i]
	}
	df := float64(n - 2)
	s := math.Sqrt(sum(res) / df)
	if noSpread(s, y) {
		return nil
	}
	se := s / (sx * math.Sqrt(float64(n-1)))
	h := tUpper((1-level)/2, df) * se
	return &Slope{slope, Interval{slope - h, slope + h, level, "t"}, tTwoSided(slope/se, df)}
}

// Serial describes how neighbouring units depend on each other.
type Serial struct {
	// Lag1 is the lag-1 autocorrelation. White noise gives −1/n on average;
	// its 95% band is about [−.55, .40] for 12 units.
	Lag1 float64 `json:"lag1"`
	// VonNeumann is Σ(x_{i+1}−x_i)²/Σ(x_i−x̄)²; 2 for white noise, [.99, 3.01]
	// in 95% of samples of 12.
	VonNeumann float64 `json:"von_neumann"`
	// P is the two-sided p of VonNeumann, from its Beta approximation.
	P float64 `json:"p"`
	// Wider is the t interval at the effective number of units
	// n(1−r̂)/(1+r̂), r̂ = max(0, Lag1+1/n); nil when that is below 2.
	Wider *Interval `json:"wider"`
}

// serial is nil for fewer than four units: too few to say anything.
func serial(x []float64, e *Estimate, o settled) *Serial {
	n := len(x)
	if n < 4 {
		return nil
	}
	m, sd := moments(x)
	if noSpread(sd, x) {
		return nil
	}
	s := &Serial{}
	s.Lag1, s.VonNeumann = neighbours(x, m, sd)
	nf := float64(n)
	s.P = vonNeumannP(s.VonNeumann, n)
	r := math.Max(0, s.Lag1+1/nf)
	eff := nf * (1 - r) / (1 + r)
	if eff >= 2 && eff <= nf {
		h := tUpper(o.alpha/2, eff-1) * e.SD / math.Sqrt(eff)
		s.Wider = &Interval{e.Mean - h, e.Mean + h, o.level, "t at the effective number of rounds"}
	}
	return s
}

// neighbours gives the lag-1 autocorrelation and von Neumann's ratio.
func neighbours(x []float64, m, sd float64) (lag1, vonNeumann float64) {
	ss := sd * sd * float64(len(x)-1)
	var c, d float64
	for i := 1; i < len(x); i++ {
		c += (x[i] - m) * (x[i-1] - m)
		d += (x[i] - x[i-1]) * (x[i] - x[i-1])
	}
	return c / ss, d / ss
}

// vonNeumannP is the two-sided p. For normal white noise the ratio has mean 2
// and variance 4(n−2)/(n²−1) on (0, 4) nearly: a symmetric Beta with those
// moments (von Neumann 1941; the approximation is Bartels' 1982).
func vonNeumannP(ratio float64, n int) float64 {
	nf := float64(n)
	v := 4 * (nf - 2) / (nf*nf - 1)
	a := (4/v - 1) / 2
	u := math.Min(1, math.Max(0, ratio/4))
	return clampP(2 * betaTail(math.Min(u, 1-u), a))
}

// Range is a closed range, with the index of the unit whose absence makes the
// largest change.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Most int     `json:"most"`
}

func timeChecks(e *Estimate, x sample, o settled) {
	n := len(x.values)
	if e.Order != nil && e.Order.P < 0.05 && !o.onePair {
		warn(&e.Warnings, OrderMatters, "being second changes the value by %.3g (p %.3g)", e.Order.Delta, e.Order.P)
	}
	var plus, minus int
	for _, v := range x.order {
		if v > 0 {
			plus++
		} else if v < 0 {
			minus++
		}
	}
	if d := plus - minus; d > 1 || d < -1 {
		warn(&e.Warnings, OrderUnbalanced, "%d units had the baseline first and %d the variant: whatever favours one place is in the estimate", plus, minus)
	}
	if e.Drift = drift(x.values, o); e.Drift != nil && e.Drift.P < 0.05 {
		warn(&e.Warnings, Drifts, "the value moves by %.3g from one unit to the next (p %.3g)", e.Drift.PerUnit, e.Drift.P)
	}
	if e.Serial = serial(x.values, e, o); e.Serial != nil && e.Serial.P < 0.05 {
		warn(&e.Warnings, Autocorrelated, "lag-1 correlation %.2g, von Neumann ratio %.3g (p %.3g): the interval is %s", e.Serial.Lag1, e.Serial.VonNeumann, e.Serial.P,
			map[bool]string{true: "too short", false: "too wide"}[e.Serial.Lag1 > 0])
	}
	if n >= 3 {
		leaveOneOut(e, x, o)
	}
}

func leaveOneOut(e *Estimate, x sample, o settled) {
	n := len(x.values)
	r := &Range{Low: math.Inf(1), High: math.Inf(-1)}
	var far float64
	m, sd := moments(x.values)
	nf := float64(n)
	main, flips := e.Interval.side(x.null), -1
	t := tUpper(o.alpha/2, nf-2)
	for i, v := range x.values {
		// Both moments of the rest follow from those of the whole.
		mi := m - (v-m)/(nf-1)
		ss := sd*sd*(nf-1) - (v-m)*(v-m)*nf/(nf-1)
		r.Low, r.High = math.Min(r.Low, mi), math.Max(r.High, mi)
		if math.Abs(mi-m) > far {
			far, r.Most = math.Abs(mi-m), i
		}
		if o.onePair {
			continue
		}
		h := t * math.Sqrt(math.Max(0, ss)/(nf-2)/(nf-1))
		if s := (Interval{Low: mi - h, High: mi + h}).side(x.null); main != 0 && s != main {
			flips = i
		}
	}
	e.LeaveOneOut = r
	if flips >= 0 {
		warn(&e.Warnings, OneRoundDecides, "without unit %d the interval no longer excludes no change", flips)
	}
}
