package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// published makes an effect from a printed "value [low, high]" of a row with 12
// rounds, whose interval is t with 11 degrees of freedom.
func published(value, low, high float64) Effect {
	return Effect{Value: value, SE: (high - low) / 2 / tUpper(.025, 11), DF: 11, Sessions: 1}
}

// tau is the between-session spread of the published price list's rig, taken as
// known because its widened intervals use 1.96.
var tau = Spread{Percent: .34, Known: true}

// The five pairs that the price list prints in both forms, to its own rounding.
// It took 1.96; Satterthwaite's quantile is 1.98 for the narrow rows and 2.08 for
// the two wide ones, whose own error has most of the weight.
func TestPriceListWidenedIntervals(t *testing.T) {
	for _, c := range []struct{ low, high, wlow, whigh float64 }{
		{.9, 2.2, .6, 2.4}, {.2, 2.6, .1, 2.7}, {.5, 3.0, .4, 3.1}, {.1, 1.2, -.2, 1.5}, {-.4, .6, -.7, .9},
	} {
		e := published((c.low+c.high)/2, c.low, c.high)
		w, _, err := Widen(e, tau)
		require.NoError(t, err)
		require.Greater(t, tUpper(.025, w.DF), 1.975)
		require.Less(t, tUpper(.025, w.DF), 2.09)
		i := w.interval(.95)
		require.InDelta(t, c.wlow, i.Low, .101, "%+v", c) // both ends and the centre are rounded to .1
		require.InDelta(t, c.whigh, i.High, .101, "%+v", c)
	}
}

// Satterthwaite's degrees of freedom and quantile for se .295 and τ .34.
func TestWidenedQuantile(t *testing.T) {
	for _, c := range []struct{ nu, df, q float64 }{{3, 8.0, 2.31}, {5, 12.2, 2.18}, {9, 18.9, 2.09}, {30, 36, 2.03}} {
		w, _, err := Widen(Effect{Value: 1, SE: .295, DF: 11, Sessions: 1}, Spread{Percent: .34, DF: c.nu})
		require.NoError(t, err)
		require.InDelta(t, c.df, w.DF, .06*c.df/8)
		require.InDelta(t, c.q, tUpper(.025, w.DF), .006)
	}
}

func judged(t *testing.T, e Effect, floor float64, change func(*VerdictInput)) Verdict {
	t.Helper()
	w, _, err := Widen(e, tau)
	require.NoError(t, err)
	in := VerdictInput{Effect: e, Widened: &w, Floor: &Floor{Percent: floor}}
	if change != nil {
		change(&in)
	}
	return Judge(in)
}

// The rows of the published price list, with the floor of its rig given.
func TestPriceListVerdicts(t *testing.T) {
	// Retries: printed "near the floor", widened [.6, 2.4].
	v := judged(t, published(1.5, .9, 2.2), 1.2, nil)
	require.Equal(t, NearFloor, v.Kind)
	require.Equal(t, ClauseNearWidened, v.Clause)

	// Releases, 4 KB: printed "needs a second session" because that session's
	// floor reached 1.7%. The mechanical rule is stricter: 1.2 is under the floor.
	v = judged(t, published(1.2, .55, 1.85), 1.7, nil)
	require.Equal(t, NotAFinding, v.Kind)
	require.Equal(t, ClauseUnderFloor, v.Clause)
	require.Equal(t, 1.7, v.NotBelow)
	require.Equal(t, 3.4, v.SecondUpTo)

	// Releases, 16 KB, floor .4: held back in print by wording alone. The widened
	// interval [.54, 2.06] excludes zero, which is the rule's other way through.
	v = judged(t, published(1.3, .9, 1.7), .4, nil)
	require.Equal(t, NearFloor, v.Kind)
	// Without a spread there is no widened interval, and the printed verdict comes out.
	v = judged(t, published(1.3, .9, 1.7), .4, func(in *VerdictInput) { in.Widened = nil })
	require.Equal(t, NeedsSecondSession, v.Kind)
	require.Equal(t, ClauseSecond, v.Clause)

	// tcmalloc, header row: widened it still excludes zero; the family stops it.
	p := .061
	v = judged(t, published(1.6, .3, 2.9), 1.2, func(in *VerdictInput) { in.Family, in.AdjustedP = 15, &p })
	require.Equal(t, NoResolvedDifference, v.Kind)
	require.Equal(t, ClauseFamily, v.Clause)

	// Keep-alive ECDSA −.7 [−1.5, .2]: what it can claim, with and without spread.
	e := published(-.65, -1.5, .2)
	v = Judge(VerdictInput{Effect: e, Floor: &Floor{Percent: 1.2}})
	require.Equal(t, NoResolvedDifference, v.Kind)
	require.InDelta(t, 1.34, *v.SmallestBound, .01)
	w, _, err := Widen(e, tau)
	require.NoError(t, err)
	q, err := Equivalence(w, 2)
	require.NoError(t, err)
	require.InDelta(t, 1.52, q.SmallestBound, .005)

	// Busy share 31% against 47%: a bound by load, not by statistics.
	slope := &LoadSlope{PercentPerPoint: -.4, SE: .05, DF: 20, From: 20, To: 60, LackOfFitP: 1}
	b, err := BoundFromLoad(slope, 31, 47)
	require.NoError(t, err)
	v = judged(t, published(50, 48, 52), 1.2, func(in *VerdictInput) { in.Load = &b })
	require.Equal(t, LowerBound, v.Kind)
	require.Equal(t, Finding, v.Basis)
	require.Equal(t, ClauseLarge, v.Clause)
}

