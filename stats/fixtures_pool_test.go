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
