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
	white, err := PooledLag1(rows(0), LagOptions{Independent: true})
	require.NoError(t, err)
	require.True(t, white.Interval.Contains(0))
	require.Empty(t, white.Warnings)
	red, err := PooledLag1(rows(.5), LagOptions{Independent: true})
	require.NoError(t, err)
	require.True(t, hasWarning(red.Warnings, Autocorrelated))
	one := rows(0)[:1]
	single, err := PooledLag1(one, LagOptions{Independent: true})
	require.NoError(t, err)
	near(t, one[0].Serial.Lag1+1.0/12, single.Lag1, nine)
	_, err = PooledLag1(nil, LagOptions{Independent: true})
	refused(t, err, "4 rounds")
}

// Rows against one baseline share half of their variance: less is known than
// from as many rows of their own.
func TestPooledLag1OfRowsWithOneBaseline(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 10))
	const sessions = 400
	alarms := map[bool]int{}
	for range sessions {
		base := make([]float64, 12)
		normal(rng, base)
		var rows []Estimate
		for range 20 {
			d := make([]float64, 12)
			normal(rng, d)
			for i := range d {
				d[i] -= base[i]
			}
			rows = append(rows, Estimate{Units: 12, Serial: neighbours(d, sample{values: d}.adjacent(), nil)})
		}
		for _, independent := range []bool{false, true} {
			s, err := PooledLag1(rows, LagOptions{Independent: independent})
			require.NoError(t, err)
			if s.Interval.side(0) != 0 {
				alarms[independent]++
			}
		}
	}
	// Fixed seed. White noise: 5% is right, independence assumed gives many times that.
	require.Less(t, alarms[false], sessions*9/100)
	require.Greater(t, alarms[true], sessions*20/100)
}
