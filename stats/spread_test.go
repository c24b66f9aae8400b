package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpreadIsNeverZero(t *testing.T) {
	e := Effect{Value: 1, SE: .3, DF: 11, Sessions: 1}
	_, _, err := Widen(e, Spread{})
	refused(t, err, "degrees of freedom")
	_, _, err = Widen(e, Spread{DF: 3})
	refused(t, err, "no rig has none")
	w, warnings, err := Widen(e, Spread{DF: 3, Upper: .5})
	require.NoError(t, err)
	require.True(t, hasWarning(warnings, SpreadIsUpper))
	near(t, math.Hypot(.3, .5), w.SE, nine)
	_, _, err = Widen(w, tau)
	refused(t, err, "already")
}

func TestPooledSpread(t *testing.T) {
	row := func(v ...float64) (r []Effect) {
		for _, x := range v {
			r = append(r, Effect{Value: x, SE: .1, DF: 11, Sessions: 1})
		}
		return r
	}
	// Equal variances: ΣQ = Σ(y−ȳ)²/(v+τ²) = DF, so τ² = pooled variance − v.
	s, err := PooledSpread([][]Effect{row(1, 2), row(5, 5.5, 6), row(9)})
	require.NoError(t, err)
	require.Equal(t, 3.0, s.DF)
	near(t, math.Sqrt((.5+.5)/3-.01), s.Percent, nine)
	near(t, math.Sqrt(1/chiSquaredUpper(.975, 3)-.01), s.Upper, nine)
	s, err = PooledSpread([][]Effect{row(1, 1.01)})
	require.NoError(t, err)
	require.Zero(t, s.Percent)
	require.Positive(t, s.Upper)
	_, err = PooledSpread([][]Effect{row(1)})
	refused(t, err, "no row has two sessions")
}

func TestAcrossSessionsRule(t *testing.T) {
	s := func(v ...float64) (r []Effect) {
		for _, x := range v {
			r = append(r, Effect{Value: x, SE: .3, DF: 11, Sessions: 1})
		}
		return r
	}
	e, w, err := AcrossSessions(s(1), nil)
	require.NoError(t, err)
	require.False(t, e.Between)
	require.True(t, hasWarning(w, SessionOnly))
	e, _, err = AcrossSessions(s(1), &tau)
	require.NoError(t, err)
	near(t, math.Hypot(.3, .34), e.SE, nine)
	e, _, err = AcrossSessions(s(1, 1.2), &tau)
	require.NoError(t, err)
	near(t, math.Sqrt((2*.09/4)+sq(.34)/2), e.SE, nine)
	require.Equal(t, 2, e.Sessions)
	e, _, err = AcrossSessions(s(1, 1.2), nil)
	require.NoError(t, err)
	require.Equal(t, 1.0, e.DF)
	near(t, .1, e.SE, nine)
	e, _, err = AcrossSessions(s(1, 1.2, .9, 1.4, .7), &tau)
	require.NoError(t, err)
	require.Equal(t, 4.0, e.DF)
	_, w, err = AcrossSessions(s(1, 4), &tau)
	require.NoError(t, err)
	require.True(t, hasWarning(w, SessionsDisagree))
	for _, spread := range []*Spread{nil, &tau} {
		for _, k := range []int{2, 5} {
			few := s(1, 1.2, .9, 1.4, .7)[:k]
			_, w, err = AcrossSessions(few, spread)
			require.NoError(t, err)
			require.False(t, hasWarning(w, TooFewRounds))
			few[1].DF = 4
			_, w, err = AcrossSessions(few, spread)
			require.NoError(t, err)
			require.True(t, hasWarning(w, TooFewRounds))
		}
	}
}

// A widened effect, or one over sessions, is no session.
func TestSessionsAreSingle(t *testing.T) {
	one := Effect{Value: 1, SE: .3, DF: 11, Sessions: 1}
	wide, _, err := Widen(one, tau)
	require.NoError(t, err)
	two, _, err := Borrow([]Effect{one, one}, tau)
	require.NoError(t, err)
	for _, e := range []Effect{wide, two} {
		for _, k := range []int{0, 1, 4} {
			list := []Effect{e}
			for range k {
				list = append(list, one)
			}
			for _, spread := range []*Spread{nil, &tau} {
				_, _, err = AcrossSessions(list, spread)
				refused(t, err, "each session's own")
			}
			_, _, err = Borrow(list, tau)
			refused(t, err, "each session's own")
			_, err = PooledBias(list, 1)
			refused(t, err, "each session's own")
		}
		_, err = PooledSpread([][]Effect{{one, one}, {e, one}})
		refused(t, err, "each session's own")
	}
}
