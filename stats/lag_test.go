package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPooledLag1(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	rows := func(rho float64) (e []Estimate) {
		for range 40 {
			d, prev := make([]float64, 12), rng.NormFloat64()
			for i := range d {
				prev = rho*prev + math.Sqrt(1-rho*rho)*rng.NormFloat64()
				d[i] = prev
			}
			e = append(e, differences(t, d))
		}
		return e
	}
	white, err := PooledLag1(rows(0))
	require.NoError(t, err)
	require.True(t, white.Interval.Contains(0))
	require.Empty(t, white.Warnings)
	red, err := PooledLag1(rows(.5))
	require.NoError(t, err)
	require.True(t, hasWarning(red.Warnings, Autocorrelated))
	one := rows(0)[:1]
	single, err := PooledLag1(one)
	require.NoError(t, err)
	near(t, one[0].Serial.Lag1+1.0/12, single.Lag1, nine)
	_, err = PooledLag1(nil)
	refused(t, err, "4 rounds")
}
