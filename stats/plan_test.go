package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// R's pwr package, by way of statsmodels' test_power.
func TestT14StatsmodelsPower(t *testing.T) {
	for _, c := range []struct {
		d    float64
		n    int
		want float64
	}{{.2, 20, .1359563}, {1, 30, .9995636}, {1, 12, .8828916}, {.5, 20, .5645044}} {
		p, err := Design{SD: 1}.Power(c.d, c.n)
		require.NoError(t, err)
		require.InDelta(t, c.want, p, 5e-8)
	}
}

func TestRoundsForADifference(t *testing.T) {
	for _, c := range []struct {
		sd, d      float64
		p80, p90   int
		bonferroni int
	}{
		{.7, .3, 45, 60, 75}, {.7, .5, 18, 23, 30}, {.7, 1, 7, 8, 11}, {.7, 2, 4, 4, 6},
		{1, .3, 90, 119, 150}, {1, .5, 34, 44, 57}, {1, 1, 10, 13, 17}, {1, 1.5, 6, 7, 10}, {1, 2, 5, 5, 8},
		{1.5, .5, 73, 97, 122}, {1.5, 1, 20, 26, 34}, {1.5, 2, 7, 9, 12},
		{2, .5, 128, 171, 213}, {2, 1, 34, 44, 57}, {2, 2, 10, 13, 17},
	} {
		n, err := Design{SD: c.sd}.Rounds(c.d, 0)
		require.NoError(t, err)
		require.Equal(t, c.p80, n, "%+v", c)
		n, err = Design{SD: c.sd}.Rounds(c.d, .9)
		require.NoError(t, err)
		require.Equal(t, c.p90, n, "%+v", c)
		n, err = Design{SD: c.sd, Rows: 9}.Rounds(c.d, 0)
		require.NoError(t, err)
		require.Equal(t, c.bonferroni, n, "%+v", c)
	}
}

func TestDetectableDifference(t *testing.T) {
	for _, c := range []struct {
		n    int
		want float64
	}{{12, .889}, {20, .660}, {24, .597}, {48, .413}} {
		d, err := Design{SD: 1}.Detectable(c.n, 0)
		require.NoError(t, err)
		require.InDelta(t, c.want, d, .0006)
	}
	d, err := Design{SD: 1}.Detectable(12, .9)
	require.NoError(t, err)
	require.InDelta(t, 1.029, d, .0006)
	d, err = Design{SD: 1, Rows: 9}.Detectable(12, 0)
	require.NoError(t, err)
	require.InDelta(t, 1.269, d, .0006)
}

func TestBetweenSessionSpreadLimitsPower(t *testing.T) {
	d := Design{SD: 1, Spread: &Spread{Percent: .34, Known: true}}
	limit, err := d.Limit(0)
	require.NoError(t, err)
	require.InDelta(t, .9525, limit, .0005) // 2.80·τ
	_, err = d.Rounds(.9, 0)
	refused(t, err, "limits them to 0.953%")
	for _, c := range []struct {
		k, n int
		want float64
	}{{1, 12, 1.25}, {1, 20, 1.14}, {1, 40, 1.05}, {2, 12, .88}, {2, 20, .81}, {2, 40, .74}, {4, 12, .62}, {4, 20, .57}, {4, 40, .53}} {
		d.Sessions = c.k
		got, err := d.Detectable(c.n, 0)
		require.NoError(t, err)
		// The figures are 2.80·SE by the normal; the t quantile adds up to 3%.
		require.InDelta(t, c.want, got, .03*c.want)
		require.GreaterOrEqual(t, got, c.want-.006)
	}
	_, err = Design{SD: 1, Sessions: 2}.Power(1, 12)
	var oe *OptionError
	require.ErrorAs(t, err, &oe, "several sessions cannot be planned without their spread")
	// From five sessions on their own spread is used: k−1 degrees of freedom.
	d.Sessions = 5
	p, err := d.Power(.8, 12)
	require.NoError(t, err)
	se := math.Sqrt(1.0/60 + sq(.34)/5)
	near(t, nctSurvival(tUpper(.025, 4), 4, .8/se), p, 1e-4)
	none, err := Design{SD: 1}.Limit(0)
	require.NoError(t, err)
	require.Zero(t, none)
}

