package loadgen

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSearchFindsTheBorder(t *testing.T) {
	for _, border := range []float64{0.9, 1, 17, 4321, 123_456} {
		trials := 0
		r, err := Search{Low: 100}.Run(context.Background(), func(_ context.Context, rate float64) (bool, error) {
			trials++
			return rate <= border, nil
		})
		require.NoError(t, err)
		require.LessOrEqual(t, r.Rate, border)
		require.Greater(t, r.Failed, border)
		require.LessOrEqual(t, r.Failed, r.Rate*1.02)
		require.Len(t, r.Trials, trials)
		require.Less(t, trials, 32)
	}
}

// A rate that passes once and fails the next time has failed.
func TestSearchConfirms(t *testing.T) {
	lucky := map[float64]bool{}
	r, err := Search{Low: 100, Confirm: 3}.Run(context.Background(), func(_ context.Context, rate float64) (bool, error) {
		first := !lucky[rate]
		lucky[rate] = true
		return rate <= 1000 || rate < 1060 && first, nil
	})
	require.NoError(t, err)
	require.LessOrEqual(t, r.Rate, 1000.0)
	require.Greater(t, r.Rate, 950.0)
	require.Greater(t, r.Failed, 1000.0)
}

func TestSearchEnds(t *testing.T) {
	ctx := context.Background()
	r, err := Search{Low: 100, High: 800}.Run(ctx, func(context.Context, float64) (bool, error) { return true, nil })
	require.NoError(t, err)
	require.Equal(t, 800.0, r.Rate)
	require.Zero(t, r.Failed)

	r, err = Search{Low: 100}.Run(ctx, func(context.Context, float64) (bool, error) { return false, nil })
	require.NoError(t, err)
	require.Zero(t, r.Rate)

	boom := errors.New("boom")
	r, err = Search{Low: 100}.Run(ctx, func(_ context.Context, rate float64) (bool, error) {
		if rate > 300 {
			return false, boom
		}
		return true, nil
	})
	require.ErrorIs(t, err, boom)
	require.Len(t, r.Trials, 2)

	flips := 0
	_, err = Search{Low: 100, Confirm: 2, MaxTrials: 20}.Run(ctx, func(context.Context, float64) (bool, error) { flips++; return flips%3 != 0, nil })
	if err != nil { // either it gave up by name, or it found a rate that passed twice
		require.ErrorContains(t, err, "MaxTrials")
	}

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Search{Low: 100}.Run(canceled, nil)
	require.ErrorIs(t, err, context.Canceled)
	for _, s := range []Search{{}, {Low: math.NaN()}, {Low: 5, High: 4}, {Low: 1, Tolerance: -1}, {Low: 1, Confirm: -1}, {Low: 1, MaxTrials: -1}, {Low: 1, Tolerance: math.NaN()}} {
		var wrong *InvalidError
		_, err := s.Run(ctx, nil)
		require.ErrorAs(t, err, &wrong)
	}
}
