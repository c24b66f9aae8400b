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
		n := float64(c.n)
		v := 4 * (n - 2) / (n*n - 1)
		require.InDelta(t, .05, vonNeumannP(c.low, v), .003)
		require.InDelta(t, .05, vonNeumannP(c.high, v), .003)
		near(t, 1, vonNeumannP(2, v), nine)
	}
}

// The x axis of a drift is the place in time: discarded rounds leave gaps.
func TestDriftUsesTheRoundIndex(t *testing.T) {
	var rounds []Round
	for _, at := range []int{0, 1, 2, 5, 9, 10, 20, 21} {
		rounds = append(rounds, Round{Index: at, Baseline: Arm{1, 1}, Variant: Arm{1.02 + .001*float64(at) + 1e-5*float64(at%3), 1}})
	}
	e, err := FromRounds(rounds, Options{})
	require.NoError(t, err)
	require.InDelta(t, .001, e.Drift.PerUnit, 1e-6)
	for i := range rounds {
		rounds[i].Block = 1 + i/2
	}
	e, err = FromRounds(rounds, Options{})
	require.NoError(t, err)
	require.InDelta(t, .001, e.Drift.PerUnit, 1e-5, "and of a block the mean of its rounds")
	for i := range rounds {
		rounds[i].Block, rounds[i].Index = 0, 0
	}
	e, err = FromRounds(rounds, Options{})
	require.NoError(t, err)
	require.Greater(t, e.Drift.PerUnit, .002, "without an index, by position")
}

// Rounds on both sides of a gap are no neighbours.
func TestNeighboursEndAtGaps(t *testing.T) {
	var rounds []Round
	value := []float64{.1, .2, .1, .2, 5.1, 5.2, 5.1, 5.2} // two levels, a pause between them
	for i, v := range value {
		rounds = append(rounds, Round{Index: i, Baseline: Arm{1, 1}, Variant: Arm{1 + .01*v, 1}})
	}
	all, err := FromRounds(rounds, Options{})
	require.NoError(t, err)
	require.Equal(t, 7, all.Serial.Pairs)
	for i := range 4 {
		rounds[4+i].Index += 6
	}
	apart, err := FromRounds(rounds, Options{})
	require.NoError(t, err)
	require.Equal(t, 6, apart.Serial.Pairs)
	require.Greater(t, apart.Serial.Lag1, all.Serial.Lag1, "the step across the pause is not counted")
	require.Less(t, apart.Serial.VonNeumann, all.Serial.VonNeumann/10)
	near(t, -1.0/8, apart.Serial.Expected, nine)
	// Every third place is this variant's turn: those are its neighbours.
	for i := range rounds {
		rounds[i].Index = 3 * i
	}
	turns, err := FromRounds(rounds, Options{})
	require.NoError(t, err)
	near(t, all.Serial.VonNeumann, turns.Serial.VonNeumann, nine)
	// Scattered places have no neighbours, and so no serial statistics.
	few, err := FromRounds([]Round{
		{Index: 0, Baseline: Arm{1, 1}, Variant: Arm{1, 1}}, {Index: 1, Baseline: Arm{1, 1}, Variant: Arm{1.1, 1}},
		{Index: 10, Baseline: Arm{1, 1}, Variant: Arm{1, 1}}, {Index: 30, Baseline: Arm{1, 1}, Variant: Arm{1.2, 1}},
	}, Options{})
	require.NoError(t, err)
	require.Nil(t, few.Serial)
	require.True(t, hasWarning(few.Warnings, CheckMissing))
	require.Contains(t, few.Warnings[len(few.Warnings)-1].Text, "without a gap")
}

// The moments by brute force: matrices over every case that the code shortens.
func TestNeighboursMoments(t *testing.T) {
	for _, c := range []struct {
		next  []bool
		order []float64
	}{
		{[]bool{false, true, true, true, true, true}, nil},
		{[]bool{false, true, true, false, true, true}, nil},
		{[]bool{false, true, true, true, true, true}, []float64{1, -1, 1, -1, 1, -1}},
		{[]bool{false, true, true, false, true, true}, []float64{1, 1, -1, 1, -1, -1}},
		{[]bool{false, true, true, true, true, true}, []float64{1, 1, 1, 1, -1, -1}},
	} {
		n := len(c.next)
		x := [][]float64{make([]float64, n)}
		for i := range x[0] {
			x[0][i] = 1
		}
		if c.order != nil {
			x = append(x, c.order)
		}
		m := projection(x, n)
		a, b := zeros(n), zeros(n)
		pairs := 0.0
		for i := 1; i < n; i++ {
			if c.next[i] {
				pairs++
				a[i][i]++
				a[i-1][i-1]++
				a[i][i-1]--
				a[i-1][i]--
				b[i][i-1], b[i-1][i] = .5, .5
			}
		}
		am, nu := times(a, m), float64(n-len(x))
		mean := trace(am) / nu
		v := 2 * (nu*trace(times(am, am)) - trace(am)*trace(am)) / (nu * nu * (nu + 2)) * 4 / (mean * mean)
		y := []float64{.3, -1, .7, .2, -1.5, .9}
		if c.order != nil {
			y = withoutOrder(y, c.order)
		}
		s := neighbours(y, c.next, c.order)
		require.NotNil(t, s)
		require.InDelta(t, trace(times(b, m))/pairs, s.Expected, 1e-12)
		var d, ss, avg float64
		for i := range y {
			avg += y[i] / float64(n)
		}
		for i := range y {
			ss += (y[i] - avg) * (y[i] - avg)
			if c.next[i] {
				d += (y[i] - y[i-1]) * (y[i] - y[i-1])
			}
		}
		near(t, d/ss*2/mean, s.VonNeumann, nine)
		near(t, vonNeumannP(s.VonNeumann, v), s.P, nine)
	}
}

