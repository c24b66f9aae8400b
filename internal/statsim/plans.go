package main

import (
	"github.com/tareperf/tare/stats"
)

func plansSection(t *table, reps int, seed uint64) {
	power(t, reps, seed)
	sessionPower(t, max(1, reps/2), seed)
	looks(t, reps, seed)
	for ni, z := range noises {
		rng := stream(seed, 7, ni)
		for _, n := range sizes {
			x, y := make([]float64, n), make([]float64, n/2)
			history := make([]float64, n)
			for rep := range reps {
				z.fill(rng, x)
				z.fill(rng, y)
				m1, s1 := meanSD(x)
				m2, s2 := meanSD(y)
				c, err := stats.Compare(
					stats.Effect{Value: m1, SE: s1 / sqrt(n), DF: float64(n - 1)},
					stats.Effect{Value: 3 * m2, SE: 3 * s2 / sqrt(n/2), DF: float64(n/2 - 1)}, 0)
				t.at("difference of two ways (n and n/2, SD 1 and 3)", z.name, n, 0, 95, promised(exact, z.normal && n >= 12), false).cover(c.Interval.Low, c.Interval.High, 0, err)

				if rep < reps/20 && n >= 12 {
					z.fill(rng, history)
					cp, err := stats.ChangePoints(history, stats.ChangeOptions{Shuffles: 199, Seed: uint64(rep)})
					t.at("any change point in a history without one", z.name, n, 0, 5, promised(atMost, z.white), true).count(err == nil && len(cp) > 0)
				}
			}
		}
	}
}

func power(t *table, reps int, seed uint64) {
	for ni, z := range noises {
		for _, n := range sizes {
			rng := stream(seed, 71, ni, n)
			d, err := stats.Design{SD: 1}.Detectable(n, 0)
			if err != nil {
				continue
			}
			tost, err := stats.EquivalenceRounds(1, 1, 0)
			if err != nil {
				continue
			}
			x, y := make([]float64, n), make([]float64, tost)
			for range reps {
				z.fill(rng, x)
				m, sd := meanSD(x)
				p, _ := stats.Effect{Value: m + d, SE: sd / sqrt(n), DF: float64(n - 1)}.P()
				t.at("power at the detectable change", z.name, n, 0, 80, promised(exact, z.normal), false).count(p <= .05)
				if n == sizes[0] {
					z.fill(rng, y)
					m, sd = meanSD(y)
					q, _ := stats.Equivalence(stats.Effect{Value: m, SE: sd / sqrt(tost), DF: float64(tost - 1)}, 1)
					t.at("power of equivalence at the planned rounds (SD = bound)", z.name, tost, 0, 80, promised(atLeast, z.normal), false).count(q.Holds)
				}
			}
		}
	}
}

// sessionPower measures the plan for k sessions by the analysis that follows it.
func sessionPower(t *table, reps int, seed uint64) {
	spread := stats.Spread{Percent: .34, Known: true}
	for ni, z := range noises {
		for _, n := range sizes {
			for k := 1; k <= 6; k++ {
				d, err := stats.Design{SD: 1, Spread: &spread, Sessions: k}.Detectable(n, 0)
				if err != nil {
					continue
				}
				rng := stream(seed, 73, ni, n, k)
				session := sessionsOf(rng, z, n, spread.Percent)
				for range reps {
					var s []stats.Effect
					for range k {
						s = append(s, session(d))
					}
					e, _, err := stats.AcrossSessions(s, &spread)
					var p float64 = 1
					if err == nil {
						p, _ = e.P()
					}
					// The floor of Hartung–Knapp costs power from five sessions on, as documented.
					t.at("power at the detectable change, k sessions", z.name, n, k, 80, promised(exact, z.normal && k < 5 && n >= 12), false).count(p <= .05)
				}
			}
		}
	}
}

// looks measures peeking, with and without a plan.
func looks(t *table, reps int, seed uint64) {
	every := []int{}
	for n := 12; n <= 30; n++ {
		every = append(every, n)
	}
	for ni, z := range noises {
		for _, plan := range []struct {
			name string
			at   []int
		}{{"12, 24", []int{12, 24}}, {"12, 16, 20, 24", []int{12, 16, 20, 24}}, {"every round 12..30", every}} {
			rng := stream(seed, 72, ni, len(plan.at))
			equal, err1 := stats.PlanLooks(plan.at, 0, stats.EqualSpending)
			late, err2 := stats.PlanLooks(plan.at, 0, stats.LateSpending)
			if err1 != nil || err2 != nil {
				continue
			}
			last := plan.at[len(plan.at)-1]
			x := make([]float64, last)
			for range reps / 4 {
				z.fill(rng, x)
				peek := false
				var taken []stats.Look
				for _, n := range plan.at {
					m, sd := meanSD(x[:n])
					p, _ := stats.Effect{Value: m, SE: sd / sqrt(n), DF: float64(n - 1)}.P()
					taken = append(taken, stats.Look{Rounds: n, P: p})
					peek = peek || p <= .05
				}
				t.at("looks at "+plan.name+", no plan", z.name, last, 0, 5, none, true).count(peek)
				a, _ := equal.Review(taken)
				t.at("looks at "+plan.name+", equal spending", z.name, last, 0, 5, promised(atMost, z.normal), true).count(a.Reject)
				b, _ := late.Review(taken)
				t.at("looks at "+plan.name+", late spending", z.name, last, 0, 5, promised(atMost, z.normal), true).count(b.Reject)
			}
		}
	}
}
