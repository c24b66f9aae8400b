package main

import (
	"math"
	"math/rand/v2"
)

// noise fills x with errors of mean zero and (stationary) variance one, except
// one-sided noise, whose base has variance one before the hits.
type noise struct {
	name string
	fill func(rng *rand.Rand, x []float64)
	// white and symmetric: where the theory of t and sign-flip holds.
	white, symmetric, normal bool
}

var noises = []noise{
	{"normal", normalNoise, true, true, true},
	{"t3", func(rng *rand.Rand, x []float64) {
		for i := range x {
			c := math.Hypot(math.Hypot(rng.NormFloat64(), rng.NormFloat64()), rng.NormFloat64())
			x[i] = rng.NormFloat64() / c // t3/√3: variance one
		}
	}, true, true, false},
	{"AR(1) +0.3", ar(.3), false, true, false},
	{"one-sided", func(rng *rand.Rand, x []float64) {
		for i := range x { // one round in twelve is hit by +5; centred on the mean
			x[i] = rng.NormFloat64() - 5.0/12
			if rng.IntN(12) == 0 {
				x[i] += 5
			}
		}
	}, true, false, false},
}

func normalNoise(rng *rand.Rand, x []float64) {
	for i := range x {
		x[i] = rng.NormFloat64()
	}
}

func ar(rho float64) func(*rand.Rand, []float64) {
	return func(rng *rand.Rand, x []float64) {
		prev := rng.NormFloat64()
		for i := range x {
			if i > 0 {
				prev = rho*prev + math.Sqrt(1-rho*rho)*rng.NormFloat64()
			}
			x[i] = prev
		}
	}
}

// stream is a generator of its own for every line, so that sections and sizes
// can be run alone and give the same numbers.
func stream(seed uint64, parts ...int) *rand.Rand {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h = (h ^ uint64(p)) * 0xff51afd7ed558ccd
		h ^= h >> 33
	}
	return rand.New(rand.NewPCG(seed, h))
}

var sizes = []int{6, 12, 20}

func meanSD(x []float64) (m, sd float64) {
	for _, v := range x {
		m += v
	}
	m /= float64(len(x))
	for _, v := range x {
		sd += (v - m) * (v - m)
	}
	return m, math.Sqrt(sd / float64(len(x)-1))
}
