package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChangePointsInAHistory(t *testing.T) {
	h := []float64{1.0, 1.1, .9, 1.05, .95, 1.0, 3.0, 3.1, 2.9, 3.05, 2.95, 3.0, 2.0, 2.1, 1.9, 2.05, 1.95, 2.0}
	c, err := ChangePoints(h, ChangeOptions{})
	require.NoError(t, err)
	require.Len(t, c, 2)
	require.Equal(t, 6, c[0].Index)
	require.Equal(t, 12, c[1].Index)
	near(t, 1, c[0].Before, nine)
	near(t, 3, c[0].After, nine)
	near(t, 2, c[1].After, nine)
	require.GreaterOrEqual(t, c[0].P, 1e-4)
	c, err = ChangePoints([]float64{1, 1.2, .9, 1.1, 1.05, .95, 1.15, 1}, ChangeOptions{})
	require.NoError(t, err)
	require.Empty(t, c)
	_, err = ChangePoints(repeat(1, 20), ChangeOptions{})
	refused(t, err, "zero variance")
	_, err = ChangePoints([]float64{1, 2, 3, 4, 5}, ChangeOptions{})
	refused(t, err, "each side")
}

func TestChangePointErrorRateAndSmallestP(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	alarms, h := 0, make([]float64, 12)
	for i := range 60 {
		normal(rng, h)
		c, err := ChangePoints(h, ChangeOptions{Shuffles: 199, Seed: uint64(i)})
		require.NoError(t, err)
		if len(c) > 0 {
			alarms++
		}
	}
	require.LessOrEqual(t, alarms, 8, "3 expected of 60") // fixed seed
	c, err := ChangePoints([]float64{1, 1.1, .9, 1, 1.2, .8, 99, 98, 97, 99, 98, 99, 98, 97, 98, 99}, ChangeOptions{Shuffles: 99})
	require.NoError(t, err)
	require.NotEmpty(t, c)
	near(t, 1.0/100, c[0].P, nine)
}
