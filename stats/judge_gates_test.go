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
	small.Floor = &Floor{Percent: .5}
	require.Equal(t, ClauseNearSessions, Judge(small).Clause)
	small.Warnings = []Warning{{Code: SessionsDisagree}}
	require.Equal(t, ClauseDisagree, Judge(small).Clause, "nor near the floor")
	v = Judge(over(.2, -.2))
	require.Equal(t, NoChangeBiggerThan, v.Kind)
	v = Judge(over(3, -3))
	require.Equal(t, NoResolvedDifference, v.Kind)
	require.True(t, v.Equivalent.Holds)
	require.Contains(t, v.Notes, "equivalence within ±1.5% is not claimed: the sessions disagree")
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

// Over several sessions too, what is under the floor is told from noise only if
// A/A itself is known to average less than it.
func TestUnderTheFloorOverSessions(t *testing.T) {
	in := VerdictInput{Effect: Effect{Value: .8, SE: .1, DF: 9, Sessions: 3, Between: true}, Floor: &Floor{Percent: 1.2}}
	require.Equal(t, ClauseUnderSessions, Judge(in).Clause)
	in.Floor.Percent = .7
	require.Equal(t, ClauseNearSessions, Judge(in).Clause)
	in.Floor.Percent = 1.2
	aa := func(v ...float64) *Bias {
		var e []Effect
		for _, x := range v {
			e = append(e, Effect{Value: x, SE: .1, DF: 11, Sessions: 1})
		}
		b, err := PooledBias(e, .5)
		require.NoError(t, err)
		return &b
	}
	in.Bias = aa(.1, -.1, .05, -.1, .1, -.05)
	require.True(t, in.Bias.Pass.Holds)
	require.Less(t, in.Bias.ExcludedAbove, .8)
	require.Equal(t, ClauseNearSessions, Judge(in).Clause, "a bias of that size is excluded")
	in.Bias = aa(.9, -.9)
	require.Greater(t, in.Bias.ExcludedAbove, .8)
	v := Judge(in)
	require.Equal(t, ClauseUnderSessions, v.Clause, "two sessions exclude nothing")
	require.Contains(t, v.Notes[len(v.Notes)-1], "A/A does not exclude a bias of ±0.5%")
}

// A/A that does not average to zero counts like a shift by load.
func TestBiasReachesTheVerdict(t *testing.T) {
	var aa []Effect
	for _, x := range []float64{1.9, 2.1, 2, 2.05, 1.95, 2} {
		aa = append(aa, Effect{Value: x, SE: .1, DF: 11, Sessions: 1})
	}
	bias, err := PooledBias(aa, .5)
	require.NoError(t, err)
	judge := func(value float64, sessions int) Verdict {
		return Judge(VerdictInput{Effect: Effect{Value: value, SE: .15, DF: 11, Sessions: sessions, Between: true}, Floor: &Floor{Percent: .5}, Bias: &bias})
	}
	require.Equal(t, ClauseBias, judge(2.2, 1).Clause, "0.2 is left")
	require.Equal(t, ClauseBias, judge(2.9, 1).Clause, "0.9 is resolved, and too small for one session")
	require.Equal(t, ClauseSessions, judge(2.9, 3).Clause)
	require.Equal(t, ClauseLarge, judge(5, 1).Clause)
	require.Equal(t, ClauseLarge, judge(-3, 1).Clause, "the bias is against it")
	require.Contains(t, judge(5, 1).Notes, "A/A averages "+percent(bias.Mean, bias.Interval)+", which is not zero")
	bad := Bias{Mean: 1, SE: .1, DF: 3}
	require.Equal(t, ClauseNotTestable, Judge(VerdictInput{Effect: published(5, 4, 6), Floor: &Floor{Percent: 1}, Bias: &bad}).Clause)
}

