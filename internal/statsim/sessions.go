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
					sessions(t, reps/4, z, tau, n, k, func() float64 { return rng.NormFloat64() }, func(x []float64) { z.fill(rng, x) })
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
		for _, c := range pools {
			p, err := stats.Pool(st, c.o)
			cover(c.what, promised(c.p, z.normal && n >= 12), p.Interval, err)
			if c.o == (stats.PoolOptions{}) && err == nil {
				if tau == 0 {
					t.at("Cochran's Q calls equal sessions different", z.name, n, k, 5, none, true).count(p.QP <= .05)
				}
				t.at("Q-profile of spread²"+tag, z.name, n, k, 95, promised(exact, z.normal && n >= 20 && tau > 0), false).cover(p.Tau2Interval.Low, p.Tau2Interval.High, tau*tau, nil)
			}
		}
		if k <= 4 && tau > 0 {
			_, w, err := stats.Borrow(s, known)
			disagree := false
			for _, x := range w {
				disagree = disagree || x.Code == stats.SessionsDisagree
			}
			t.at("sessions called disagreeing, the spread right", z.name, n, k, 5, promised(atMost, z.normal && n >= 12), true).count(err == nil && disagree)
		}
	}
}

// pools are all estimators with the intervals that they are used with.
var pools = func() (list []struct {
	what string
	o    stats.PoolOptions
	p    promise
}) {
	add := func(e stats.Estimator, i stats.PoolInterval, p promise) {
		name, how := e, i
		if e == "" {
			name = stats.PauleMandel
		}
		if i == "" {
			how = stats.HartungKnappFloored
		}
		list = append(list, struct {
			what string
			o    stats.PoolOptions
			p    promise
		}{string(name) + ", " + string(how), stats.PoolOptions{Estimator: e, Interval: i}, p})
	}
	add(stats.FixedEffect, stats.NormalInterval, none)
	add(stats.DerSimonianLaird, stats.NormalInterval, none)
	add("", "", atLeast)
	add("", stats.HartungKnapp, none)
	for _, e := range []stats.Estimator{stats.DerSimonianLaird, stats.RestrictedML, stats.SidikJonkman} {
		add(e, stats.HartungKnapp, none)
		add(e, "", atLeast)
	}
	return list
}()
