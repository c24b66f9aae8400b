package stats

import (
	"encoding/binary"
	"math"
	"testing"
)

// lists feeds numbers to what takes structures of them: looks, lag-1 of many
// rows, sessions into verdicts, slopes made by hand, plans, reports.
func lists(t *testing.T, x []float64, small []int) {
	at := func(i int) float64 {
		if len(x) == 0 {
			return 0
		}
		return x[i%len(x)]
	}
	n := func(i int) int {
		if len(small) == 0 {
			return 0
		}
		return small[i%len(small)]
	}
	looks(t, at, n, len(x), small)

	var rows []Estimate
	for i := range x {
		rows = append(rows, Estimate{Units: n(i), Serial: &Serial{Lag1: x[i], Expected: at(i + 1)}})
	}
	rows = append(rows, Estimate{Units: 12}, Estimate{})
	for _, independent := range []bool{false, true} {
		lag, err := PooledLag1(rows, LagOptions{Independent: independent})
		result(t, "PooledLag1", lag, err)
	}
	p, err := FisherExact(n(0), n(1), n(2), n(3))
	if result(t, "FisherExact", p, err) && !(p > 0 && p <= 1) {
		t.Fatalf("FisherExact: p is %v", p)
	}
	d, err := CheckDiscards([]ArmRounds{{"a", n(0), n(1)}, {"b", n(2), n(3)}}, Effect{Value: at(0), SE: at(1), DF: at(2)}, &Effect{Value: at(3), SE: at(4), DF: at(5)})
	result(t, "CheckDiscards", d, err)

	slope := LoadSlope{PercentPerPoint: at(0), SE: at(1), DF: at(2), From: at(3), To: at(4), LackOfFitP: at(5)}
	for _, s := range []LoadSlope{slope, {PercentPerPoint: at(0), SE: at(1), DF: at(2), From: 0, To: 100, LackOfFitP: 1}} {
		b, err := BoundFromLoad(&s, at(6), at(7))
		result(t, "BoundFromLoad", b, err)
		b, err = BoundFromLoad(&s, 20, 50)
		if result(t, "BoundFromLoad", b, err) {
			verdicts(t, at, n, &b)
		}
	}
	verdicts(t, at, n, nil)
	verdicts(t, at, n, &LoadBound{Direction: BoundUpper, ShiftPercent: &[]float64{at(0)}[0], ShiftSE: at(1), ShiftDF: at(2)})
	verdicts(t, at, n, &LoadBound{Direction: BoundLower})

	w, err := Williams(n(0))
	if result(t, "Williams", w, err) && len(w) <= 64 {
		b, err := CheckBalance(w)
		if result(t, "CheckBalance", b, err) && !b.Balanced() {
			t.Fatalf("Williams(%d) is not balanced: %+v", n(0), b)
		}
	}
	b, err := CheckBalance([][]int{small, small})
	result(t, "CheckBalance", b, err)
	rowsOf(t, at, n, len(x))
}

func looks(t *testing.T, at func(int) float64, n func(int) int, count int, small []int) {
	for _, s := range []Spending{"", LateSpending, "other"} {
		for _, list := range [][]int{small, {12, 24}} {
			l, err := PlanLooks(list, at(0), s)
			if !planned(t, "PlanLooks", err) {
				continue
			}
			sound(t, "PlanLooks", l)
			var taken []Look
			for i := range count {
				taken = append(taken, Look{Rounds: n(i), P: at(i), Alpha: at(i + 1), Planned: true})
			}
			r, err := l.Review(taken)
			result(t, "Review", r, err)
			planned(t, "FamilyPlan", FamilyPlan{Rows: n(0), Units: n(1), Alpha: at(1), Flips: n(2), Looks: &l}.Check())
		}
	}
	made := Looks{At: small}
	for i := range small {
		made.Alphas = append(made.Alphas, at(i))
	}
	r, err := made.Review([]Look{{Rounds: n(0), P: .5}})
	result(t, "Review of a plan made by hand", r, err)
	planned(t, "FamilyPlan", FamilyPlan{Rows: n(0), Units: n(1), Looks: &made}.Check())
	planned(t, "FamilyPlan", FamilyPlan{Rows: n(0), Units: n(1), Alpha: at(0), Flips: n(2)}.Check())
	sound(t, "Look", made.Look(n(0)))
}

// planned holds that a plan is made, or refused by a type.
func planned(t *testing.T, what string, err error) bool {
	t.Helper()
	if e, ok := err.(*PlanError); ok {
		sound(t, what, e)
		if e.Error() == "" || e.NeedUnits < 1 {
			t.Fatalf("%s: refused without what would do: %+v", what, e)
		}
		return false
	}
	return result(t, what, 0, err)
}

