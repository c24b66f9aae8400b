package main

import (
	"math"

	"github.com/tareperf/tare/stats"
)

func floorsSection(t *table, reps int, seed uint64) {
	for ni, z := range noises {
		for _, tau := range []float64{.34, 0} {
			for _, n := range sizes {
				for _, k := range []int{1, 2, 3, 4, 5, 6, 10} {
					rng := stream(seed, 6, ni, n, k, int(tau*100))
					for range max(1, reps/4) {
						floors(t, z, n, k, tau, sessionsOf(rng, z, n, tau))
					}
				}
			}
		}
	}
}

func floors(t *table, z noise, n, k int, tau float64, session func(float64) stats.Effect) {
	tag := ""
	if tau == 0 {
		tag = ", spread 0"
	}
	known := stats.Spread{Percent: .34, Known: true}
	var aa []stats.Effect
	for range k {
		aa = append(aa, session(0))
	}
	next := math.Abs(session(0).Value)
	show := func(what string, p promise, f float64, err error) {
		l := t.at(what+tag, z.name, n, k, 5, p, true)
		l.count(err == nil && next > f)
		l.width += f
	}
	f, err := stats.FloorFromAA(aa[0], aa[1:], &known)
	show("floor", promised(atMost, z.normal), f.Percent, err)
	if k < stats.FewAA {
		f, err = stats.FloorFromAA(aa[0], aa[1:], nil)
		show("floor, spread unknown", none, f.Percent, err)
	}
	if k == 1 {
		i, _ := aa[0].Interval(0)
		show("half-width alone", none, i.HalfWidth(), nil)
		f, err = stats.FloorFromPlacebo(aa[0], nil)
		show("placebo's floor for another session, spread unknown", none, f.Percent, err)
	}
}