func zeros(n int) [][]float64 {
	z := make([][]float64, n)
	for i := range z {
		z[i] = make([]float64, n)
	}
	return z
}

func times(a, b [][]float64) [][]float64 {
	c := zeros(len(a))
	for i := range a {
		for j := range b {
			for k := range b {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	return c
}

func trace(a [][]float64) (t float64) {
	for i := range a {
		t += a[i][i]
	}
	return t
}

// projection on what is orthogonal to the columns of x, by Gram and Schmidt.
func projection(x [][]float64, n int) [][]float64 {
	m := zeros(n)
	for i := range m {
		m[i][i] = 1
	}
	for _, col := range x {
		v := make([]float64, n)
		for i := range v {
			for j := range v {
				v[i] += m[i][j] * col[j]
			}
		}
		var norm float64
		for _, u := range v {
			norm += u * u
		}
		for i := range v {
			for j := range v {
				m[i][j] -= v[i] * v[j] / norm
			}
		}
	}
	return m
}

// Rounds of one pair alternate with the order: that is neither correlation nor
// drift, and the log-ratio knows the order too.
func TestOnePairChecksKnowTheOrder(t *testing.T) {
	noise := []float64{.3, -.2, .1, -.4, .2, .4, -.1, -.3, .25, -.15, .05, -.2}
	var rounds []Round
	for i, v := range noise {
		o := 1 - 2*(i%2)
		rounds = append(rounds, Round{Index: i, Order: o, Baseline: Arm{1, 1}, Variant: Arm{1.08 + .05*float64(o) + .001*v, 1}})
	}
	plain, err := FromRounds(rounds, Options{})
	require.NoError(t, err)
	require.True(t, hasWarning(plain.Warnings, Autocorrelated))
	require.Less(t, plain.Serial.Lag1, -.8)
	pair, err := FromRounds(rounds, Options{OnePair: true})
	require.NoError(t, err)
	require.False(t, hasWarning(pair.Warnings, Autocorrelated))
	require.InDelta(t, 0, pair.Serial.Lag1, .4)
	require.Less(t, pair.Serial.Wider.HalfWidth(), .01)
	require.Less(t, pair.Drift.Interval.HalfWidth(), plain.Drift.Interval.HalfWidth()/10)
	require.Equal(t, "t of log-ratio with order term", pair.Log.Interval.Name)
	require.Less(t, pair.Log.Interval.HalfWidth(), .002)
	require.Greater(t, plain.Log.Interval.HalfWidth(), .02)
	// And with it equivalence on the log scale: ±9% is claimed with the order term only.
	q, err := pair.Equivalence(9)
	require.NoError(t, err)
	require.True(t, q.Log)
	require.True(t, q.Holds)
	q, err = plain.Equivalence(9)
	require.NoError(t, err)
	require.False(t, q.Holds)
	// A drift beside the order is found.
	for i := range rounds {
		rounds[i].Variant.Cost += .0005 * float64(i)
	}
	pair, err = FromRounds(rounds, Options{OnePair: true})
	require.NoError(t, err)
	require.InDelta(t, .0005, pair.Drift.PerUnit, .00005)
	require.True(t, hasWarning(pair.Warnings, Drifts))
}

// The bias of a mean of ratios is that of its rounds, also where blocks average them.
func TestRatioBiasOfBlockedRounds(t *testing.T) {
	r := []float64{1.1, .9, 1.12, .9, 1.08, .91, 1.1, .92, 1.1, .9, 1.11, .9}
	e, err := Blocked(r, []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}, Options{})
	require.NoError(t, err)
	require.Less(t, e.SD/e.Mean, .03)
	require.True(t, hasWarning(e.Warnings, RatioBias))
}
