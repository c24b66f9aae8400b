package main

import (
	"math"
	"math/rand/v2"

	"github.com/tareperf/tare/stats"
)

func sqrt(n int) float64 { return math.Sqrt(float64(n)) }

func familiesSection(t *table, reps int, seed uint64) {
	const m = 9
	for ni, z := range noises {
		for _, n := range sizes {
			rng, screen := stream(seed, 4, ni, n), stream(seed, 41, ni, n)
			base := make([]float64, n)
			rows := make([][]float64, m)
			for j := range rows {
				rows[j] = make([]float64, n)
			}
			for range max(1, reps/4) {
				z.fill(rng, base)
				var p []float64
				var estimates []stats.Estimate
				bare, covered := false, true
				for j := range rows {
					z.fill(rng, rows[j])
					for i := range rows[j] {
						rows[j][i] -= base[i] // one baseline: rows correlate at 0.5
					}
					if d, err := stats.MeanOfDifferences(rows[j], stats.Options{Flips: 99}); err == nil {
						estimates = append(estimates, d)
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
				screened(t, z, n, rows, screen)
				cover := func(what string, hit bool, p promise) { t.at(what, z.name, n, 0, 95, p, false).count(hit) }
				cover("all 9 covered, Bonferroni", covered, promised(atLeast, z.normal))
				if lag, err := stats.PooledLag1(estimates, stats.LagOptions{}); err == nil {
					t.at("pooled lag-1 of 9 rows not zero", z.name, n, 0, 5, promised(atMost, z.white), true).count(!lag.Interval.Contains(0))
					t.at("pooled lag-1 warning", z.name, n, 0, 5, promised(atMost, z.white), true).count(len(lag.Warnings) > 0)
				}
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

// screened measures Benjamini and Hochberg's promise with three rows of nine
// changed: of the rows called different one is drawn, and counted if it is not.
func screened(t *table, z noise, n int, rows [][]float64, rng *rand.Rand) {
	var p []float64
	for j, d := range rows {
		mean, sd := meanSD(d)
		if j < 3 {
			mean += 1.5
		}
		v, _ := stats.Effect{Value: mean, SE: sd / sqrt(n), DF: float64(n - 1), Sessions: 1}.P()
		p = append(p, v)
	}
	b, err := stats.BenjaminiHochberg(p, 0)
	if err != nil {
		return
	}
	var called []int
	for j, r := range b {
		if r.Reject {
			called = append(called, j)
		}
	}
	t.at("share of false rows, Benjamini–Hochberg", z.name, n, 0, 5, promised(atMost, z.normal), true).count(len(called) > 0 && called[rng.IntN(len(called))] >= 3)
}