// A look decides at what it may spend, and an unplanned one decides nothing.
func TestLooksReachTheVerdict(t *testing.T) {
	plan, err := PlanLooks([]int{12, 24}, 0, "")
	require.NoError(t, err)
	df := 11.0
	at := func(p float64, look *Look) Verdict {
		e := Effect{Value: 3, SE: 3 / tUpper(p/2, df), DF: df, Sessions: 1}
		return Judge(VerdictInput{Effect: e, Floor: &Floor{Percent: 1}, Family: 1, Look: look})
	}
	twelve, ten := plan.Look(12), plan.Look(10)
	require.Equal(t, ClauseLargeSession, at(.03, nil).Clause)
	v := at(.03, &twelve)
	require.Equal(t, ClauseContainsZero, v.Clause, "p .03 is above .025")
	near(t, .975, v.Level, nine)
	require.Contains(t, v.Text, "at 97.5%")
	require.Contains(t, v.Notes, "a planned look after 12 rounds, at 0.025")
	require.Equal(t, ClauseLargeSession, at(.02, &twelve).Clause)
	v = at(.0001, &ten)
	require.Equal(t, NotAFinding, v.Kind)
	require.Equal(t, ClauseLook, v.Clause)
	// The family is held to the look's alpha too.
	p := .03
	in := VerdictInput{Effect: published(5, 4.5, 5.5), Floor: &Floor{Percent: 1}, Family: 4, AdjustedP: &p}
	require.Equal(t, Finding, Judge(in).Kind)
	in.Look = &twelve
	require.Equal(t, ClauseFamily, Judge(in).Clause)
	// Equivalence is claimed at a look's own alpha, and never at an unplanned one.
	same := VerdictInput{Effect: published(0, -.4, .4), EquivalenceBound: 1, Look: &twelve}
	v = Judge(same)
	require.Equal(t, NoChangeBiggerThan, v.Kind)
	require.Equal(t, .025, v.Equivalent.Alpha)
	same.Look = &ten
	require.Equal(t, NoResolvedDifference, Judge(same).Kind)
	// A look that may spend more than the family is no look of its plan.
	in.Alpha = .01
	require.Equal(t, ClauseNotTestable, Judge(in).Clause)
}

// What was declared, and what was not, is said.
func TestFamilyNotDeclared(t *testing.T) {
	in := VerdictInput{Effect: published(5, 4.5, 5.5), Floor: &Floor{Percent: 1}}
	const note = "no family was declared: the p is this row's alone, and among many such rows some are different by chance"
	require.Contains(t, Judge(in).Notes, note)
	in.Family = 1
	require.NotContains(t, Judge(in).Notes, note)
	in.Family = -1
	v := Judge(in)
	require.Equal(t, ClauseNotTestable, v.Clause)
	var oe *OptionError
	require.ErrorAs(t, v.Err, &oe)
	in.Family, in.Alpha = 1, .2
	require.ErrorAs(t, Judge(in).Err, &oe, "no verdict errs in more than 5%")
	in.Alpha = .001
	require.Equal(t, Finding, Judge(in).Kind)
	in.Effect = published(3, .5, 5.5)
	require.Equal(t, ClauseContainsZero, Judge(in).Clause, "alone too, alpha is the interval's")
	p := .2
	in = VerdictInput{Effect: published(5, 4.5, 5.5), Floor: &Floor{Percent: 1}, AdjustedP: &p}
	require.Equal(t, ClauseFamily, Judge(in).Clause, "a p that was given is not passed over")
}

// One session, spread unknown: a finding of this session, by its own clause.
func TestLargeDifferenceOfOneSessionSaysSo(t *testing.T) {
	in := VerdictInput{Effect: published(5, 4.5, 5.5), Floor: &Floor{Percent: 1}}
	v := Judge(in)
	require.Equal(t, Finding, v.Kind)
	require.Equal(t, ClauseLargeSession, v.Clause)
	require.True(t, v.SessionOnly)
	require.Contains(t, v.Text, "this session only")
	w, _, err := Widen(in.Effect, tau)
	require.NoError(t, err)
	in.Widened = &w
	v = Judge(in)
	require.Equal(t, ClauseLarge, v.Clause)
	require.False(t, v.SessionOnly)
	require.Contains(t, v.Text, "widened")
}
