package main

import (
	"math"

	"github.com/tareperf/tare/stats"
)

// spreadsSection measures what a rig knows of itself: the spread between its
// sessions, pooled over repeated rows, and the average of its A/A sessions.
func spreadsSection(t *table, reps int, seed uint64) {
	const rows, tau, bias = 6, .34, .4
	for ni, z := range noises {
		for _, n := range sizes {
			for k := 2; k <= 6; k++ {
				rng := stream(seed, 51, ni, n, k)
				session := sessionsOf(rng, z, n, tau)
				for range max(1, reps/8) {
					var library [][]stats.Effect
					for j := range rows {
						var r []stats.Effect
						for range k {
							r = append(r, session(float64(j)))
						}
						library = append(library, r)
					}
					s, err := stats.PooledSpread(library)
					if err != nil {
						continue
					}
					at := func(what string, nominal float64, p promise, isError bool) *line {
						return t.at(what, z.name, n, k, nominal, p, isError)
					}
					at("spread at or below its upper limit", 97.5, promised(atLeast, z.normal && n >= 12), false).count(tau <= s.Upper)
					at("spread estimated as zero: its upper limit is used", 0, none, false).count(s.Percent == 0)
					wide, _, err := stats.Widen(session(2), s)
					var i stats.Interval
					if err == nil {
						i, err = wide.Interval(0)
					}
					at("widened by the pooled spread", 95, promised(atLeast, z.normal && n >= 12 && k >= 4), false).cover(i.Low, i.High, 2, err)

					var aa []stats.Effect
					for range k {
						aa = append(aa, session(bias))
					}
					b, err := stats.PooledBias(aa, bias)
					at("pooled bias", 95, promised(atLeast, z.normal && n >= 12), false).cover(b.Interval.Low, b.Interval.High, bias, err)
					at("bias below what is excluded", 95, promised(atLeast, z.normal && n >= 12), false).count(err == nil && math.Abs(bias) <= b.ExcludedAbove)
					at("A/A passes with a bias at the bound", 5, promised(atMost, z.normal && n >= 12), true).count(err == nil && b.Pass.Holds)
				}
			}
		}
	}
}
