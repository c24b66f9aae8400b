package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompareWays(t *testing.T) {
	a, b := Effect{Value: 2.3, SE: .3, DF: 11, Sessions: 1}, Effect{Value: 2.9, SE: .15, DF: 5, Sessions: 1}
	c, err := Compare(a, b, 0)
	require.NoError(t, err)
	near(t, .6, c.Difference, nine)
	near(t, math.Sqrt(.09+.0225), c.SE, nine)
	near(t, sq(.1125)/(sq(.09)/11+sq(.0225)/5), c.DF, nine)
	require.False(t, c.Resolved)
	require.True(t, c.SessionOnly)
	same, err := Compare(a, a, 0)
	require.NoError(t, err)
	near(t, 1, same.P, nine)
	wa, _, err := Widen(a, tau)
	require.NoError(t, err)
	wb, _, err := Widen(b, tau)
	require.NoError(t, err)
	c, err = Compare(wa, b, 0)
	require.NoError(t, err)
	require.True(t, c.SessionOnly, "one of two is not enough")
	c, err = Compare(wa, wb, 0)
	require.NoError(t, err)
	require.False(t, c.SessionOnly)
}
