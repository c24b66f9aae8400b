package stats

import (
	"math"
	"testing"
)

// plans feeds numbers to everything that plans. It searches, and so has a fuzz
// function of its own.
func plans(t *testing.T, e Effect, sessions, rows, rounds int) {
	spread := &Spread{Percent: math.Abs(e.SE), DF: math.Abs(e.DF)}
	for _, d := range []Design{
		{SD: e.SE, Rows: 3, Spread: spread},
		{SD: e.SE},
		{SD: e.SE, Spread: &Spread{Percent: e.Value, DF: e.DF, Upper: e.SE}, Sessions: sessions, Rows: rows, Alpha: e.DF},
		{SD: e.SE, Spread: &Spread{Percent: .3, Known: true}, Sessions: sessions, Rows: rows},
		{SD: 1, Spread: spread, Sessions: 1 + sessions&7},
	} {
		pw, err := d.Power(e.Value, rounds)
		result(t, "Power", pw, err)
		dt, err := d.Detectable(rounds, 0)
		result(t, "Detectable", dt, err)
		dt, err = d.Detectable(12, e.DF)
		result(t, "Detectable", dt, err)
		lm, err := d.Limit(0)
		result(t, "Limit", lm, err)
		n, err := d.Rounds(e.Value, 0)
		result(t, "Rounds", n, err)
	}
	n, err := EquivalenceRounds(e.SE, math.Abs(e.Value), 0)
	result(t, "EquivalenceRounds", n, err)
	vc, err := VarianceComponents([][]float64{{e.Value, e.SE}, {e.DF, 1}, {1, 1.1}})
	result(t, "VarianceComponents", vc, err)
	for _, c := range []Components{vc, {BetweenSD: e.Value, WithinSD: e.SE}} {
		for _, o := range []SplitOptions{
			{TotalSeconds: 600, OverheadSeconds: 2, PilotWindowSeconds: 3},
			{TotalSeconds: 1e6, OverheadSeconds: e.SE, PilotWindowSeconds: 3},
			{TotalSeconds: e.DF, OverheadSeconds: 1, PilotWindowSeconds: e.Value, RunsPerRound: sessions, MinRounds: rows, Multiple: rounds},
		} {
			sp, err := CheapestSplit(c, o)
			result(t, "CheapestSplit", sp, err)
		}
	}
}

// FuzzPlans: any numbers and counts as a planned measurement.
func FuzzPlans(f *testing.F) {
	f.Add(1.0, .5, 11.0, 3, 9, 12)
	f.Add(.3, 1e-9, .5, 5, 1, 2)
	f.Add(math.NaN(), math.Inf(1), -1.0, -1, 0, math.MaxInt)
	f.Add(1e9, 1e9, 1e9, 1000000, 1000000, 1000000)
	f.Add(5e-324, 1e308, .05, 4, 2, 20)
	f.Fuzz(func(t *testing.T, value, se, df float64, sessions, rows, rounds int) {
		plans(t, Effect{Value: value, SE: se, DF: df, Sessions: 1}, sessions, rows, rounds)
	})
}
