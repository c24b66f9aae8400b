package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A busier baseline where responses get cheaper when busy: load alone shows a
// cost of 6.4%, so a measured +3.0% is none.
func TestLoadTowardZeroIsNoFinding(t *testing.T) {
	slope := &LoadSlope{PercentPerPoint: -.4, SE: .05, DF: 20, From: 20, To: 60, LackOfFitP: 1}
	b, err := BoundFromLoad(slope, 47, 31)
	require.NoError(t, err)
	near(t, 6.4, *b.ShiftPercent, nine)
	near(t, .8, b.ShiftSE, nine)
	judge := func(e Effect, load *LoadBound) Verdict {
		return Judge(VerdictInput{Effect: e, Floor: &Floor{Percent: 1}, Load: load})
	}
	row := published(3, 2.3, 3.7)
	require.Equal(t, Finding, judge(row, nil).Kind)
	v := judge(row, &b)
	require.Equal(t, NotAFinding, v.Kind)
	require.Equal(t, ClauseLoad, v.Clause)
	require.Contains(t, v.Text, "-3.4%")
	// 10 − 6.4 = 3.6 ± 1.9 is left: a finding, and what was measured is its upper bound.
	v = judge(published(10, 9, 11), &b)
	require.Equal(t, UpperBound, v.Kind)
	require.Equal(t, Finding, v.Basis)
	// 7.6 − 6.4 is not resolved.
	require.Equal(t, ClauseLoad, judge(published(7.6, 6.9, 8.3), &b).Clause)
	// Load hides a part of a gain.
	v = judge(published(-3, -3.7, -2.3), &b)
	require.Equal(t, UpperBound, v.Kind)
	require.Equal(t, Finding, v.Basis)
	// What is left is resolved, and too small for one session.
	steady := &LoadSlope{PercentPerPoint: -.1, SE: .001, DF: 20, From: 20, To: 60, LackOfFitP: 1}
	small, err := BoundFromLoad(steady, 47, 31)
	require.NoError(t, err)
	require.Equal(t, ClauseLoad, judge(published(2.4, 2.2, 2.6), &small).Clause)
	over := VerdictInput{Effect: Effect{Value: 2.4, SE: .1, DF: 11, Sessions: 3, Between: true}, Floor: &Floor{Percent: 1}, Load: &small}
	require.Equal(t, UpperBound, Judge(over).Kind, "over several sessions it is believed")
	// A bound without its size.
	require.Equal(t, ClauseLoad, judge(row, &LoadBound{Direction: BoundUpper}).Clause)
	// What needs a second session is not worded as a bound.
	away, err := BoundFromLoad(slope, 31, 47)
	require.NoError(t, err)
	require.Equal(t, NeedsSecondSession, judge(published(1.5, 1.2, 1.8), &away).Kind)
}

// Sessions that a borrowed spread cannot explain make nothing, neither a
// difference nor its absence.
func TestSessionsThatDisagreeAreNoFinding(t *testing.T) {
	over := func(a, b float64) VerdictInput {
		e, w, err := AcrossSessions([]Effect{{Value: a, SE: .3, DF: 11, Sessions: 1}, {Value: b, SE: .3, DF: 11, Sessions: 1}}, &tau)
		require.NoError(t, err)
		return VerdictInput{Effect: e, Warnings: w, Floor: &Floor{Percent: 1}, EquivalenceBound: 1.5}
	}
	require.Equal(t, ClauseSessions, Judge(over(2.2, 1.8)).Clause)
	v := Judge(over(5, -1)) // mean +2 ± .6
	require.Equal(t, NotAFinding, v.Kind)
	require.Equal(t, ClauseDisagree, v.Clause)
	small := over(1.4, .2)
	require.Equal(t, ClauseNearSessions, Judge(small).Clause)
	small.Warnings = []Warning{{Code: SessionsDisagree}}
	require.Equal(t, ClauseDisagree, Judge(small).Clause, "nor near the floor")
	v = Judge(over(.2, -.2))
	require.Equal(t, NoChangeBiggerThan, v.Kind)
	v = Judge(over(3, -3))
	require.Equal(t, NoResolvedDifference, v.Kind)
	require.True(t, v.Equivalent.Holds)
	require.Contains(t, v.Notes, "equivalence is not claimed: the sessions disagree")
}

func TestFewRoundsInAnEarlierSession(t *testing.T) {
	e, w, err := AcrossSessions([]Effect{{Value: 2.5, SE: .2, DF: 3, Sessions: 1}, {Value: 2.6, SE: .2, DF: 11, Sessions: 1}}, &tau)
	require.NoError(t, err)
	v := Judge(VerdictInput{Effect: e, Warnings: w, Floor: &Floor{Percent: 1}})
	require.Equal(t, ClauseFewRounds, v.Clause)
}

// A caller who hands in another effect as the widened one is told, not believed.
func TestWidenedMustBeWidened(t *testing.T) {
	e := published(1.5, 1.2, 1.8)
	w, _, err := Widen(e, tau)
	require.NoError(t, err)
	judge := func(w Effect) Clause {
		return Judge(VerdictInput{Effect: e, Widened: &w, Floor: &Floor{Percent: 1}}).Clause
	}
	require.Equal(t, ClauseNearWidened, judge(w))
	plain, other, narrow, over := w, w, w, w
	plain.Between = false
	other.Value = 3
	narrow.SE = .9 * e.SE
	over.Sessions = 2
	for _, w := range []Effect{plain, other, narrow, over, e} {
		require.Equal(t, ClauseNotTestable, judge(w), "%+v", w)
	}
}

// The level is for what is shown. What Judge relies on is decided at 95%.
func TestLevelDoesNotSwitchOffChecks(t *testing.T) {
	darwin := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	for _, level := range []float64{.6, .9, .95, .99, .9999} {
		o := Options{Level: level}
		few, err := MeanOfRatios([]float64{1.10, 1.11, 1.12, 1.10, 1.11}, o)
		require.NoError(t, err)
		require.True(t, hasWarning(few.Warnings, TooFewRounds), "%v", level)
		e, err := MeanOfDifferences(darwin, o)
		require.NoError(t, err)
		require.Equal(t, level, e.Interval.Level)
		require.True(t, hasWarning(e.Warnings, SignFlipDisagrees), "%v", level)
		require.GreaterOrEqual(t, e.HodgesLehmann.Interval.Level, level)
		wild := []float64{1.02, 1.01, 1.03, 1.02, 1.01, 1.03, 1.02, 1.01, 1.03, 1.02, 1.01, .7}
		r, err := MeanOfRatios(wild, o)
		require.NoError(t, err)
		require.True(t, hasWarning(r.Warnings, RanksDisagree), "%v", level)
		require.False(t, r.HodgesLehmann.Agrees)
	}
}
