package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// near holds got to want within a relative tolerance, 1e-9 unless the source
// prints fewer digits.
func near(t *testing.T, want, got, rel float64) {
	t.Helper()
	require.LessOrEqual(t, math.Abs(got-want), rel*math.Abs(want), "want %.15g, got %.15g", want, got)
}

const nine = 1e-9

func studies(y, v []float64) []Study {
	s := make([]Study, len(y))
	for i := range y {
		s[i] = Study{y[i], v[i]}
	}
	return s
}

func pool(t *testing.T, s []Study, e Estimator, i PoolInterval) Pooled {
	t.Helper()
	p, err := Pool(s, PoolOptions{Estimator: e, Interval: i})
	require.NoError(t, err)
	return p
}

// statsmodels results_meta, which stores metafor's output.
func TestT01MetaforStatsmodelsNineStudies(t *testing.T) {
	s := studies(
		[]float64{61.00, 61.40, 62.21, 62.30, 62.34, 62.60, 62.70, 62.84, 65.90},
		[]float64{.2025, 1.21, .09, .2025, .3844, .5625, .0676, .0225, 1.8225})
	fe := pool(t, s, FixedEffect, NormalInterval)
	near(t, 24.801897741835, fe.Q, nine)
	near(t, .00167935146, fe.QP, 3e-9) // printed to nine digits
	near(t, 62.5833970939982, fe.Mean, nine)
	near(t, .107845705498, fe.SE, nine)
	dl := pool(t, s, DerSimonianLaird, NormalInterval)
	near(t, .288049246973751, dl.Tau2, nine)
	near(t, 62.3901386044504, dl.Mean, nine)
	near(t, .245749668, dl.SE, 2e-9) // printed to nine digits
	near(t, 61.9084781, dl.Interval.Low, nine)
	near(t, 62.8717991, dl.Interval.High, nine)
	hk := pool(t, s, DerSimonianLaird, HartungKnapp)
	near(t, .294776057, hk.SE, 2e-9) // printed to nine digits
	near(t, 61.710383798, hk.Interval.Low, nine)
	near(t, 63.069893411, hk.Interval.High, nine)
	pm := pool(t, s, PauleMandel, NormalInterval)
	near(t, .705395309224248, pm.Tau2, nine)
	near(t, 62.4076199113286, pm.Mean, nine)
	near(t, .338030602684, pm.SE, nine)
	near(t, .294342867, pool(t, s, RestrictedML, "").Tau2, 2e-9) // printed to nine digits
	near(t, 1.07136854, pool(t, s, SidikJonkman, "").Tau2, 5e-9) // printed to nine digits
	near(t, .0688, pm.Tau2Interval.Low, 1e-3)
	near(t, 5.5916, pm.Tau2Interval.High, 1e-5)
}

// metafor's test of Viechtbauer (2005), example 1.
func TestT02MetaforViechtbauer2005Example1(t *testing.T) {
	s := studies(
		[]float64{-.581, .530, .771, 1.031, .553, .295, .078, .573, -.176, -.232},
		[]float64{.023, .052, .060, .115, .095, .203, .200, .211, .051, .040})
	for e, want := range map[Estimator]float64{DerSimonianLaird: .2768, RestrictedML: .2232, PauleMandel: .1920, SidikJonkman: .1992} {
		require.InDelta(t, want, pool(t, s, e, "").Tau2, .00005, "%s", e)
	}
	dl := pool(t, s, DerSimonianLaird, "")
	require.InDelta(t, 80.4447, dl.I2, .00005)
	require.InDelta(t, .250336, dl.Mean, 5e-7)
	require.InDelta(t, .243758, pool(t, s, RestrictedML, "").Mean, 5e-7)
}

// metafor's test of Viechtbauer (2005), example 2.
func TestT03MetaforViechtbauer2005Example2(t *testing.T) {
	s := studies(
		[]float64{.100, -.162, -.090, -.049, -.046, -.010, -.431, -.261, .134, .019, .175, .056, .045, .103, .121, -.482, .290, .342},
		[]float64{.016, .015, .050, .050, .032, .052, .036, .024, .034, .033, .031, .034, .039, .167, .134, .096, .016, .035})
	for e, want := range map[Estimator]float64{DerSimonianLaird: .0126, RestrictedML: .0157, PauleMandel: .0104, SidikJonkman: .0248} {
		require.InDelta(t, want, pool(t, s, e, "").Tau2, .00005, "%s", e)
	}
	require.InDelta(t, 23.457174, pool(t, s, FixedEffect, "").Q, 5e-7)
}

