package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLooks(t *testing.T) {
	l, err := PlanLooks([]int{15, 30, 60}, .05, LateSpending)
	require.NoError(t, err)
	near(t, .05, l.Alphas[0]+l.Alphas[1]+l.Alphas[2], nine)
	// 2−2Φ(1.96/√.25) = .0000887, then at .5: .005575.
	near(t, .0000887, l.Alphas[0], 2e-3)
	near(t, .0055746-.0000887, l.Alphas[1], 2e-3)
	// A look that can never reject is refused when it is planned.
	_, err = PlanLooks([]int{6, 12, 24}, .05, LateSpending)
	var pe *PlanError
	require.ErrorAs(t, err, &pe)
	require.Equal(t, 1, pe.Look)
	require.Equal(t, 6, pe.Units)
	require.Equal(t, 15, pe.NeedUnits)
	near(t, .03125, pe.SmallestP, nine)
	require.Contains(t, err.Error(), "look 1: with 6 units")
	_, err = PlanLooks([]int{6, 12}, 0, EqualSpending)
	require.ErrorAs(t, err, &pe, "2/2^6 is above .025")
	_, err = PlanLooks([]int{7, 12}, 0, EqualSpending)
	require.NoError(t, err)
	_, err = PlanLooks([]int{12, 24}, .2, "")
	require.Error(t, err, "alpha is at most 5%")
	_, err = PlanLooks([]int{12, 12}, 0, "")
	require.Error(t, err)
	var oe *OptionError
	require.ErrorAs(t, err, &oe)
}

func TestSecondLookAtTheSameRoundsIsUnplanned(t *testing.T) {
	l, err := PlanLooks([]int{12, 24}, 0, "")
	require.NoError(t, err)
	r, err := l.Review([]Look{{Rounds: 12, P: .9}, {Rounds: 12, P: .001}})
	require.NoError(t, err)
	require.Equal(t, 1, r.Unplanned)
	require.False(t, r.Reject)
	near(t, .025, r.Spent, nine)
}

// A family that is looked at more than once needs every look to be able to reject.
func TestFamilyPlanKnowsItsLooks(t *testing.T) {
	looks, err := PlanLooks([]int{12, 24}, 0, "")
	require.NoError(t, err)
	require.NoError(t, FamilyPlan{Rows: 51, Looks: &looks}.Check())
	var pe *PlanError
	require.ErrorAs(t, FamilyPlan{Rows: 52, Units: 24, Looks: &looks}.Check(), &pe)
	require.Equal(t, 1, pe.Look)
	require.Equal(t, 13, pe.NeedUnits)
	require.Error(t, FamilyPlan{Rows: 5, Units: 12, Looks: &looks}.Check(), "not the plan's end")
	require.Error(t, FamilyPlan{Rows: 5, Alpha: .01, Looks: &looks}.Check(), "more than the family has")
	require.Error(t, FamilyPlan{Rows: 5, Looks: &Looks{}}.Check())
	require.Error(t, FamilyPlan{Rows: 5, Looks: &Looks{At: []int{12}, Alphas: []float64{.9}}}.Check())

	rng := rand.New(rand.NewPCG(4, 4))
	row := func(n int) Row {
		return Row{Rounds: randomRounds(rng, n, .05), Floor: &Floor{Percent: 1}}
	}
	o := TableOptions{Plan: &FamilyPlan{Rows: 3, Looks: &looks}}
	out, err := Report([]Row{row(12), row(24), row(18)}, o)
	require.NoError(t, err)
	for i := range 2 {
		require.Equal(t, Finding, out[i].Verdict.Kind)
		require.True(t, out[i].Look.Reject)
		near(t, .975, out[i].Simultaneous.Level, nine)
	}
	require.Equal(t, ClauseLook, out[2].Verdict.Clause)
	require.False(t, out[2].Look.Planned)
	require.False(t, out[2].P.Reject)
	// More than was planned is a look of its own; less is what gates left.
	out, err = Report([]Row{row(11), row(12), row(13)}, TableOptions{Plan: &FamilyPlan{Rows: 3, Units: 12}})
	require.NoError(t, err)
	require.Equal(t, Finding, out[0].Verdict.Kind)
	require.Equal(t, Finding, out[1].Verdict.Kind)
	require.Equal(t, ClauseLook, out[2].Verdict.Clause)
}
