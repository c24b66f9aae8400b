package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func differences(t *testing.T, d []float64) Estimate {
	t.Helper()
	e, err := MeanOfDifferences(d, Options{})
	require.NoError(t, err)
	return e
}

// Darwin's maize pairs, by way of Fisher (1935): t says yes, sign-flip says no.
func TestT07FisherDarwinPairs(t *testing.T) {
	d := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	e := differences(t, d)
	require.Equal(t, 314.0, sum(d))
	near(t, 314.0/15, e.Mean, nine)
	require.InDelta(t, 37.7444, e.SD, .00005)
	require.InDelta(t, 2.14799, e.Mean/e.SE, .000005)
	require.InDelta(t, .0497029, e.P, 5e-8)
	require.InDelta(t, .0312, e.Interval.Low, .00005)
	require.InDelta(t, 41.8355, e.Interval.High, .00005)
	require.True(t, e.SignFlip.Exact)
	near(t, 1726.0/32768, e.SignFlip.P, nine)
	require.True(t, hasWarning(e.Warnings, SignFlipDisagrees))
	// The signed-rank statistic counts the Walsh averages below zero; its p is what
	// the level of the rank interval leaves that ends at the first one above.
	w := 0
	for i := range d {
		for j := i; j < len(d); j++ {
			if d[i]+d[j] < 0 {
				w++
			}
		}
	}
	require.Equal(t, 24, w)
	require.InDelta(t, .0412598, 1-rankLevel(len(d), w+1), 5e-8)
}

// rankLevel is the level of the interval from the k-th to the k-th last average.
func rankLevel(n, k int) float64 {
	lo, hi := 1e-9, 0.5
	for range 200 { // the level is a step function of alpha: find the step to k
		mid := (lo + hi) / 2
		if i, _ := rankIndex(n, mid); i < k {
			lo = mid
		} else {
			hi = mid
		}
	}
	_, level := rankIndex(n, hi)
	return level
}

// R's sleep data.
func TestT08RSleep(t *testing.T) {
	e := differences(t, []float64{1.2, 2.4, 1.3, 1.3, 0, 1.0, 1.8, .8, 4.6, 1.4})
	require.InDelta(t, 4.062128, e.Mean/e.SE, 5e-7)
	require.InDelta(t, .00283289, e.P, 5e-9)
	require.InDelta(t, .7001142, e.Interval.Low, 5e-8)
	require.InDelta(t, 2.4598858, e.Interval.High, 5e-8)
	near(t, 4.0/1024, e.SignFlip.P, nine)
}

// statsmodels#2725: paired t against R; ratios of the same data by three ways.
func TestT09Statsmodels2725(t *testing.T) {
	a := []float64{12.9, 13.5, 12.8, 15.6, 17.2, 19.2, 12.6, 15.3, 14.4, 11.3}
	b := []float64{12.7, 13.6, 12.0, 15.2, 16.8, 20.0, 12.0, 15.9, 16.0, 11.1}
	d := make([]float64, len(a))
	rounds := make([]Round, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
		rounds[i] = Round{Index: i, Baseline: Arm{a[i], 1}, Variant: Arm{b[i], 1}}
	}
	e := differences(t, d)
	require.InDelta(t, -.2133, e.Mean/e.SE, .00005)
	require.InDelta(t, .8358, e.P, .00005)
	require.InDelta(t, -.5803, e.Interval.Low, .00005)
	require.InDelta(t, .4803, e.Interval.High, .00005)

	r, err := FromRounds(rounds, Options{})
	require.NoError(t, err)
	for _, w := range []struct {
		name                string
		want, low, high     float64
		point, ilow, iihigh float64
	}{
		{"mean of ratios", 1.000718, .964090, 1.037346, r.Mean, r.Interval.Low, r.Interval.High},
		{"log", .999571, .964346, 1.036083, r.Log.Point, r.Log.Interval.Low, r.Log.Interval.High},
		{"Fieller", 1.003453, .965109, 1.038633, r.RatioOfMeans.Point, r.RatioOfMeans.Interval.Low, r.RatioOfMeans.Interval.High},
	} {
		require.InDelta(t, w.want, w.point, 5e-7, w.name)
		require.InDelta(t, w.low, w.ilow, 5e-7, w.name)
		require.InDelta(t, w.high, w.iihigh, 5e-7, w.name)
	}
	require.InDelta(t, .96484, r.SignFlip.P, .000005)
}

