package stats

import "math"

// maxMagnitude bounds what the package accepts as a value: beyond it squares and
// weights of squares no longer fit a float64, and no price is that large.
const (
	maxMagnitude = 1e30
	minMagnitude = 1e-30
)

// sum adds with Neumaier's compensation, so that the mean of near-equal large
// numbers keeps all its digits.
func sum(x []float64) float64 {
	var s, c float64
	for _, v := range x {
		t := s + v
		if math.Abs(s) >= math.Abs(v) {
			c += (s - t) + v
		} else {
			c += (v - t) + s
		}
		s = t
	}
	return s + c
}

func mean(x []float64) float64 { return sum(x) / float64(len(x)) }

// moments returns the mean and the sample standard deviation (n-1), by two
// passes with the correction term of Chan, Golub and LeVeque (1983).
// For fewer than two values the deviation is 0 and must not be used.
func moments(x []float64) (m, sd float64) {
	n := float64(len(x))
	if n == 0 {
		return 0, 0
	}
	m = mean(x)
	if n < 2 {
		return m, 0
	}
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = v - m
	}
	e := sum(d)
	for i, v := range d {
		d[i] = v * v
	}
	return m + e/n, math.Sqrt(math.Max(0, (sum(d)-e*e/n)/(n-1)))
}

func covariance(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	d := make([]float64, len(x))
	for i := range x {
		d[i] = (x[i] - mx) * (y[i] - my)
	}
	return sum(d) / float64(len(x)-1)
}

// maxAbs is the largest magnitude in x.
func maxAbs(x []float64) float64 {
	var m float64
	for _, v := range x {
		m = math.Max(m, math.Abs(v))
	}
	return m
}

// noSpread reports whether sd is only the rounding of values of that size.
func noSpread(sd float64, x []float64) bool { return sd <= 1e-14*maxAbs(x) }

// checkValues refuses what no sum survives: nothing, NaN, Inf, absurd size.
func checkValues(quantity string, x []float64) error {
	if len(x) == 0 {
		return notTestable(quantity, "there are no values")
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) > maxMagnitude {
			return notTestable(quantity, "value %d is %v: it must be finite and within ±%g", i, v, maxMagnitude)
		}
	}
	return nil
}
