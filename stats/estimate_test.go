package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// One wild round: seen by every check, removed by none.
func TestOneOutlier(t *testing.T) {
	r := []float64{.8, 1.2, .9, 1.1, 1.0, .7, 1.3, 1.0, .9, 1.1, 1.05, .95}
	e := differences(t, r)
	require.InDelta(t, 1.00, e.Mean, .0005)
	require.InDelta(t, .894, e.Interval.Low, .0005)
	require.InDelta(t, 1.106, e.Interval.High, .0005)
	r[5] = 9
	e = differences(t, r)
	require.InDelta(t, 1.692, e.Mean, .0005)
	require.InDelta(t, .227, e.Interval.Low, .0005)
	require.InDelta(t, 3.157, e.Interval.High, .0005)
	require.InDelta(t, 1.050, e.HodgesLehmann.Point, .0005)
	require.InDelta(t, .95, e.HodgesLehmann.Interval.Low, .0005)
	require.InDelta(t, 1.25, e.HodgesLehmann.Interval.High, .0005)
	require.InDelta(t, 1.03, e.LeaveOneOut.Low, .005)
	require.InDelta(t, 1.77, e.LeaveOneOut.High, .005)
	require.Equal(t, 5, e.LeaveOneOut.Most)
	require.InDelta(t, .00049, e.SignFlip.P, .000005)
	require.Equal(t, 12, e.N)
}

func TestRatioRoundsAndDrift(t *testing.T) {
	// A-B-B-A under additive drift, true +2%.
	a := Total(Arm{100, 1}, Arm{103, 1})
	b := Total(Arm{1.02 * 101, 1}, Arm{1.02 * 102, 1})
	r, err := Round{Baseline: a, Variant: b}.Ratio()
	require.NoError(t, err)
	near(t, 1.02, r, nine)
	// Swapped arms invert the log estimate, not the mean of ratios.
	e, err := MeanOfRatios([]float64{.5, 2}, Options{})
	require.NoError(t, err)
	require.Equal(t, 25.0, e.Effect().Value)
	near(t, 1, e.Log.Point, nine)
	// A slope is found and warned of.
	var d []float64
	for i := range 12 {
		d = append(d, 1+.01*float64(i)+.001*float64(i%2))
	}
	e, err = MeanOfRatios(d, Options{})
	require.NoError(t, err)
	require.True(t, hasWarning(e.Warnings, Drifts))
	require.True(t, hasWarning(e.Warnings, Autocorrelated))
	require.InDelta(t, .01, e.Drift.PerUnit, .0005)
	require.Nil(t, e.Serial.Wider, "not even two effective rounds are left")
	wave := differences(t, []float64{0, 1, 1.2, .1, -.9, -1, 0, .9, 1, .2, -1.1, -.9})
	require.Greater(t, wave.Serial.Lag1, .3)
	require.Greater(t, wave.Serial.Wider.HalfWidth(), wave.Interval.HalfWidth())
}

func TestRoundsOutOfOrderAreRefused(t *testing.T) {
	r := pairs([]float64{1, 2, 3}, []float64{1.1, 2.1, 3.3})
	r[2].Index = 1
	_, err := FromRounds(r, Options{})
	refused(t, err, "time order")
	for i := range r {
		r[i].Index = 0
	}
	_, err = FromRounds(r, Options{})
	require.NoError(t, err)
}

func TestFewRoundsAndWildRatios(t *testing.T) {
	e, err := MeanOfRatios([]float64{1.10, 1.11, 1.12, 1.10, 1.11}, Options{})
	require.NoError(t, err)
	require.True(t, hasWarning(e.Warnings, TooFewRounds))
	require.False(t, hasWarning(e.Warnings, RatioBias))
	require.Equal(t, ClauseFewRounds, Judge(VerdictInput{Effect: e.Effect(), Floor: &Floor{Percent: 1}, Warnings: e.Warnings}).Clause)
	e, err = MeanOfRatios([]float64{1.1, 1.0, 1.2, .9, 1.1, 1.15}, Options{})
	require.NoError(t, err)
	require.False(t, hasWarning(e.Warnings, TooFewRounds))
	require.True(t, hasWarning(e.Warnings, RatioBias))
}
