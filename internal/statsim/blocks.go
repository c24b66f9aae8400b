package main

import (
	"github.com/tareperf/tare/stats"
)

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
