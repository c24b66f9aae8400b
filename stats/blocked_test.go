package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBlockedByHand(t *testing.T) {
	r := []float64{1.00, 1.02, 1.02, 1.04, 1.04, 1.06, 1.00, 1.02, 1.02, 1.04, 1.04, 1.06}
	block := []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}
	e, err := Blocked(r, block, Options{})
	require.NoError(t, err)
	require.Equal(t, 12, e.N)
	require.Equal(t, 6, e.Units)
	near(t, 1.03, e.Mean, nine)
	require.Equal(t, 5.0, e.DF)
	// Block means 1.01 1.03 1.05 twice: variance .0016/5·... = 4·.0004/5.
	near(t, math.Sqrt(.0016/5), e.SD, nine)
	near(t, math.Sqrt(.0002), *e.Blocks.WithinSD, nine) // six times (.0001+.0001)/6
	near(t, math.Sqrt(.0016/5-.0001), *e.Blocks.RestartSD, nine)
	require.True(t, e.Blocks.RestartInterval.Contains(*e.Blocks.RestartSD))
	require.Empty(t, e.Blocks.Note)
	require.Equal(t, "t over blocks", e.Interval.Name)

	// One round per block: the interval stands, the component does not.
	e, err = Blocked(r[:6], []int{0, 1, 2, 3, 4, 5}, Options{})
	require.NoError(t, err)
	require.Nil(t, e.Blocks.RestartSD)
	require.True(t, hasWarning(e.Warnings, ComponentUnknown))
	// Restarts that add nothing: zero with a note and an upper end.
	e, err = Blocked([]float64{1, 1.02, 1.001, 1.02, 1, 1.021, 1, 1.02, 1, 1.019, 1, 1.02}, block, Options{})
	require.NoError(t, err)
	require.Zero(t, *e.Blocks.RestartSD)
	require.NotEmpty(t, e.Blocks.Note)
	require.GreaterOrEqual(t, e.Blocks.RestartInterval.High, 0.0)

	_, err = Blocked(r, make([]int, 12), Options{})
	refused(t, err, "restart the arms")
	_, err = Blocked(r, block[:3], Options{})
	refused(t, err, "block numbers")
	e, err = Blocked(r[:10], block[:10], Options{})
	require.NoError(t, err)
	require.True(t, hasWarning(e.Warnings, TooFewBlocks))

	var rounds []Round
	for i, v := range r {
		rounds = append(rounds, Round{Index: i, Block: block[i], Order: 1 - 2*(block[i]%2), Baseline: Arm{100, 1}, Variant: Arm{100 * v, 1}})
	}
	f, err := FromRounds(rounds, Options{})
	require.NoError(t, err)
	near(t, 1.03, f.Mean, nine)
	require.NotNil(t, f.Order, "the start order is swapped from block to block")
	require.NotNil(t, f.RatioOfMeans)
	for i := range rounds {
		rounds[i].Block = 0
	}
	f, err = FromRounds(rounds, Options{})
	require.NoError(t, err)
	require.Nil(t, f.Blocks, "no blocks, every round for itself")
	for i := range rounds {
		rounds[i].Block = 3
	}
	_, err = FromRounds(rounds, Options{})
	refused(t, err, "all rounds are in one block") // one start behind all of them
}