// statsmodels test_tost, first example (R output).
func TestT10StatsmodelsTOSTEquivalent(t *testing.T) {
	e := differences(t, []float64{.24, -.31, .23, -.51, -.87, .75, .67, -.21, .11, -.14, .86, .65, .33, -.15, .82})
	q, err := e.Equivalence(.6)
	require.NoError(t, err)
	require.InDelta(t, .1646667, e.Mean, 5e-8)
	require.InDelta(t, .1357514, e.SE, 5e-8)
	require.InDelta(t, -.0744337, q.Interval.Low, 5e-8)
	require.InDelta(t, .4037670, q.Interval.High, 5e-8)
	require.InDelta(t, .0031669, q.P, 5e-8)
	require.True(t, q.Holds)
}

// statsmodels test_tost, second example (R output).
func TestT11StatsmodelsTOSTNotEquivalent(t *testing.T) {
	e := differences(t, []float64{.24, -.40, .49, -.18, -.23, 1.47, 1.73, .39, -.88, -.80, .81, .90, .98, 2.33, 1.59})
	q, err := e.Equivalence(.6)
	require.NoError(t, err)
	require.InDelta(t, .5626667, e.Mean, 5e-8)
	require.InDelta(t, .2478276, e.SE, 5e-8)
	require.InDelta(t, .1261653, q.Interval.Low, 5e-8)
	require.InDelta(t, .9991680, q.Interval.High, 5e-8)
	require.InDelta(t, .4412034, q.P, 5e-8)
	require.False(t, q.Holds)
}

func adjusted(t *testing.T, f func([]float64, float64) ([]AdjustedP, error), p ...float64) []float64 {
	t.Helper()
	rows, err := f(p, 0)
	require.NoError(t, err)
	var out []float64
	for _, r := range rows {
		out = append(out, r.Adjusted)
	}
	return out
}

// Four small families, among them those of Scylla#288, goatools#281 and statsmodels#764.
func TestT12HolmSmallFamilies(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{[]float64{.01, .04, .03, .005}, []float64{.03, .06, .06, .02}},
		{[]float64{.01, .011}, []float64{.02, .02}},
		{[]float64{.25, 1, 1, 1, 1}, []float64{1, 1, 1, 1, 1}},
		{[]float64{.01, .02, .03, .04, .05}, []float64{.05, .08, .09, .09, .09}},
	} {
		got := adjusted(t, Holm, c.p...)
		for i := range c.want {
			near(t, c.want[i], got[i], nine)
		}
	}
}

// The fifteen p values of Benjamini and Hochberg (1995).
func TestT13BenjaminiHochberg1995(t *testing.T) {
	p := []float64{.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .324, .4262, .5719, .6528, .759, 1}
	bh := []float64{.0015, .003, .0095, .035625, .0603, .063857, .063857, .0645, .0765, .486, .581182, .714875, .753231, .813214, 1}
	holm := []float64{.0015, .0056, .0247, .114, .2211, .278, .278, .278, .3213, 1, 1, 1, 1, 1, 1}
	gotBH, gotHolm := adjusted(t, BenjaminiHochberg, p...), adjusted(t, Holm, p...)
	for i := range p {
		require.InDelta(t, bh[i], gotBH[i], 5e-7)
		near(t, holm[i], gotHolm[i], nine)
	}
}

// NIST StRD univariate: NumAcc1 and NumAcc4.
func TestT15NISTNumAcc(t *testing.T) {
	x := []float64{10000001, 10000003, 10000002}
	m, sd := moments(x)
	require.Equal(t, 10000002.0, m)
	require.Equal(t, 1.0, sd)
	// Three values are too few for Serial; this is its lag-1 formula on them.
	near(t, -.5, ((x[0]-m)*(x[1]-m)+(x[1]-m)*(x[2]-m))/(sd*sd*2), nine)
	alternating := []float64{10000000.2}
	for range 500 {
		alternating = append(alternating, 10000000.1, 10000000.3)
	}
	near(t, -.999, neighbours(alternating, sample{values: alternating}.adjacent(), nil).Lag1, 1e-6) // certified by NIST

	x = []float64{10000000.2}
	for range 500 {
		x = append(x, 10000000.1, 10000000.3)
	}
	m, sd = moments(x)
	near(t, 10000000.2, m, 1e-15)
	// A float64 near 1e7 has steps of 1.9e-9, so the data as stored have a standard
	// deviation of .10000000056, not .1: 6e-9 is the data's, not the sum's.
	near(t, .1, sd, 1e-8)
	stored := math.Sqrt((500*sq(x[1]-x[0]) + 500*sq(x[2]-x[0])) / 1000)
	near(t, stored, sd, 1e-12)
}

func sq(x float64) float64 { return x * x }
