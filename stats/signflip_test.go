package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The exact count against brute force, and the intervals of known order index.
func TestSignFlipAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for n := 1; n <= 12; n++ {
		d := make([]float64, n)
		for i := range d {
			d[i] = math.Round(10 * rng.NormFloat64()) // ties and zeros on purpose
		}
		hits := 0
		for f := range 1 << n {
			var s float64
			for i, v := range d {
				if f>>i&1 == 1 {
					v = -v
				}
				s += v
			}
			if math.Abs(s) >= math.Abs(sum(d)) {
				hits++
			}
		}
		s, err := SignFlipTest(d, Options{})
		require.NoError(t, err)
		require.Equal(t, float64(hits)/float64(int(1)<<n), s.P, "%v", d)
	}
	for _, c := range []struct {
		n, k  int
		level float64
	}{{6, 1, .969}, {8, 4, .961}, {12, 14, .9575}, {20, 53, .9516}} {
		k, level := rankIndex(c.n, .05)
		require.Equal(t, c.k, k)
		require.InDelta(t, c.level, level, .0005)
	}
	// Drawn flips agree with exact ones.
	d := make([]float64, 20)
	for i := range d {
		d[i] = .3 + rng.NormFloat64()
	}
	exact, err := SignFlipTest(d, Options{})
	require.NoError(t, err)
	drawn, err := SignFlipTest(append(d, 0), Options{}) // a zero changes no sum
	require.NoError(t, err)
	require.InDelta(t, exact.P, drawn.P, 5*math.Sqrt(exact.P/99999)+1e-5)
}

func TestSignCounts(t *testing.T) {
	c := countSigns(repeat(1, 12))
	require.InDelta(t, .000488, c.P, 5e-7)
	d := append(repeat(1, 33), repeat(-1, 4)...)
	c = countSigns(append(d, 0))
	require.Equal(t, SignCount{Same: 33, Of: 38, Zero: 1, P: c.P}, c)
	require.InDelta(t, 1.08e-6, c.P, .005e-6)
	require.Equal(t, 1.0, countSigns(nil).P)
}
