package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFloorRegimes(t *testing.T) {
	one := Effect{Value: .4, SE: .3, DF: 11, Sessions: 1}
	h := tUpper(.025, 11) * .3
	f, err := FloorFromAA(one, nil, nil)
	require.NoError(t, err)
	near(t, .4+h, f.Percent, nine)
	require.True(t, f.SessionOnly)
	f, err = FloorFromAA(one, nil, &Spread{Percent: .34, Known: true})
	require.NoError(t, err)
	near(t, math.Max(.4+h, math.Hypot(h, 1.96*.34)), f.Percent, nine)
	require.False(t, f.SessionOnly)
	f, err = FloorFromAA(Effect{Value: .01, SE: .1, DF: 11}, []Effect{one}, &Spread{Percent: .34, Known: true})
	require.NoError(t, err)
	near(t, math.Hypot(tUpper(.025, 11)*.1, 1.96*.34), f.Percent, nine)
	var six []Effect
	for _, v := range []float64{.1, -.2, .3, -.1, .2, -.3} {
		six = append(six, Effect{Value: v, SE: .1, DF: 11})
	}
	f, err = FloorFromAA(six[0], six[1:], nil)
	require.NoError(t, err)
	near(t, tUpper(.025, 5)*math.Sqrt(.28/5)*math.Sqrt(7.0/6), f.Percent, nine)
	noisy := append([]Effect{one}, six...)
	high, err := FloorFromAA(noisy[0], noisy[1:], nil)
	require.NoError(t, err)
	near(t, .4+h, high.Percent, nine) // this session showed more than the prediction
	// Without a spread, the worst of the few sessions that there are.
	few, err := FloorFromAA(six[0], []Effect{one, six[1]}, nil)
	require.NoError(t, err)
	near(t, .4+h, few.Percent, nine)
	require.True(t, few.SessionOnly)
	_, err = FloorFromAA(six[0], []Effect{{Value: 1, SE: .1, DF: 9, Sessions: 3, Between: true}}, nil)
	refused(t, err, "each session's own")
	for i := range six {
		six[i].Value += 3
	}
	biased, err := FloorFromAA(six[0], six[1:], nil)
	require.NoError(t, err)
	require.True(t, hasWarning(biased.Warnings, Biased))
	near(t, f.Percent+3, biased.Percent, nine)
	_, err = FloorFromAA(Effect{}, nil, nil)
	refused(t, err, "standard error")
	p, err := FloorFromPlacebo(one, nil)
	require.NoError(t, err)
	near(t, .4+h, p.Percent, nine)

	b, err := PooledBias(six, 5)
	require.NoError(t, err)
	require.True(t, b.Pass.Holds)
	require.Greater(t, b.ExcludedAbove, 3.0)
	b, err = PooledBias(six, 2)
	require.NoError(t, err)
	require.False(t, b.Pass.Holds)
}
