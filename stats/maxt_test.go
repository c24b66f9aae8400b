package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMaxT(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	rows := make([][]float64, 9)
	shared := make([]float64, 12)
	for i := range shared {
		shared[i] = rng.NormFloat64()
	}
	for j := range rows {
		for i := range 12 {
			rows[j] = append(rows[j], shared[i]+rng.NormFloat64())
		}
	}
	for i := range rows[0] {
		rows[0][i] += 4
	}
	m, err := MaxTFamily(rows, Options{})
	require.NoError(t, err)
	require.Greater(t, m.Critical, tUpper(.025, 11))
	require.LessOrEqual(t, m.Critical, tUpper(.05/18, 11))
	require.LessOrEqual(t, m.Rows[0].P, .01)
	require.GreaterOrEqual(t, m.Rows[0].P, math.Ldexp(1, -11))
	one, err := SignFlipTest(rows[3], Options{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, m.Rows[3].P, one.P, "adjusted is never below the row's own")
	// A single row is the plain sign-flip test.
	single, err := MaxTFamily(rows[3:4], Options{})
	require.NoError(t, err)
	near(t, one.P, single.Rows[0].P, nine)
	// A failed row keeps its place.
	rows[5] = nil
	with, err := MaxTFamily(rows, Options{})
	require.NoError(t, err)
	require.True(t, with.Rows[5].Failed)
	_, err = MaxTFamily([][]float64{{1, 2}, {1, 2, 3}}, Options{})
	refused(t, err, "same rounds")
	_, err = MaxTFamily([][]float64{{1, 2, 3, 4}}, Options{})
	refused(t, err, "plan more rounds")
}

// Intervals move with their row: the critical value must not know how far away
// from zero a row is.
func TestMaxTCriticalIsShiftInvariant(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	rows := [][]float64{make([]float64, 12), make([]float64, 12), make([]float64, 12)}
	for j := range rows {
		normal(rng, rows[j])
	}
	at, err := MaxTFamily(rows, Options{})
	require.NoError(t, err)
	for i := range rows[1] {
		rows[1][i] += 7
	}
	moved, err := MaxTFamily(rows, Options{})
	require.NoError(t, err)
	near(t, at.Critical, moved.Critical, nine)
	require.Less(t, moved.Rows[1].P, at.Rows[1].P)
}

func normal(rng *rand.Rand, x []float64) {
	for i := range x {
		x[i] = rng.NormFloat64()
	}
}
