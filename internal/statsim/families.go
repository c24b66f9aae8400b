package main

import (
	"math"

	"github.com/tareperf/tare/stats"
)

func sqrt(n int) float64 { return math.Sqrt(float64(n)) }

func familiesSection(t *table, reps int, seed uint64) {
	const m = 9
	for ni, z := range noises {
		for _, n := range sizes {
			rng := stream(seed, 4, ni, n)
			base := make([]float64, n)
			rows := make([][]float64, m)
			for j := range rows {
				rows[j] = make([]float64, n)
			}
			for range max(1, reps/4) {
				z.fill(rng, base)
				var p []float64
				bare, covered := false, true
				for j := range rows {
					z.fill(rng, rows[j])
					for i := range rows[j] {
						rows[j][i] -= base[i] // one baseline: rows correlate at 0.5
					}
					mean, sd := meanSD(rows[j])
					e := stats.Effect{Value: mean, SE: sd / sqrt(n), DF: float64(n - 1), Sessions: 1}
					v, _ := e.P()
					p = append(p, v)
					bare = bare || v <= .05
					i, _ := stats.Simultaneous(e, m, 0)
					covered = covered && i.Contains(0)
				}
				t.at("any of 9 rows, no correction", z.name, n, 0, 5, none, true).count(bare)
				h, _ := stats.Holm(p, 0)
				any := false
				for _, r := range h {
					any = any || r.Reject
				}
				t.at("any of 9 rows, Holm", z.name, n, 0, 5, promised(atMost, z.normal), true).count(any)
				cover := func(what string, hit bool, p promise) { t.at(what, z.name, n, 0, 95, p, false).count(hit) }
				cover("all 9 covered, Bonferroni", covered, promised(atLeast, z.normal))
				if math.Ldexp(2, -n) > .05 {
					continue
				}
				x, err := stats.MaxTFamily(rows, stats.Options{Flips: 1999})
				if err != nil {
					continue
				}
				any, covered = false, true
				for _, r := range x.Rows {
					any = any || r.P <= .05
					covered = covered && r.Interval.Contains(0)
				}
				t.at("any of 9 rows, max-T", z.name, n, 0, 5, promised(atMost, z.white && z.symmetric), true).count(any)
				cover("all 9 covered, max-T", covered, promised(atLeast, z.normal && n >= 12))
			}
		}
	}
}

func verdictsSection(t *table, reps int, seed uint64) {
	const n, tau = 12, .34
	for ni, z := range noises {
		rng := stream(seed, 8, ni, n)
		e := make([]float64, n)
		session := func() stats.Effect {
			z.fill(rng, e)
			m, sd := meanSD(e)
			return stats.Effect{Value: m + tau*rng.NormFloat64(), SE: sd / sqrt(n), DF: n - 1, Sessions: 1}
		}
		spread := stats.Spread{Percent: tau, DF: 9}
		for range reps {
			row, aa := session(), session()
			floor, err := stats.FloorFromAA(aa, nil, &spread)
			if err != nil {
				continue
			}
			w, _, err := stats.Widen(row, spread)
			if err != nil {
				continue
			}
			bare, _ := row.P()
			t.at("called different by the session's p alone", z.name, n, 1, 5, none, true).count(bare <= .05)
			v := stats.Judge(stats.VerdictInput{Effect: row, Widened: &w, Floor: &floor})
			t.at("finding or near the floor, A/A", z.name, n, 1, 5, promised(atMost, true), true).count(v.Kind == stats.Finding || v.Kind == stats.NearFloor)
			t.at("finding, A/A", z.name, n, 1, 5, promised(atMost, true), true).count(v.Kind == stats.Finding)
		}
	}
}