// Little known spread: power falls again when rounds outgrow what is known of it.
func TestLimitIsTheLeastOverRounds(t *testing.T) {
	d := Design{SD: 1, Spread: &Spread{Percent: .34, DF: 1}}
	limit, err := d.Limit(0)
	require.NoError(t, err)
	least := math.Inf(1)
	for n := 2; n <= 400; n++ {
		x, err := d.Detectable(n, 0)
		require.NoError(t, err)
		least = math.Min(least, x)
	}
	near(t, least, limit, 2e-4)
	many, err := d.Detectable(100_000, 0)
	require.NoError(t, err)
	require.Greater(t, many, 1.5*limit)
	n, err := d.Rounds(1.02*limit, 0)
	require.NoError(t, err)
	p, err := d.Power(1.02*limit, n)
	require.NoError(t, err)
	require.GreaterOrEqual(t, p, .8)
	p, err = d.Power(1.02*limit, n-1)
	require.NoError(t, err)
	require.Less(t, p, .8)
	_, err = d.Rounds(.98*limit, 0)
	refused(t, err, "limits them to")
}

func TestEquivalenceRounds(t *testing.T) {
	// The note this comes from simulated: 36, 17, 11, 6, 4.
	for _, c := range []struct {
		bound float64
		want  int
	}{{.5, 36}, {.75, 17}, {1, 11}, {1.5, 6}, {2, 4}} {
		n, err := EquivalenceRounds(1, c.bound, 0)
		require.NoError(t, err)
		require.InDelta(t, c.want, n, 1, "bound %v", c.bound)
	}
}

func TestCheapestSplit(t *testing.T) {
	c := Components{BetweenSD: 1, WithinSD: 1}
	s, err := CheapestSplit(c, SplitOptions{TotalSeconds: 4 * 3600, OverheadSeconds: 9, PilotWindowSeconds: 4, MinWindowSeconds: 1})
	require.NoError(t, err)
	require.InDelta(t, 6, *s.IdealWindowSeconds, 1e-12) // √(9·4)·1/1
	require.InDelta(t, 6, s.WindowSeconds, .2)
	// No better split exists one step away.
	for _, dn := range []int{-2, 2} {
		n := s.Rounds + dn
		o := SplitOptions{TotalSeconds: 4 * 3600, OverheadSeconds: 9, PilotWindowSeconds: 4, MinWindowSeconds: 1, MinRounds: n, Multiple: n}
		other, err := CheapestSplit(c, o)
		require.NoError(t, err)
		require.GreaterOrEqual(t, other.HalfWidth, s.HalfWidth)
	}
	// Without a between component the longest windows win over more restarts
	// until rounds get few.
	s, err = CheapestSplit(Components{WithinSD: 1}, SplitOptions{TotalSeconds: 3600, OverheadSeconds: 9, PilotWindowSeconds: 4})
	require.NoError(t, err)
	require.Nil(t, s.IdealWindowSeconds)
	require.Greater(t, s.WindowSeconds, 20.0)
	_, err = CheapestSplit(c, SplitOptions{TotalSeconds: 60, OverheadSeconds: 9, PilotWindowSeconds: 4})
	refused(t, err, "hold no 6 rounds")
}

func TestVarianceComponents(t *testing.T) {
	// By hand: means 99, 101, 103; within² = (2+2+2)/3 = 2; var(means) = 4; between² = 4 − 2/2 = 3.
	c, err := VarianceComponents([][]float64{{98, 100}, {100, 102}, {102, 104}})
	require.NoError(t, err)
	near(t, 100*1.7320508075688772/101, c.BetweenSD, nine)
	near(t, 100*1.4142135623730951/101, c.WithinSD, nine)
	// F = 4/(2/2) = 4 on 2 and 3: P = (1+2·4/3)^(−3/2) for two numerator degrees.
	near(t, math.Pow(11.0/3, -1.5), c.P, nine)
	_, err = VarianceComponents([][]float64{{98}, {100}})
	refused(t, err, "one round")
	_, err = VarianceComponents([][]float64{{98, 99}})
	refused(t, err, "needs 2")
}
