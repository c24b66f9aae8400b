package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOrderTermUnbalanced(t *testing.T) {
	// r = 1.02 + .01·o + e: with unequal counts the plain mean is off, the model is not.
	o := []int{1, 1, 1, 1, 1, 1, -1, -1}
	noise := []float64{.001, -.001, .001, -.001, .001, -.001, .001, -.001}
	var rounds []Round
	for i, v := range o {
		rounds = append(rounds, Round{Index: i, Order: v, Baseline: Arm{1, 1}, Variant: Arm{1.02 + .01*float64(v) + noise[i], 1}})
	}
	plain, err := FromRounds(rounds, Options{})
	require.NoError(t, err)
	near(t, 1.025, plain.Mean, nine)
	model, err := FromRounds(rounds, Options{OnePair: true})
	require.NoError(t, err)
	near(t, 1.02, model.Mean, nine)
	near(t, .01, model.Order.Delta, nine)
	require.Equal(t, 6.0, model.DF)
	near(t, math.Sqrt(8e-6/6)*math.Sqrt(1.0/6+1.0/2)/2, model.SE, 1e-6)
	_, err = MeanOfRatios([]float64{1, 1.1, 1.2, .9}, Options{OnePair: true})
	refused(t, err, "whole rounds with Order")
}

func TestVonNeumannBand(t *testing.T) {
	// The 95% bands for white noise: n=12 [.99, 3.01], n=20 [1.17, 2.83].
	for _, c := range []struct {
		n         int
		low, high float64
	}{{12, .99, 3.01}, {20, 1.17, 2.83}} {
		require.InDelta(t, .05, vonNeumannP(c.low, c.n), .003)
		require.InDelta(t, .05, vonNeumannP(c.high, c.n), .003)
		near(t, 1, vonNeumannP(2, c.n), nine)
	}
}
