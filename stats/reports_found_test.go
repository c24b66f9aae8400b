package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Found by reading and running other tools; no public report is known.

// x/perf benchmath, AssumeNormal: "~" for 100..105 against 200..205.
func TestXPerfAssumeNormalSeesADoubling(t *testing.T) {
	a, b := differences(t, []float64{100, 101, 102, 103, 104, 105}), differences(t, []float64{200, 201, 202, 203, 204, 205})
	c, err := Compare(a.Effect(), b.Effect(), 0)
	require.NoError(t, err)
	require.True(t, c.Resolved)
	// It printed 4.4e-16, which is two steps of 1−CDF near 1; the tail itself is:
	require.InDelta(t, 5.2907e-16, c.P, 1e-20)
}

// pa: 95% interval of an A/A ratio .002 wide.
func TestPaRatioIntervalNotFromSortedArrays(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var a, b []float64
	for range 20 {
		a, b = append(a, 1+.02*rng.NormFloat64()), append(b, 1+.02*rng.NormFloat64())
	}
	f, err := Fieller(a, b, Options{})
	require.NoError(t, err)
	require.Greater(t, 2*f.Interval.HalfWidth(), .015)
}

// Otava: population SD in the t test.
func TestOtavaSampleSD(t *testing.T) {
	a, b := differences(t, []float64{100, 101, 99}), differences(t, []float64{103, 102, 104})
	c, err := Compare(a.Effect(), b.Effect(), 0)
	require.NoError(t, err)
	require.InDelta(t, .0213, c.P, .00005)
	five, err := MeanOfDifferences(repeat(5, 3), Options{})
	refused(t, err, "zero variance")
	_, err = Compare(five.Effect(), b.Effect(), 0)
	refused(t, err, "standard error")
}

// tango: z ≥ 2.6 at any n, ±Inf at SD 0.
func TestTangoSmallSamplesUseT(t *testing.T) {
	require.Greater(t, tUpper(.005, 4), 4.6)
	_, err := FromRounds(pairs(repeat(1, 5), repeat(2, 5)), Options{})
	refused(t, err, "zero variance")
}

// criterion: "within noise threshold" for [+0.9%, +40%].
func TestCriterionWideIntervalIsNotNoise(t *testing.T) {
	df := 11.0
	e := Effect{Value: 20.45, SE: 19.55 / tUpper(.025, df), DF: df, Sessions: 1}
	v := Judge(VerdictInput{Effect: e, Floor: &Floor{Percent: 1}, EquivalenceBound: 1})
	require.NotEqual(t, NoChangeBiggerThan, v.Kind)
	require.False(t, v.Equivalent.Holds)
	require.Greater(t, *v.SmallestBound, 30.0)
}

// treeherder: t = Inf when both variances are zero.
func TestTreeherderZeroVariances(t *testing.T) {
	_, err := Compare(Effect{Value: 1, SE: 0, DF: 3}, Effect{Value: 2, SE: 0, DF: 3}, 0)
	refused(t, err, "standard error")
}
