package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reports on families and looks; see reports_test.go.

func TestScylla288HolmMonotone(t *testing.T) {
	require.InDeltaSlice(t, []float64{.02, .02}, adjusted(t, Holm, .01, .011), 1e-15)
}

func TestGoatools281NothingSignificant(t *testing.T) {
	require.Equal(t, []float64{1, 1, 1, 1, 1}, adjusted(t, Holm, .25, 1, 1, 1, 1))
}

func TestStatsmodels764RejectAtAlpha(t *testing.T) {
	r, err := Holm([]float64{.05}, .05)
	require.NoError(t, err)
	require.True(t, r[0].Reject)
	r, err = Holm([]float64{.01, .02, .03, .04, .05}, .05)
	require.NoError(t, err)
	require.True(t, r[0].Reject)
	require.False(t, r[1].Reject)
}

func TestNanocompore41OneNaN(t *testing.T) {
	r, err := Holm([]float64{.01, math.NaN(), .03}, 0)
	require.NoError(t, err)
	near(t, .03, r[0].Adjusted, nine)
	near(t, .06, r[2].Adjusted, nine)
	require.True(t, r[1].Failed)
	require.Equal(t, 1.0, r[1].Adjusted)
	require.False(t, r[1].Reject)
}

// Forty rows of identical code: without a correction 87% of pages show a star.
func TestNode28867FortyRowsAA(t *testing.T) {
	near(t, .871, 1-math.Pow(.95, 40), 1e-3)
	rng := rand.New(rand.NewPCG(7, 7))
	const pages = 300
	bare, holm := 0, 0
	for range pages {
		var p []float64
		any := false
		for range 40 {
			var d [12]float64
			for i := range d {
				d[i] = rng.NormFloat64()
			}
			m, sd := moments(d[:])
			v := tTwoSided(m/(sd/math.Sqrt(12)), 11)
			p = append(p, v)
			any = any || v <= .05
		}
		if any {
			bare++
		}
		r, err := Holm(p, 0)
		require.NoError(t, err)
		for _, x := range r {
			if x.Reject {
				holm++
				break
			}
		}
	}
	// Fixed seed: these cannot fail by chance, only when the code changes.
	require.Greater(t, bare, pages*80/100)
	require.Less(t, holm, pages*9/100)
}

// rvlenth/emmeans#337 and easystats/modelbased#228: Holm has no matching
// interval, and both disagreements confuse readers. Both are given, named.
func TestEmmeans337HolmAndIntervalsDiffer(t *testing.T) {
	row := func(p float64) Effect { return Effect{Value: tUpper(p/2, 11), SE: 1, DF: 11, Sessions: 1} }
	ps := []float64{.001, .02, .04}
	h, err := Holm(ps, 0)
	require.NoError(t, err)
	require.True(t, h[1].Reject)
	i, err := Simultaneous(row(ps[1]), 3, 0)
	require.NoError(t, err)
	require.True(t, i.Contains(0), "rejected by Holm, and its simultaneous interval contains zero")
	require.Equal(t, "simultaneous (Bonferroni)", i.Name)
	h, err = Holm([]float64{.04, .04, .04}, 0)
	require.NoError(t, err)
	require.False(t, h[0].Reject)
	own, err := row(.04).Interval(0)
	require.NoError(t, err)
	require.False(t, own.Contains(0), "not rejected, and its own interval excludes zero")
	require.Equal(t, "t, this session only", own.Name)
}

// The other disagreement: an interval that excludes zero, and a family that does
// not call the row different.
func TestModelbased228IntervalExcludesZeroAndHolmDoesNot(t *testing.T) {
	ps := []float64{.02, .03, .04}
	rows, err := Holm(ps, 0)
	require.NoError(t, err)
	for i, p := range ps {
		e := Effect{Value: tUpper(p/2, 11), SE: 1, DF: 11, Sessions: 1}
		own, err := e.Interval(0)
		require.NoError(t, err)
		require.False(t, own.Contains(0))
		all, err := Simultaneous(e, len(ps), 0)
		require.NoError(t, err)
		require.True(t, all.Contains(0), "this is the interval that belongs to the family's answer")
		require.False(t, rows[i].Reject)
		v := Judge(VerdictInput{Effect: e, Floor: &Floor{Percent: .1}, Family: 3, AdjustedP: &rows[i].Adjusted})
		require.Equal(t, ClauseFamily, v.Clause, "and the verdict names it")
	}
}

