package main

import (
	"math/rand/v2"

	"github.com/tareperf/tare/stats"
)

func armsSection(t *table, reps int, seed uint64) {
	for ni, z := range noises {
		for _, n := range sizes {
			rng := stream(seed, 2, ni, n)
			a, b, e := make([]float64, n), make([]float64, n), make([]float64, n)
			rounds := make([]stats.Round, n)
			for range max(1, reps/2) {
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
				// The whole estimate at the bound: +10% on the log scale.
				for i := range rounds {
					rounds[i].Variant.Cost *= 110. / 102
				}
				y, err := stats.FromRounds(rounds, stats.Options{})
				if err == nil {
					q, err := y.Equivalence(10)
					t.at("equivalence on the log scale claimed at the bound", z.name, n, 0, 5, promised(atMost, z.normal), true).count(err == nil && q.Log && q.Holds)
				}
				for i := range rounds {
					rounds[i].Variant.Cost /= 110. / 102
				}

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

				onePair(t, z, n, rng, e)

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

// onePair: rounds of one pair in turns, the second slot 1% dearer, a tenth of them
// lost to gates, a slope over what is left.
func onePair(t *table, z noise, n int, rng *rand.Rand, e []float64) {
	z.fill(rng, e)
	const slot, slope = .005, .001
	var rounds []stats.Round
	for at := 0; len(rounds) < n; at++ {
		if rng.IntN(10) == 0 {
			continue // lost, with its place in time
		}
		i := len(rounds)
		o := 1 - 2*(at%2)
		rounds = append(rounds, stats.Round{Index: at, Order: o, Baseline: stats.Arm{Cost: 1, Responses: 1},
			Variant: stats.Arm{Cost: 1.02 + slot*float64(o) + roundSD*e[i], Responses: 1}})
	}
	x, err := stats.FromRounds(rounds, stats.Options{OnePair: true})
	if err != nil {
		return
	}
	at := func(what string, nominal float64, p promise, isError bool) *line {
		return t.at("one pair with gaps: "+what, z.name, n, 0, nominal, p, isError)
	}
	i := x.Order.Interval
	at("order effect", 95, promised(exact, z.normal), false).cover(i.Low, i.High, slot, nil)
	if x.Log != nil {
		i = x.Log.Interval.Percent()
		at("t of log-ratio with order term", 95, promised(exact, z.normal), false).cover(i.Low, i.High, 2, nil)
	}
	if x.Drift != nil {
		at("drift warning, no drift", 5, promised(exact, z.normal), true).count(x.Drift.P < .05)
	}
	if x.Serial != nil {
		at("von Neumann warning", 5, promised(atMost, z.normal && n >= 12), true).count(x.Serial.P < .05)
	}
	for i := range rounds {
		rounds[i].Variant.Cost += slope * float64(rounds[i].Index)
	}
	if x, err = stats.FromRounds(rounds, stats.Options{OnePair: true}); err == nil && x.Drift != nil {
		i = x.Drift.Interval
		at("drift slope", 95, promised(exact, z.normal), false).cover(i.Low, i.High, slope, nil)
	}
}