// metafor's test of DerSimonian and Kacker (2007), tables 3 and 4: CLASP, log odds ratios.
func TestT04MetaforDerSimonian2007CLASP(t *testing.T) {
	n1, n2 := []float64{156, 303, 565, 1570, 103, 4659}, []float64{74, 303, 477, 1565, 105, 4650}
	a, c := []float64{5, 5, 12, 69, 9, 313}, []float64{8, 17, 9, 94, 11, 352}
	var s []Study
	for i := range a {
		b, d := n1[i]-a[i], n2[i]-c[i]
		s = append(s, Study{math.Log(a[i] * d / (b * c[i])), 1/a[i] + 1/b + 1/c[i] + 1/d})
	}
	for _, w := range []struct {
		e           Estimator
		tau, mu, se float64
	}{
		{DerSimonianLaird, .2323, -.3240, .1540},
		{PauleMandel, .3681, -.3811, .2060},
		{RestrictedML, .1843, -.2980, .1343},
		{SidikJonkman, .4572, -.4079, .2386},
	} {
		p := pool(t, s, w.e, NormalInterval)
		require.InDelta(t, w.tau, math.Sqrt(p.Tau2), .00005, "%s", w.e)
		require.InDelta(t, w.mu, p.Mean, .00005, "%s", w.e)
		require.InDelta(t, w.se, p.SE, .00005, "%s", w.e)
	}
}

// wviechtb/metafor#36: two studies, z test without a warning.
func TestT05Metafor36TwoStudies(t *testing.T) {
	s := studies([]float64{1, 3}, []float64{.5, .5})
	p := pool(t, s, PauleMandel, HartungKnapp)
	near(t, 4, p.Q, nine)
	near(t, 1.5, p.Tau2, nine)
	near(t, 2, p.Mean, nine)
	near(t, 1, p.SE, nine)
	require.InDelta(t, -10.706, p.Interval.Low, .0005)
	require.InDelta(t, 14.706, p.Interval.High, .0005)
	require.InDelta(t, .295, p.P, .0005)
	z := pool(t, s, DerSimonianLaird, NormalInterval)
	require.InDelta(t, .04, z.Interval.Low, .0005)
	require.InDelta(t, 3.96, z.Interval.High, .0005)
	require.InDelta(t, .0455, z.P, .00005)
	require.True(t, hasWarning(z.Warnings, IntervalTooShort), "the z interval is never given without its warning")
	require.Empty(t, p.Warnings)
	// Hartung–Knapp without its floor, and the z interval, make no finding.
	plain := pool(t, s, PauleMandel, HartungKnapp)
	for _, p := range []Pooled{z, plain, pool(t, s, FixedEffect, "")} {
		require.False(t, p.Effect().Between)
		v := Judge(VerdictInput{Effect: p.Effect(), Floor: &Floor{Percent: .5}, Warnings: p.Warnings, EquivalenceBound: 10})
		require.Contains(t, []Kind{NotAFinding, NoResolvedDifference}, v.Kind)
	}
	v := Judge(VerdictInput{Effect: z.Effect(), Floor: &Floor{Percent: .5}, Warnings: z.Warnings})
	require.Equal(t, ClauseNoSpread, v.Clause)
	require.True(t, pool(t, s, DerSimonianLaird, "").Effect().Between)
}

// Two sessions that agree by chance: plain Hartung–Knapp collapses.
func TestT06HartungKnappCollapse(t *testing.T) {
	s := studies([]float64{1.50, 1.51}, []float64{.09, .09})
	fe := pool(t, s, FixedEffect, NormalInterval)
	require.Zero(t, fe.Tau2)
	require.InDelta(t, 1.089, fe.Interval.Low, .0005)
	require.InDelta(t, 1.921, fe.Interval.High, .0005)
	hk := pool(t, s, PauleMandel, HartungKnapp)
	require.InDelta(t, 1.441, hk.Interval.Low, .0005)
	require.InDelta(t, 1.569, hk.Interval.High, .0005)
	require.True(t, hasWarning(hk.Warnings, IntervalTooShort))
	floored := pool(t, s, "", "")
	require.Empty(t, floored.Warnings)
	require.GreaterOrEqual(t, floored.Interval.HalfWidth(), fe.Interval.HalfWidth())
}

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