// verdicts judges effects of one and of several sessions with everything beside.
func verdicts(t *testing.T, at func(int) float64, n func(int) int, load *LoadBound) {
	e := Effect{Value: at(0), SE: at(1), DF: at(2), Sessions: n(0)}
	over := Effect{Value: at(0), SE: .2, DF: 9, Sessions: 3, Between: true}
	bias := Bias{Mean: at(3), SE: at(4), DF: at(5), Interval: Interval{at(6), at(7), .95, ""}, ExcludedAbove: at(8)}
	aa, err := PooledBias([]Effect{{Value: at(3), SE: at(4), DF: at(5)}, {Value: .1, SE: .2, DF: 11}}, at(6))
	if result(t, "PooledBias", aa, err) {
		bias = aa
	}
	p := at(9)
	warnings := []Warning{{Code: SessionsDisagree}, {Code: TooFewRounds}, {Code: SkewedRatios}}
	for _, in := range []VerdictInput{
		{Effect: e, Floor: &Floor{Percent: at(3)}, Load: load, Bias: &bias, Look: &Look{Rounds: n(1), Planned: true, Alpha: at(4)}, Family: n(2), AdjustedP: &p, Alpha: at(5), EquivalenceBound: at(6)},
		{Effect: over, Floor: &Floor{Percent: .5}, Load: load, Bias: &bias, EquivalenceBound: math.Abs(at(1))},
		{Effect: over, Floor: &Floor{Percent: at(3)}, Load: load, Warnings: warnings[:1+n(0)&1], Family: 3, AdjustedP: &p},
		{Effect: e, Widened: &over, Load: load, Look: &Look{Rounds: n(1)}, Warnings: warnings},
		{Effect: Effect{Value: at(0), SE: .1, DF: 11, Sessions: 1}, Floor: &Floor{Percent: 1}, Load: load, Bias: &bias, Family: 1},
	} {
		v := Judge(in)
		sound(t, "Judge", v)
		if v.Kind == "" || v.Clause == "" || v.Text == "" {
			t.Fatalf("a verdict without its words: %+v", v)
		}
		if (v.Clause == ClauseNotTestable) != (v.Err != nil) {
			t.Fatalf("not testable, and the reason is not kept: %+v", v)
		}
	}
}

// rowsOf reports rows with broken baselines, indexes, blocks, sessions and plans.
func rowsOf(t *testing.T, at func(int) float64, n func(int) int, count int) {
	var rounds []Round
	for i := range count {
		rounds = append(rounds, Round{Index: n(i), Block: n(i+1) & 3, Order: n(i + 2), Baseline: Arm{at(i), at(i + 1)}, Variant: Arm{at(i + 2), 2}})
	}
	var good []Round
	for i := range 12 {
		good = append(good, Round{Index: 3 * i, Order: 1 - 2*(i%2), Baseline: Arm{1, 1}, Variant: Arm{1 + .01*float64(i%5), 1}})
	}
	e, err := FromRounds(rounds, Options{OnePair: n(0)&1 == 1, Flips: 99})
	if !result(t, "FromRounds", e, err) && e.Testable() {
		t.Fatal("a refused estimate calls itself testable")
	}
	looks := Looks{At: []int{n(0), 12}, Alphas: []float64{at(0), .01}}
	earlier := []Effect{{Value: at(0), SE: at(1), DF: at(2), Sessions: 1}, {Value: 1, SE: .2, DF: 11, Sessions: n(1)}}
	table := []Row{{Rounds: rounds, Earlier: earlier}, {Rounds: good, Earlier: earlier[:n(2)&1], Floor: &Floor{Percent: at(3)}, Spread: &Spread{Percent: at(4), DF: at(5), Upper: at(6)}}, {Rounds: good, Floor: &Floor{Percent: 1}}}
	for _, o := range []TableOptions{
		{Options: Options{Flips: 99, Level: at(7)}, Alpha: at(8), Family: n(0)},
		{Options: Options{Flips: 99}, Plan: &FamilyPlan{Rows: 3, Units: n(1), Flips: 99, Looks: &looks}},
		{Options: Options{Flips: 99}, Plan: &FamilyPlan{Rows: 3, Units: n(1), Flips: 99}},
		{Options: Options{Flips: 99}},
	} {
		out, err := Report(table, o)
		if _, ok := err.(*PlanError); ok {
			continue
		}
		if result(t, "Report", out, err) {
			for _, r := range out {
				if (r.Problem != "") != (r.Err != nil) {
					t.Fatalf("a reason that is only text: %+v", r)
				}
			}
		}
	}
}

// smallInts reads signed 16-bit numbers, a few of them made large.
func smallInts(b []byte, most int) []int {
	var x []int
	for len(b) >= 2 && len(x) < most {
		v := int(int16(binary.LittleEndian.Uint16(b)))
		if v%97 == 0 {
			v *= 1_000_003
		}
		x = append(x, v)
		b = b[2:]
	}
	return x
}

func TestDegenerateLists(t *testing.T) {
	ints := [][]int{nil, {0}, {12, 24}, {-1, 5, 9, 1 << 40}, {12, 12, 12}, {6, 12, 18, 24}, {2, 3, 1000001}, {5, 2, 3, 1}, {math.MaxInt, math.MinInt}}
	for _, x := range degenerate {
		for _, n := range ints {
			lists(t, x, n)
		}
	}
}

// FuzzLists: any numbers and counts through looks, lags, slopes, plans, sessions,
// verdicts and reports.
func FuzzLists(f *testing.F) {
	for i, x := range degenerate {
		f.Add(bytesOf(x...), []byte{12, 0, 24, 0, byte(i), 0, 255, 255})
	}
	f.Add(bytesOf(.05, .01, 5, 1, 2, 3, 40, 60), []byte{1, 0, 6, 0, 12, 0, 18, 0})
	f.Fuzz(func(t *testing.T, b, small []byte) { lists(t, floats(b, 24), smallInts(small, 24)) })
}
