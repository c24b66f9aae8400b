package main

import (
	"github.com/tareperf/tare/stats"
)

// loadSection: the cost at 20, 30 and 40% busy, and rows whose arms were 24% and
// 36% busy.
func loadSection(t *table, reps int, seed uint64) {
	const from, to = 24, 36
	for ni, z := range noises {
		for _, n := range sizes {
			rng := stream(seed, 7, ni, n)
			x := make([]float64, n)
			for range max(1, reps/2) {
				for _, slope := range []float64{-.5, 0} {
					var pts []stats.LoadPoint
					for _, busy := range []float64{20, 30, 40} {
						z.fill(rng, x)
						m, sd := meanSD(x)
						pts = append(pts, stats.LoadPoint{BusyPercent: busy, Cost: 100 + slope*(busy-30) + m, SE: sd / sqrt(n), DF: float64(n - 1)})
					}
					s, err := stats.SlopeOfCost(pts)
					if err != nil {
						continue
					}
					b, err := stats.BoundFromLoad(&s, from, to)
					if err != nil {
						continue
					}
					at := func(what string, nominal float64, p promise, isError bool) *line {
						return t.at(what, z.name, n, 0, nominal, p, isError)
					}
					if slope == 0 {
						at("a direction of the bound without any slope", 5, promised(atMost, z.normal && n >= 12), true).count(b.ShiftPercent != nil)
						at("lack of fit of a straight line", 5, promised(atMost, z.normal && n >= 20), true).count(s.LackOfFitP < .05)
						continue
					}
					at("slope of cost against load", 95, promised(exact, z.normal && n >= 12), false).cover(s.Interval.Low, s.Interval.High, slope, nil)
					at("a direction, slope −0.5% per point", 80, none, false).count(b.ShiftPercent != nil)
					if b.ShiftPercent != nil {
						at("shift by load, where a direction is given", 95, promised(atLeast, z.normal && n >= 12), false).cover(b.Interval.Low, b.Interval.High, slope*(to-from), nil)
						at("the wrong direction", 5, promised(atMost, z.normal), true).count(b.Direction != stats.BoundLower)
					}
				}
			}
		}
	}
}

// discardsSection: rounds of which gates discard some, by chance or because the
// variant was expensive in them.
func discardsSection(t *table, reps int, seed uint64) {
	for ni, z := range noises {
		for _, n := range sizes {
			rng := stream(seed, 77, ni, n)
			x := make([]float64, n)
			for range max(1, reps/2) {
				z.fill(rng, x)
				var kept []float64
				base, variant := stats.ArmRounds{Arm: "off"}, stats.ArmRounds{Arm: "on"}
				var keptCostly []float64
				costly := stats.ArmRounds{Arm: "on"}
				for _, v := range x {
					bad, ill := rng.IntN(10) == 0, rng.IntN(10) == 0
					count := func(a *stats.ArmRounds, failed bool) {
						if failed {
							a.Failed++
						} else {
							a.Passed++
						}
					}
					count(&base, bad)
					count(&variant, ill)
					if !bad && !ill {
						kept = append(kept, v)
					}
					count(&costly, v > .5)
					if v <= .5 {
						keptCostly = append(keptCostly, v)
					}
				}
				with := effectOf(x)
				if len(kept) > 2 {
					d, err := stats.CheckDiscards([]stats.ArmRounds{base, variant}, effectOf(kept), &with)
					t.at("Fisher's test, failures by chance", z.name, n, 0, 5, promised(atMost, true), true).count(err == nil && d.P <= .05)
					t.at("row void, failures by chance", z.name, n, 0, 5, none, true).count(err == nil && d.Void)
				}
				if len(keptCostly) > 2 {
					d, err := stats.CheckDiscards([]stats.ArmRounds{{Arm: "off", Passed: n}, costly}, effectOf(keptCostly), &with)
					t.at("row void, the variant's dear rounds fail", z.name, n, 0, 80, none, false).count(err == nil && d.Void)
				}
			}
		}
	}
}

// effectOf is the effect of values in percent as one session's rounds.
func effectOf(x []float64) stats.Effect {
	m, sd := meanSD(x)
	return stats.Effect{Value: m, SE: sd / sqrt(len(x)), DF: float64(len(x) - 1), Sessions: 1}
}
