package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBudgetQuestion(t *testing.T) {
	for _, c := range []struct {
		e    Effect
		want BudgetAnswer
	}{
		{Effect{Value: 1, SE: .3, DF: 11}, WithinBudget},
		{Effect{Value: 3, SE: .3, DF: 11}, OverBudget},
		{Effect{Value: 1.8, SE: .3, DF: 11}, BudgetUndecided},
		{Effect{Value: -5, SE: .3, DF: 11}, WithinBudget},
	} {
		b, err := AskBudget(c.e, 2)
		require.NoError(t, err)
		require.Equal(t, c.want, b.Answer)
		require.True(t, b.SessionOnly)
		c.e.Between = true
		wide, err := AskBudget(c.e, 2)
		require.NoError(t, err)
		require.False(t, wide.SessionOnly)
		require.Equal(t, c.want == WithinBudget, b.PWithin < .05)
		require.Equal(t, c.want == OverBudget, b.POver < .05)
	}
}

func TestEquivalenceOnTheLogScale(t *testing.T) {
	e, err := MeanOfRatios([]float64{1.03, .97, 1.02, .96, 1.04, .98, 1.01, .99}, Options{})
	require.NoError(t, err)
	q, err := e.Equivalence(10)
	require.NoError(t, err)
	require.True(t, q.Log)
	require.True(t, q.SessionOnly)
	require.True(t, q.Holds)
	q5, err := e.Equivalence(5)
	require.NoError(t, err)
	require.False(t, q5.Log)
	require.InDelta(t, q5.SmallestBound, q.SmallestBound, .2)
	// The p at exactly the smallest bound is alpha.
	at, err := Equivalence(e.Effect(), q5.SmallestBound*(1+1e-12))
	require.NoError(t, err)
	near(t, .05, at.P, 1e-6)
	require.True(t, at.SessionOnly)
	w, _, err := Widen(e.Effect(), tau)
	require.NoError(t, err)
	wide, err := Equivalence(w, 5)
	require.NoError(t, err)
	require.False(t, wide.SessionOnly)
}
