package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSlopeAndBound(t *testing.T) {
	p := func(busy, cost float64) LoadPoint { return LoadPoint{BusyPercent: busy, Cost: cost, SE: 1, DF: 11} }
	s, err := SlopeOfCost([]LoadPoint{p(20, 105), p(30, 100), p(40, 95)})
	require.NoError(t, err)
	near(t, -.5, s.PercentPerPoint, nine)
	near(t, 1/math.Sqrt(200), s.SE, nine)
	near(t, 1, s.LackOfFitP, 1e-6)
	b, err := BoundFromLoad(&s, 30, 40)
	require.NoError(t, err)
	require.Equal(t, BoundLower, b.Direction, "cheaper when busier: the busier variant was measured too low")
	near(t, -5, *b.ShiftPercent, nine)
	b, err = BoundFromLoad(&s, 40, 30)
	require.NoError(t, err)
	require.Equal(t, BoundUpper, b.Direction)
	near(t, 5, *b.ShiftPercent, nine)
	b, err = BoundFromLoad(&s, 30, 30.5)
	require.NoError(t, err)
	require.Equal(t, BoundNone, b.Direction)
	b, err = BoundFromLoad(&s, 30, 60)
	require.NoError(t, err)
	require.Equal(t, BoundUnknown, b.Direction, "not beyond what was measured")
	flat, err := SlopeOfCost([]LoadPoint{p(20, 100), p(40, 100.5)})
	require.NoError(t, err)
	b, err = BoundFromLoad(&flat, 20, 40)
	require.NoError(t, err)
	require.Equal(t, BoundUnknown, b.Direction)
	require.Nil(t, b.ShiftPercent)
	_, err = SlopeOfCost([]LoadPoint{p(30, 100)})
	refused(t, err, "2 or more")
	_, err = SlopeOfCost([]LoadPoint{{BusyPercent: 20, Cost: 100}, {BusyPercent: 40, Cost: 90}})
	refused(t, err, "standard error")
	bent, err := SlopeOfCost([]LoadPoint{p(20, 120), p(30, 80), p(40, 100)})
	require.NoError(t, err)
	b, err = BoundFromLoad(&bent, 20, 40)
	require.NoError(t, err)
	require.Equal(t, BoundUnknown, b.Direction, "no straight line, no wording")
}
