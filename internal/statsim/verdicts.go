package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/tareperf/tare/stats"
)

// sessionsOf draws effects of single sessions: round SD 1%, between them tau.
func sessionsOf(rng *rand.Rand, z noise, n int, tau float64) func(truth float64) stats.Effect {
	x := make([]float64, n)
	return func(truth float64) stats.Effect {
		z.fill(rng, x)
		m, sd := meanSD(x)
		return stats.Effect{Value: truth + m + tau*rng.NormFloat64(), SE: sd / sqrt(n), DF: float64(n - 1), Sessions: 1}
	}
}

// verdictsSection judges rows by their effects: with the rig's spread known, and
// without it, where one session can only speak for itself.
func verdictsSection(t *table, reps int, seed uint64) {
	for ni, z := range noises {
		for _, tau := range []float64{.34, 2} {
			for _, n := range sizes {
				for k := 1; k <= 6; k++ {
					rng := stream(seed, 8, ni, n, k, int(100*tau))
					session, placebo := sessionsOf(rng, z, n, tau), sessionsOf(rng, z, n, 0)
					for range max(1, reps/4) {
						verdicts(t, z, n, k, tau, session, placebo(0).Value)
					}
				}
			}
		}
	}
}

func verdicts(t *table, z noise, n, k int, tau float64, session func(float64) stats.Effect, placebo float64) {
	known := stats.Spread{Percent: tau, Known: true}
	aa := session(0)
	var null, changed []stats.Effect
	for range k {
		e := session(0)
		null = append(null, e)
		e.Value += 5
		changed = append(changed, e)
	}
	tag := fmt.Sprintf(", spread %.3g%%", tau)
	if k == 1 {
		p, _ := null[0].P()
		t.at("called different by the session's p alone"+tag, z.name, n, k, 5, none, true).count(p <= .05)
	}
	for _, spread := range []*stats.Spread{&known, nil} {
		what := tag + " and known"
		if spread == nil {
			what = tag + " and unknown"
		}
		floor, err := stats.FloorFromAA(aa, nil, spread)
		if err != nil {
			continue
		}
		judge := func(s []stats.Effect) stats.Verdict {
			best, w, err := stats.AcrossSessions(s, spread)
			if err != nil {
				return stats.Verdict{Kind: stats.Invalid}
			}
			in := stats.VerdictInput{Effect: best, Floor: &floor, Family: 1, Warnings: w}
			if k == 1 && spread != nil {
				in.Effect, in.Widened = s[0], &best
			}
			return stats.Judge(in)
		}
		v := judge(null)
		p := promised(atMost, z.normal && (spread != nil || k > 1) && n >= 12)
		t.at("finding, no change"+what, z.name, n, k, 5, p, true).count(v.Kind == stats.Finding)
		t.at("finding or near the floor, no change"+what, z.name, n, k, 5, p, true).count(v.Kind == stats.Finding || v.Kind == stats.NearFloor)
		if k == 1 && spread == nil {
			// A placebo lives in the same minutes: it knows nothing of other sessions.
			if f, err := stats.FloorFromPlacebo(stats.Effect{Value: placebo, SE: aa.SE, DF: aa.DF, Sessions: 1}, nil); err == nil {
				v := stats.Judge(stats.VerdictInput{Effect: null[0], Floor: &f, Family: 1})
				t.at("finding, no change, floor from a placebo"+what, z.name, n, k, 5, none, true).count(v.Kind == stats.Finding)
				t.at("the same, without the label \"this session only\""+what, z.name, n, k, 5, promised(atMost, true), true).count(v.Kind == stats.Finding && !v.SessionOnly)
			}
		}
		v = judge(changed)
		t.at("finding, +5%"+what, z.name, n, k, 80, none, false).count(v.Kind == stats.Finding)
	}
}

// reportSection runs Report from rounds to verdicts: what a reader of a table is
// told when nothing changed, and when one of nine rows did.
func reportSection(t *table, reps int, seed uint64) {
	const rows = 9
	for ni, z := range noises {
		for _, n := range sizes {
			for k := 1; k <= 6; k++ {
				rng := stream(seed, 9, ni, n, k)
				for range max(1, reps/20) {
					wholeReport(t, rng, z, n, k, rows, 0)
					wholeReport(t, rng, z, n, k, rows, 5)
				}
			}
		}
	}
}

func wholeReport(t *table, rng *rand.Rand, z noise, n, k, rows int, change float64) {
	const tau, sd = .34, .0071 // of an arm in a round: round SD 1%
	base, x := make([]float64, n), make([]float64, n)
	known := stats.Spread{Percent: tau, Known: true}
	z.fill(rng, base)
	arm := func(shift float64) []stats.Round {
		z.fill(rng, x)
		r := make([]stats.Round, n)
		shift += tau * rng.NormFloat64()
		for i := range r {
			r[i] = stats.Round{Index: i, Order: 1 - 2*(i%2),
				Baseline: stats.Arm{Cost: 100 * (1 + sd*base[i]), Responses: 1},
				Variant:  stats.Arm{Cost: (100 + shift) * (1 + sd*x[i]), Responses: 1}}
		}
		return r
	}
	placebo, err := stats.FromRounds(arm(0), stats.Options{})
	if err != nil {
		return
	}
	floor, err := stats.FloorFromPlacebo(placebo.Effect(), &known)
	if err != nil {
		return
	}
	session := sessionsOf(rng, z, n, tau)
	table := make([]stats.Row, rows)
	for i := range table {
		shift := 0.0
		if i == 0 {
			shift = change
		}
		table[i] = stats.Row{Rounds: arm(shift), Spread: &known, Floor: &floor}
		for range k - 1 {
			table[i].Earlier = append(table[i].Earlier, session(shift))
		}
	}
	out, err := stats.Report(table, stats.TableOptions{})
	if err != nil {
		return
	}
	called, near, covered := false, false, true
	for i, r := range out {
		truth := 0.0
		if i == 0 {
			truth = change
		}
		covered = covered && r.Simultaneous != nil && r.Simultaneous.Contains(truth)
		if i == 0 && change != 0 {
			continue
		}
		called = called || r.Verdict.Kind == stats.Finding
		near = near || r.Verdict.Kind == stats.Finding || r.Verdict.Kind == stats.NearFloor
	}
	p := promised(atMost, z.normal && n >= 12)
	if change == 0 {
		t.at("any row of an unchanged table a finding", z.name, n, k, 5, p, true).count(called)
		t.at("any row of an unchanged table a finding or near the floor", z.name, n, k, 5, p, true).count(near)
		t.at("all simultaneous intervals of a table cover", z.name, n, k, 95, promised(atLeast, z.normal && n >= 12), false).count(covered)
		return
	}
	t.at("the row at +5% a finding", z.name, n, k, 80, none, false).count(out[0].Verdict.Kind == stats.Finding)
	t.at("any other row a finding", z.name, n, k, 5, p, true).count(called)
}