func TestEveryClause(t *testing.T) {
	p := .01
	big, small := published(5, 4.5, 5.5), published(.5, .3, .7)
	for _, c := range []struct {
		name   string
		in     VerdictInput
		kind   Kind
		clause Clause
	}{
		{"zero value", VerdictInput{}, Invalid, ClauseNotTestable},
		{"void beats all", VerdictInput{Void: "gate rate failed", SmokeRun: true, Mechanism: "x"}, Invalid, ClauseVoid},
		{"smoke", VerdictInput{Effect: big, SmokeRun: true, Mechanism: "x"}, Smoke, ClauseSmoke},
		{"mechanism", VerdictInput{Effect: big, Mechanism: "no idle states"}, MechanismShown, ClauseMechanism},
		{"no floor", VerdictInput{Effect: big}, NotAFinding, ClauseNoFloor},
		{"bad floor", VerdictInput{Effect: big, Floor: &Floor{}}, Invalid, ClauseNotTestable},
		{"large", VerdictInput{Effect: big, Floor: &Floor{Percent: 1}}, Finding, ClauseLargeSession},
		{"small", VerdictInput{Effect: small, Floor: &Floor{Percent: .1}}, NotAFinding, ClauseUnderFloor},
		{"small and equivalent", VerdictInput{Effect: small, Floor: &Floor{Percent: .1}, EquivalenceBound: 1}, NoChangeBiggerThan, ClauseEquivalent},
		{"equivalent below the floor", VerdictInput{Effect: small, Floor: &Floor{Percent: 1.5}, EquivalenceBound: 1}, NotAFinding, ClauseUnderFloor},
		{"equivalent", VerdictInput{Effect: published(0, -.4, .4), Floor: &Floor{Percent: .9}, EquivalenceBound: 1}, NoChangeBiggerThan, ClauseEquivalent},
		{"zero", VerdictInput{Effect: published(0, -1.4, 1.4), Floor: &Floor{Percent: .9}, EquivalenceBound: 1}, NoResolvedDifference, ClauseContainsZero},
		{"family p missing", VerdictInput{Effect: big, Floor: &Floor{Percent: 1}, Family: 9}, NotAFinding, ClauseFamilyMissing},
		{"family p there", VerdictInput{Effect: big, Floor: &Floor{Percent: 1}, Family: 9, AdjustedP: &p}, Finding, ClauseLargeSession},
		{"few blocks", VerdictInput{Effect: big, Floor: &Floor{Percent: 1}, Warnings: []Warning{{Code: TooFewBlocks}}}, NotAFinding, ClauseFewBlocks},
		{"few rounds", VerdictInput{Effect: big, Floor: &Floor{Percent: 1}, Warnings: []Warning{{Code: TooFewRounds}}}, NotAFinding, ClauseFewRounds},
		{"few rounds, equivalent", VerdictInput{Effect: published(0, -.4, .4), Floor: &Floor{Percent: .9}, EquivalenceBound: 1, Warnings: []Warning{{Code: TooFewRounds}}}, NoResolvedDifference, ClauseContainsZero},
		{"checks", VerdictInput{Effect: big, Floor: &Floor{Percent: 1}, Warnings: []Warning{{Code: SkewedRatios}}}, NeedsSecondSession, ClauseChecks},
		{"widened contains zero", VerdictInput{Effect: big, Floor: &Floor{Percent: 1}, Widened: &Effect{Value: 5, SE: 4, DF: 9, Sessions: 1, Between: true}}, NeedsSecondSession, ClauseWidened},
		{"several", VerdictInput{Effect: Effect{Value: 1.4, SE: .2, DF: 9, Sessions: 3, Between: true}, Floor: &Floor{Percent: 1.2}}, Finding, ClauseSessions},
		{"several, no spread", VerdictInput{Effect: Effect{Value: 5, SE: .2, DF: 9, Sessions: 3}, Floor: &Floor{Percent: 1.2}}, NotAFinding, ClauseNoSpread},
		{"widened as effect", VerdictInput{Effect: Effect{Value: 1.5, SE: .2, DF: 9, Sessions: 1, Between: true}, Floor: &Floor{Percent: 1.2}}, NearFloor, ClauseNearWidened},
		{"several, small", VerdictInput{Effect: Effect{Value: .8, SE: .2, DF: 9, Sessions: 3, Between: true}, Floor: &Floor{Percent: .6}}, NearFloor, ClauseNearSessions},
		{"several, under the floor", VerdictInput{Effect: Effect{Value: .8, SE: .2, DF: 9, Sessions: 3, Between: true}, Floor: &Floor{Percent: 1.2}}, NotAFinding, ClauseUnderSessions},
		{"unplanned look", VerdictInput{Effect: big, Floor: &Floor{Percent: 1}, Look: &Look{Rounds: 7}}, NotAFinding, ClauseLook},
	} {
		v := Judge(c.in)
		require.Equal(t, c.kind, v.Kind, c.name)
		require.Equal(t, c.clause, v.Clause, c.name)
		require.Equal(t, c.kind, v.Basis, c.name)
		require.NotEmpty(t, v.Text, c.name)
	}
}

