package main

import (
	"math"

	"github.com/tareperf/tare/stats"
)

func sessionsSection(t *table, reps int, seed uint64) {
	for ni, z := range noises {
		for _, tau := range []float64{.34, 0} {
			for _, n := range sizes {
				for k := 1; k <= 6; k++ {
					rng := stream(seed, 5, ni, n, k, int(tau*100))
					sessions(t, reps/2, z, tau, n, k, func() float64 { return rng.NormFloat64() }, func(x []float64) { z.fill(rng, x) })
				}
			}
		}
	}
}

func sessions(t *table, reps int, z noise, tau float64, n, k int, normal func() float64, fill func([]float64)) {
	tag := ""
	if tau == 0 {
		tag = ", spread 0"
	}
	x := make([]float64, n)
	const truth = 1.0
	known := stats.Spread{Percent: .34, Known: true}
	for range max(1, reps) {
		var s []stats.Effect
		var st []stats.Study
		for range k {
			fill(x)
			m, sd := meanSD(x)
			e := stats.Effect{Value: truth + tau*normal() + m, SE: sd / sqrt(n), DF: float64(n - 1), Sessions: 1}
			s = append(s, e)
			st = append(st, stats.Study{Value: e.Value, Variance: e.SE * e.SE})
		}
		cover := func(what string, p promise, i stats.Interval, err error) {
			t.at(what+tag, z.name, n, k, 95, p, false).cover(i.Low, i.High, truth, err)
		}
		effect := func(what string, p promise, e stats.Effect, err error) {
			var i stats.Interval
			if err == nil {
				i, err = e.Interval(0)
			}
			cover(what, p, i, err)
		}
		if k == 1 {
			i, err := s[0].Interval(0)
			cover("session's own t", promised(exact, z.normal && tau == 0), i, err)
		}
		if k <= 4 {
			e, _, err := stats.Borrow(s, known)
			// With τ = 0 a spread of .34 is too much, and so on the safe side. One
			// part known and one estimated: Satterthwaite is exact to about a point.
			effect("borrowed spread .34, known", promised(map[bool]promise{true: atLeast, false: exact}[tau == 0], z.normal && n >= 12), e, err)
			if tau > 0 {
				var c float64
				const nu = 5
				for range nu {
					v := normal()
					c += v * v
				}
				e, _, err = stats.Borrow(s, stats.Spread{Percent: tau * math.Sqrt(c/nu), DF: nu})
				effect("borrowed spread, 5 degrees of freedom", promised(atLeast, false), e, err)
			}
		}
		if k < 2 {
			continue
		}
		if k <= 4 {
			e, _, err := stats.AcrossSessions(s, nil)
			effect("t of session effects", promised(exact, z.normal), e, err)
		}
		for _, c := range []struct {
			what string
			o    stats.PoolOptions
			p    promise
		}{
			{"fixed effect, normal", stats.PoolOptions{Estimator: stats.FixedEffect, Interval: stats.NormalInterval}, none},
			{"DerSimonian–Laird, normal", stats.PoolOptions{Estimator: stats.DerSimonianLaird, Interval: stats.NormalInterval}, none},
			{"Paule–Mandel, Hartung–Knapp", stats.PoolOptions{Interval: stats.HartungKnapp}, none},
			{"Paule–Mandel, Hartung–Knapp, q ≥ 1", stats.PoolOptions{}, promised(atLeast, z.normal && n >= 12)},
		} {
			p, err := stats.Pool(st, c.o)
			cover(c.what, c.p, p.Interval, err)
			if c.o == (stats.PoolOptions{}) && err == nil {
				t.at("Q-profile of spread²"+tag, z.name, n, k, 95, none, false).cover(p.Tau2Interval.Low, p.Tau2Interval.High, tau*tau, nil)
			}
		}
	}
}

func floorsSection(t *table, reps int, seed uint64) {
	const n = 12
	for ni, z := range noises {
		for _, tau := range []float64{.34, 0} {
			tag := ""
			if tau == 0 {
				tag = ", spread 0"
			}
			for _, k := range []int{1, 2, 4, 6, 10} {
				rng := stream(seed, 6, ni, k, int(tau*100))
				x := make([]float64, n)
				session := func() stats.Effect {
					z.fill(rng, x)
					m, sd := meanSD(x)
					return stats.Effect{Value: m + tau*rng.NormFloat64(), SE: sd / sqrt(n), DF: n - 1, Sessions: 1}
				}
				known := stats.Spread{Percent: .34, Known: true}
				for range reps {
					var aa []stats.Effect
					for range k {
						aa = append(aa, session())
					}
					next := math.Abs(session().Value)
					show := func(what string, p promise, f float64, err error) {
						l := t.at(what+tag, z.name, n, k, 5, p, true)
						l.count(err == nil && next > f)
						l.width += f
					}
					f, err := stats.FloorFromAA(aa[0], aa[1:], &known)
					show("floor", promised(atMost, z.normal), f.Percent, err)
					if k == 1 {
						i, _ := aa[0].Interval(0)
						show("half-width alone", none, i.HalfWidth(), nil)
						f, err = stats.FloorFromAA(aa[0], nil, nil)
						show("|A/A| + half-width, spread unknown", none, f.Percent, err)
					}
				}
			}
		}
	}
}
