package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReportKeepsFamily(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var rows []Row
	for range 5 {
		rows = append(rows, Row{Name: "row", Rounds: randomRounds(rng, 12, 0), Floor: &Floor{Percent: 1}})
	}
	rows[0].Rounds = randomRounds(rng, 12, .05)
	rows[1].Void = "gate"
	out, err := Report(rows, TableOptions{})
	require.NoError(t, err)
	require.Equal(t, Finding, out[0].Verdict.Kind)
	require.Equal(t, Invalid, out[1].Verdict.Kind)
	near(t, 5*out[0].P.P, out[0].P.Adjusted, nine)
	require.Equal(t, "this session only", out[0].PName)
	wide, err := Report(rows, TableOptions{Family: 50})
	require.NoError(t, err)
	near(t, 50*wide[0].P.P, wide[0].P.Adjusted, nine)
	planned, err := Report(rows, TableOptions{Plan: &FamilyPlan{Rows: 50, Units: 12}})
	require.NoError(t, err)
	require.Equal(t, wide, planned)
	for _, o := range []TableOptions{
		{Plan: &FamilyPlan{Rows: 50, Units: 8}}, // cannot survive its family
		{Plan: &FamilyPlan{Rows: 4, Units: 12}}, // fewer rows than there are
		{Plan: &FamilyPlan{Rows: 50, Units: 12}, Family: 40},
		{Plan: &FamilyPlan{Rows: 50, Units: 12}, Alpha: .01},
		{Plan: &FamilyPlan{Rows: 50, Units: 12, Flips: 999}},
	} {
		_, err = Report(rows, o)
		require.Error(t, err)
	}
	rows[0].Spread = &tau
	rows[0].Earlier = []Effect{{Value: 4.8, SE: .4, DF: 11, Sessions: 1}}
	out, err = Report(rows, TableOptions{})
	require.NoError(t, err)
	require.Equal(t, ClauseSessions, out[0].Verdict.Clause)
	require.Equal(t, "with between-session spread", out[0].PName)
	_, err = Report(rows, TableOptions{Family: 3})
	require.Error(t, err)
}

func randomRounds(rng *rand.Rand, n int, effect float64) []Round {
	r := make([]Round, n)
	for i := range r {
		r[i] = Round{Index: i, Order: 1 - 2*(i%2),
			Baseline: Arm{1e9 * (1 + .01*rng.NormFloat64()), 1e4},
			Variant:  Arm{1e9 * (1 + effect) * (1 + .01*rng.NormFloat64()), 1e4}}
	}
	return r
}

func BenchmarkReport1000RowsOf12Rounds(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]Row, 1000)
	for i := range rows {
		rows[i] = Row{Rounds: randomRounds(rng, 12, .02), Floor: &Floor{Percent: 1}, Spread: &tau, EquivalenceBound: 2}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Report(rows, TableOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