func TestVerdictLimitsAreInclusive(t *testing.T) {
	at := func(x float64) Clause {
		return Judge(VerdictInput{Effect: Effect{Value: x, SE: .05, DF: 11, Sessions: 1}, Floor: &Floor{Percent: 1.5}}).Clause
	}
	require.Equal(t, ClauseUnderFloor, at(1.49))
	require.Equal(t, ClauseSecond, at(1.5), "under means under")
	require.Equal(t, ClauseSecond, at(3), "up to includes the limit")
	require.Equal(t, ClauseLargeSession, at(3.01))
	require.Equal(t, ClauseLargeSession, at(-3.01), "a gain is judged like a cost")
}

func TestVerdictNotes(t *testing.T) {
	e := published(5, 4.5, 5.5)
	v := Judge(VerdictInput{Effect: e, Floor: &Floor{Percent: 1}, Work: true})
	require.Contains(t, v.Notes, "instructions are work, not price")
	require.Contains(t, v.Notes, "this session only: the between-session spread is not in the interval or the p")
	unknown, err := BoundFromLoad(nil, 30, 50)
	require.NoError(t, err)
	v = Judge(VerdictInput{Effect: e, Floor: &Floor{Percent: 1}, Load: &unknown})
	require.Equal(t, Finding, v.Kind, "no slope, no wording")
	require.Contains(t, v.Notes, unknown.Text)
	v = Judge(VerdictInput{Effect: published(0, -.4, .4), EquivalenceBound: 1, Load: &unknown})
	require.Equal(t, NoResolvedDifference, v.Kind, "what load did to the effect is unknown")
	v = Judge(VerdictInput{Effect: Effect{Value: .1, SE: .1, DF: 9, Sessions: 3}, EquivalenceBound: 1})
	require.Equal(t, NoResolvedDifference, v.Kind)
}
