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
			}
		}
	}
}

func armsSection(t *table, reps int, seed uint64) {
	for ni, z := range noises {
		for _, n := range sizes {
			rng := stream(seed, 2, ni, n)
			a, b, e := make([]float64, n), make([]float64, n), make([]float64, n)
			rounds := make([]stats.Round, n)
			for range reps {
				z.fill(rng, a)
				z.fill(rng, b)
				for i := range rounds {
					rounds[i] = stats.Round{Index: i, Order: 1 - 2*(i%2),
						Baseline: stats.Arm{Cost: 100 * (1 + .0106*a[i]), Responses: 1},
						Variant:  stats.Arm{Cost: 102 * (1 + .0106*b[i]), Responses: 1}}
				}
				x, err := stats.FromRounds(rounds, stats.Options{})
				if err != nil {
					continue
				}
				if x.RatioOfMeans != nil {
					i := x.RatioOfMeans.Interval.Percent()
					t.at("Fieller's ratio of means", z.name, n, 0, 95, promised(exact, z.normal), false).cover(i.Low, i.High, 2, nil)
				}
				t.at("order warning, no order effect", z.name, n, 0, 5, promised(exact, z.normal), true).count(x.Order.P < .05)

				// A slot effect of +1%: what the order term is for.
				for i := range rounds {
					if rounds[i].Order > 0 {
						rounds[i].Variant.Cost *= 1.01
					} else {
						rounds[i].Baseline.Cost *= 1.01
					}
				}
				i := x.Interval
				x, err = stats.FromRounds(rounds, stats.Options{})
				if err == nil {
					i = x.Interval.Percent()
				}
				t.at("t, second slot +1%", z.name, n, 0, 95, none, false).cover(i.Low, i.High, 2, err)
				x, err = stats.FromRounds(rounds, stats.Options{OnePair: true})
				if err == nil {
					i = x.Interval.Percent()
				}
				t.at("t with order term, second slot +1%", z.name, n, 0, 95, promised(exact, z.normal), false).cover(i.Low, i.High, 2, err)

				// At the limit itself, each claim may be wrong in 5%.
				z.fill(rng, e)
				m, sd := meanSD(e)
				f := stats.Effect{Value: 2 + m, SE: sd / sqrt(n), DF: float64(n - 1), Sessions: 1}
				q, _ := stats.Equivalence(f, 2)
				t.at("equivalence claimed at the bound", z.name, n, 0, 5, promised(atMost, z.normal), true).count(q.Holds)
				g, _ := stats.AskBudget(f, 2)
				t.at("budget \"yes\" at the limit", z.name, n, 0, 5, promised(exact, z.normal), true).count(g.Answer == stats.WithinBudget)
				t.at("budget \"no\" at the limit", z.name, n, 0, 5, promised(exact, z.normal), true).count(g.Answer == stats.OverBudget)
			}
		}
	}
}

func blocksSection(t *table, reps int, seed uint64) {
	const per = 4
	for ni, z := range noises {
		for _, n := range sizes {
			rng := stream(seed, 3, ni, n)
			restart, e := make([]float64, n), make([]float64, n*per)
			r, block := make([]float64, n*per), make([]int, n*per)
			for rep := range reps {
				z.fill(rng, e)
				normalNoise(rng, restart)
				for i := range r {
					block[i] = i / per
					r[i] = 1.02 + roundSD*(restart[i/per]+e[i])
				}
				x, err := stats.Blocked(r, block, stats.Options{Flips: 99})
				i := x.Interval.Percent()
				t.at("t over blocks", z.name, n, 0, 95, promised(exact, z.normal), false).cover(i.Low, i.High, 2, err)
				if err != nil {
					continue
				}
				if c := x.Blocks.RestartInterval; c != nil {
					t.at("restart component", z.name, n, 0, 95, promised(exact, z.normal), false).cover(c.Low, c.High, roundSD, nil)
				}
				m, sd := meanSD(r)
				h, _ := (stats.Effect{Value: 100 * (m - 1), SE: 100 * sd / sqrt(n*per), DF: float64(n*per - 1), Sessions: 1}).Interval(0)
				t.at("t over rounds (pseudo-replication)", z.name, n, 0, 95, none, false).cover(h.Low, h.High, 2, nil)
				if rep%2 == 0 {
					for i := range r {
						r[i] = 1.02 + roundSD*e[i]
					}
					x, err = stats.Blocked(r, block, stats.Options{Flips: 99})
					if err == nil && x.Blocks.P != nil {
						t.at("restart test, no component", z.name, n, 0, 5, promised(exact, z.normal), true).count(*x.Blocks.P <= .05)
					}
				}
			}
		}
	}
}
