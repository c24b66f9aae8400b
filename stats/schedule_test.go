package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWilliamsDesigns(t *testing.T) {
	w, err := Williams(3)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}, w)
	w, err = Williams(4)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1, 3, 2}, {1, 2, 0, 3}, {2, 3, 1, 0}, {3, 0, 2, 1}}, w)
	for k := 2; k <= 12; k++ {
		w, err := Williams(k)
		require.NoError(t, err)
		b, err := CheckBalance(w)
		require.NoError(t, err)
		require.True(t, b.Balanced(), "%d arms", k)
		require.Len(t, w, k*(1+k%2))
	}
	cyclic, err := CheckBalance([][]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}})
	require.NoError(t, err)
	require.True(t, cyclic.Places)
	require.False(t, cyclic.Neighbours)
	b, err := CheckBalance(ABBA(12))
	require.NoError(t, err)
	require.True(t, b.Balanced())
	require.True(t, b.Linear)
	b, err = CheckBalance(ABBA(3))
	require.NoError(t, err)
	require.False(t, b.Places)
	b, err = CheckBalance([][]int{{0, 1, 0, 1}})
	require.NoError(t, err)
	require.False(t, b.Linear)
}
