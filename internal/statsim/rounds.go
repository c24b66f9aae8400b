package main

import (
	"github.com/tareperf/tare/stats"
)

const roundSD = 0.015

func promised(p promise, when bool) promise {
	if when {
		return p
	}
	return none
}

func roundsSection(t *table, reps int, seed uint64) {
	drawn(t, max(1, reps/4), seed)
	for ni, z := range noises {
		for _, n := range sizes {
			rng := stream(seed, 1, ni, n)
			e := make([]float64, n)
			r := make([]float64, n)
			heavy := max(1, reps/4) // the null half of the work at a quarter of the repetitions
			for rep := range reps {
				z.fill(rng, e)
				for i := range r {
					r[i] = 1.02 + roundSD*e[i]
				}
				x, err := stats.MeanOfRatios(r, stats.Options{})
				pct := func(i stats.Interval) stats.Interval { return i.Percent() }
				i := pct(x.Interval)
				// t3 is no normal noise, but symmetric tails make t careful, not wrong.
				t.at("t interval", z.name, n, 0, 95, promised(exact, z.normal), false).cover(i.Low, i.High, 2, err)
				if err != nil {
					continue
				}
				if x.Log != nil {
					i = pct(x.Log.Interval)
					t.at("t of log-ratio", z.name, n, 0, 95, promised(exact, z.normal), false).cover(i.Low, i.High, 2, nil)
				}
				i = pct(x.HodgesLehmann.Interval)
				// Exact at the level that it states, which the rank distribution sets.
				t.at("Hodges–Lehmann", z.name, n, 0, 100*x.HodgesLehmann.Interval.Level, promised(exact, z.white && z.symmetric), false).cover(i.Low, i.High, 2, nil)
				if x.Serial != nil && x.Serial.Wider != nil {
					i = pct(*x.Serial.Wider)
					t.at("t at effective n", z.name, n, 0, 95, none, false).cover(i.Low, i.High, 2, nil)
				}
				if rep >= heavy {
					continue
				}
				for i := range r {
					r[i] -= .02
				}
				x, err = stats.MeanOfRatios(r, stats.Options{})
				if err != nil {
					continue
				}
				err5 := func(what string, p promise) *line { return t.at(what, z.name, n, 0, 5, p, true) }
				err5("t test, no effect", promised(exact, z.normal)).count(x.P <= .05)
				err5("sign-flip test, no effect", promised(atMost, z.white && z.symmetric)).count(x.SignFlip.P <= .05)
				err5("sign test, no effect", promised(atMost, z.white && z.symmetric)).count(x.Signs.P <= .05)
				err5("drift warning, no drift", promised(exact, z.normal)).count(x.Drift.P < .05)
				err5("von Neumann warning", promised(exact, z.normal)).count(x.Serial.P < .05)
				// A slope of a tenth of the round SD per round.
				for i := range r {
					r[i] += .1 * roundSD * float64(i)
				}
				if x, err = stats.MeanOfRatios(r, stats.Options{}); err == nil {
					d := x.Drift.Interval
					t.at("drift slope", z.name, n, 0, 95, promised(exact, z.normal), false).cover(d.Low, d.High, .1*roundSD, nil)
				}
			}
		}
	}
}

// drawn measures the sign-flip test where its flips are drawn, beyond 20 rounds.
func drawn(t *table, reps int, seed uint64) {
	for ni, z := range noises {
		for _, n := range []int{24, 40} {
			rng := stream(seed, 11, ni, n)
			d := make([]float64, n)
			for rep := range reps {
				z.fill(rng, d)
				s, err := stats.SignFlipTest(d, stats.Options{Flips: 999, Seed: uint64(rep)})
				t.at("sign-flip test with drawn flips, no effect", z.name, n, 0, 5, promised(atMost, z.white && z.symmetric), true).count(err == nil && s.P <= .05)
			}
		}
	}
}
