package stats

import "math"

// Slope is a least-squares slope per unit of the x axis: for a drift, per step of
// Round.Index (of the position, where there is none).
type Slope struct {
	PerUnit  float64  `json:"per_unit"`
	Interval Interval `json:"interval"`
	P        float64  `json:"p"`
}

// drift is the slope over time. Rounds that were discarded leave gaps: the x axis
// is the place in time, not in the list. With an order term both axes are taken
// around the mean of their order, which is the slope of the joint fit.
func drift(x sample, o settled) *Slope {
	at, y, used := x.times(), x.values, 2
	if o.onePair {
		at, y, used = withoutOrder(at, x.order), withoutOrder(y, x.order), 3
	}
	if len(y) < used+2 {
		return nil
	}
	return fitLine(at, y, used, o.level)
}

// fitLine is nil where x has no spread or the residuals have none. used counts
// the parameters of the fit.
func fitLine(x, y []float64, used int, level float64) *Slope {
	n := len(y)
	mx, sx := moments(x)
	my, sy := moments(y)
	if n <= used || noSpread(sx, x) || noSpread(sy, y) {
		return nil
	}
	slope := covariance(x, y) / (sx * sx)
	res := make([]float64, n)
	for i := range y {
		res[i] = y[i] - my - slope*(x[i]-mx)
		res[i] *= res[i]
	}
	df := float64(n - used)
	s := math.Sqrt(sum(res) / df)
	if noSpread(s, y) {
		return nil
	}
	se := s / (sx * math.Sqrt(float64(n-1)))
	h := tUpper((1-level)/2, df) * se
	return &Slope{slope, Interval{slope - h, slope + h, level, "t"}, tTwoSided(slope/se, df)}
}