// An infinite ratio fell out of the verdict, which then said "no regressions".
func TestMoqAnalyzers1268FailClosed(t *testing.T) {
	good := pairs([]float64{100, 101, 99, 100, 102, 98}, []float64{110, 111, 108, 111, 112, 108})
	rows, err := Report([]Row{{Name: "bad", Rounds: pairs(repeat(0, 6), repeat(5, 6))}, {Name: "good", Rounds: good}}, TableOptions{})
	require.NoError(t, err)
	require.Equal(t, Invalid, rows[0].Verdict.Kind)
	require.Contains(t, rows[0].Verdict.Text, "baseline")
	require.ErrorIs(t, rows[0].Err, ErrNotTestable, "the reason keeps its type")
	require.ErrorIs(t, rows[0].Verdict.Err, ErrNotTestable)
	require.NoError(t, rows[1].Err)
	require.True(t, rows[0].P.Failed)
	near(t, math.Min(1, 2*rows[1].P.P), rows[1].P.Adjusted, nine)
}

// Stopping when the interval looks good.
func TestReBench14StoppingOnTheInterval(t *testing.T) {
	l, err := PlanLooks([]int{12, 24}, 0, EqualSpending)
	require.NoError(t, err)
	r, err := l.Review([]Look{{Rounds: 6, P: .001}, {Rounds: 12, P: .03}, {Rounds: 24, P: .024}, {Rounds: 30, P: 1e-9}})
	require.NoError(t, err)
	require.Equal(t, 2, r.Unplanned)
	require.False(t, r.Looks[0].Reject, "an unplanned look never decides")
	require.False(t, r.Looks[1].Reject)
	require.True(t, r.Looks[2].Reject)
	require.True(t, hasWarning(r.Warnings, UnplannedLook))
}

func TestPlanThatCannotSurviveItsFamily(t *testing.T) {
	err := FamilyPlan{Rows: 15, Units: 8}.Check()
	var pe *PlanError
	require.True(t, errors.As(err, &pe))
	require.Equal(t, 10, pe.NeedUnits)
	require.InDelta(t, .0078, pe.SmallestP, .00005)
	require.NoError(t, FamilyPlan{Rows: 15, Units: 10}.Check())
	require.NoError(t, FamilyPlan{Rows: 102, Units: 12}.Check())
	require.Error(t, FamilyPlan{Rows: 103, Units: 12}.Check())
	require.Error(t, FamilyPlan{Rows: 1, Units: 5}.Check())
	require.NoError(t, FamilyPlan{Rows: 1, Units: 6}.Check())
	// Beyond 20 units the flips are drawn, and their number is the limit.
	require.NoError(t, FamilyPlan{Rows: 5000, Units: 24}.Check())
	require.True(t, errors.As(FamilyPlan{Rows: 5001, Units: 24}.Check(), &pe))
	require.Equal(t, 24, pe.NeedUnits)
	require.InDelta(t, 100_019, pe.NeedFlips, 1)
	require.NoError(t, FamilyPlan{Rows: 5001, Units: 24, Flips: pe.NeedFlips}.Check())
	require.Error(t, FamilyPlan{Rows: 5001, Units: 24, Flips: pe.NeedFlips - 2}.Check())
	require.Error(t, FamilyPlan{Rows: 100, Units: 24, Flips: 999}.Check())
	require.True(t, errors.As(FamilyPlan{Rows: 30_000, Units: 12}.Check(), &pe))
	require.NoError(t, FamilyPlan{Rows: 30_000, Units: pe.NeedUnits, Flips: pe.NeedFlips}.Check())
}
