package stats

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"testing"
)

// floats reads float64s straight from the fuzzer's bytes: every bit pattern is
// reachable, NaN, Inf, subnormals and 1e308 among them.
func floats(b []byte, most int) []float64 {
	var x []float64
	for len(b) >= 8 && len(x) < most {
		x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		b = b[8:]
	}
	return x
}

func bytesOf(x ...float64) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// degenerate inputs of all kinds, as seeds and as a plain test's table.
var degenerate = [][]float64{
	{}, {1}, {7}, {1, 1, 1, 1}, {0, 0, 0}, {1, 2}, {math.NaN(), 1, 2}, {math.Inf(1), 1, 2}, {math.Inf(-1), -1},
	{1e308, 1e308, -1e308}, {1e308, 1}, {5e-324, 5e-324, 1}, {-1, -1, -1.1}, {1, 1 + 1e-16, 1}, {1, 1 + 1e-15, 1},
	{1e-300, 2e-300, 3e-300}, {1e30, -1e30, 1}, {.5, 2}, {1e6, 1e-6, 1, 1, 1, 1}, {1, 1.01, .99, 1.02, .98, 1.005, .995},
	{1.5, 1.51, .09, .09}, {1e12, -1e12, 1e-24, 1e24}, {1e-6, 1e-6, 1e-6, 1e6},
	{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1.0001},
}

// sound holds every number in v: finite, p values and levels in (0, 1], and
// intervals in order. v is walked by reflection, so that no new field escapes.
func sound(t *testing.T, what string, v any) {
	t.Helper()
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Float64:
			if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
				t.Fatalf("%s%s is %v", what, path, f)
			}
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				walk(path, v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(path, v.Index(i))
			}
		case reflect.Struct:
			if i, ok := v.Interface().(Interval); ok && i.Low > i.High {
				t.Fatalf("%s%s runs backwards: %+v", what, path, i)
			}
			for i := range v.NumField() {
				name := v.Type().Field(i).Name
				f := v.Field(i)
				if f.Kind() == reflect.Float64 && isP[name] && !(f.Float() > 0 && f.Float() <= 1) {
					t.Fatalf("%s%s.%s is %v", what, path, name, f.Float())
				}
				walk(path+"."+name, f)
			}
		}
	}
	walk("", reflect.ValueOf(v))
}

var isP = map[string]bool{"P": true, "Adjusted": true, "QP": true, "LackOfFitP": true, "PWithin": true, "POver": true, "SmallestP": true}

// result holds either a sound value or a typed error with a reason.
func result[T any](t *testing.T, what string, v T, err error) bool {
	t.Helper()
	if err == nil {
		sound(t, what, v)
		return true
	}
	var nt *NotTestableError
	var oe *OptionError
	switch {
	case errors.As(err, &nt):
		if nt.Reason == "" || nt.Quantity == "" {
			t.Fatalf("%s: an error without its reason: %#v", what, err)
		}
	case errors.As(err, &oe):
	default:
		t.Fatalf("%s: an error of no known type: %v", what, err)
	}
	return false
}

// estimates feeds one list of numbers to everything that takes one.
func estimates(t *testing.T, x []float64, onePair bool) {
	o := Options{OnePair: onePair, Flips: 99}
	block := make([]int, len(x))
	var rounds []Round
	for i := range x {
		block[i] = i / 2
		order := 1 - 2*(i%2)
		rounds = append(rounds, Round{Index: i, Order: order, Baseline: Arm{1 + math.Abs(x[len(x)-1-i]), 2}, Variant: Arm{x[i], 3}})
	}
	follow := func(what string, e Estimate, err error) {
		if !result(t, what, e, err) {
			if e.Testable() {
				t.Fatalf("%s: a refused estimate calls itself testable", what)
			}
			sound(t, what+" Effect", e.Effect())
			sound(t, what+" Verdict", Judge(VerdictInput{Effect: e.Effect(), Floor: &Floor{Percent: 1}}))
			return
		}
		if !(e.P > 0) || !(e.SignFlip.P > 0) || !(e.Signs.P > 0) {
			t.Fatalf("%s: a p of zero: %+v", what, e)
		}
		effects(t, what, e.Effect())
		for _, bound := range []float64{.5, 10} {
			q, err := e.Equivalence(bound)
			result(t, what+" Equivalence", q, err)
		}
	}
	e, err := MeanOfRatios(x, Options{Flips: 99})
	follow("MeanOfRatios", e, err)
	e, err = MeanOfDifferences(x, Options{Flips: 99, Level: .99})
	follow("MeanOfDifferences", e, err)
	e, err = Blocked(x, block, Options{Flips: 99})
	follow("Blocked", e, err)
	e, err = FromRounds(rounds, o)
	follow("FromRounds", e, err)
	s, err := SignFlipTest(x, o)
	if result(t, "SignFlipTest", s, err) && !(s.P > 0) {
		t.Fatal("sign-flip p of zero")
	}
	sc, err := CountSigns(x)
	result(t, "CountSigns", sc, err)
	h, err := HodgesLehmann(x, o)
	result(t, "HodgesLehmann", h, err)
	f, err := Fieller(x, append([]float64(nil), x...), o)
	result(t, "Fieller", f, err)
	a, err := Holm(x, 0)
	result(t, "Holm", a, err)
	a, err = BenjaminiHochberg(x, 0)
	result(t, "BenjaminiHochberg", a, err)
	m, err := GeometricMean(x)
	result(t, "GeometricMean", m, err)
	c, err := ChangePoints(x, ChangeOptions{Shuffles: 99})
	result(t, "ChangePoints", c, err)
	mt, err := MaxTFamily([][]float64{x, nil, append([]float64(nil), x...)}, o)
	result(t, "MaxTFamily", mt, err)
	vc, err := VarianceComponents([][]float64{x, x[:len(x)/2], {1, 1.1}})
	result(t, "VarianceComponents", vc, err)
	rows, err := Report([]Row{{Rounds: rounds}, {Rounds: rounds, Spread: &Spread{Percent: .3, DF: 3}, EquivalenceBound: 1}}, TableOptions{Options: Options{Flips: 99}})
	result(t, "Report", rows, err)
}

// effects feeds one effect to everything that takes one.
func effects(t *testing.T, what string, e Effect) {
	i, err := e.Interval(0)
	result(t, what+" Interval", i, err)
	p, err := e.P()
	if result(t, what+" P", p, err) && !(p > 0 && p <= 1) {
		t.Fatalf("%s: p is %v", what, p)
	}
	other := Effect{Value: .5, SE: .2, DF: 5, Sessions: 1}
	spread := Spread{Percent: math.Abs(e.SE), DF: math.Abs(e.DF)}
	c, err := Compare(e, other, 0)
	result(t, what+" Compare", c, err)
	q, err := Equivalence(e, math.Abs(e.Value))
	result(t, what+" Equivalence", q, err)
	b, err := AskBudget(e, 2)
	result(t, what+" AskBudget", b, err)
	s, err := Simultaneous(e, 15, 0)
	result(t, what+" Simultaneous", s, err)
	w, _, err := Widen(e, spread)
	result(t, what+" Widen", w, err)
	for _, sp := range []*Spread{nil, &spread, {Percent: e.Value, DF: e.DF, Upper: e.SE}} {
		fl, err := FloorFromAA(e, []Effect{other}, sp)
		result(t, what+" FloorFromAA", fl, err)
		fl, err = FloorFromAA(e, []Effect{other, e, e, other, other}, sp)
		result(t, what+" FloorFromAA", fl, err)
		fl, err = FloorFromPlacebo(e, sp)
		result(t, what+" FloorFromPlacebo", fl, err)
		for _, sessions := range [][]Effect{{e}, {e, other}, {e, e, e, e, other}} {
			a, _, err := AcrossSessions(sessions, sp)
			result(t, what+" AcrossSessions", a, err)
		}
		sound(t, what+" Judge", Judge(VerdictInput{Effect: e, Widened: &w, Floor: &fl, EquivalenceBound: e.Value, Family: 3, AdjustedP: &p}))
	}
	bias, err := PooledBias([]Effect{e, other, e}, .5)
	result(t, what+" PooledBias", bias, err)
	ps, err := PooledSpread([][]Effect{{e, other}, {other, other, e}})
	result(t, what+" PooledSpread", ps, err)
	d, err := CheckDiscards([]ArmRounds{{"a", 5, int(math.Min(10, math.Abs(e.DF)))}, {"b", 7, 2}}, e, &other)
	result(t, what+" CheckDiscards", d, err)
	slope, err := SlopeOfCost([]LoadPoint{{20, e.Value, e.SE, e.DF}, {40, 3, .1, 11}, {e.DF, 2, .1, 11}})
	if result(t, what+" SlopeOfCost", slope, err) {
		lb, err := BoundFromLoad(&slope, 20, e.DF)
		result(t, what+" BoundFromLoad", lb, err)
	}
	for _, est := range []Estimator{"", FixedEffect, DerSimonianLaird, RestrictedML, SidikJonkman} {
		for _, iv := range []PoolInterval{"", HartungKnapp, NormalInterval} {
			pl, err := Pool([]Study{{e.Value, e.SE}, {1, .5}, {2, e.DF}}, PoolOptions{Estimator: est, Interval: iv})
			result(t, what+" Pool", pl, err)
		}
	}
}

func TestDegenerateInputs(t *testing.T) {
	for _, x := range degenerate {
		estimates(t, x, false)
		estimates(t, x, true)
	}
	odd := []float64{math.NaN(), math.Inf(1), -1, 0, 5e-324, 1e-30, 1e-12, .3, 7, 1e12, 1e30, 1e308}
	for _, a := range odd {
		for _, b := range odd {
			effects(t, "effect", Effect{Value: a, SE: b, DF: 3, Sessions: 1})
			effects(t, "effect", Effect{Value: 1, SE: a, DF: b, Sessions: 1})
			plans(t, Effect{Value: a, SE: b, DF: 3, Sessions: 1}, 2, 3, 12)
		}
	}
	// The empty calls.
	_, err := Pool(nil, PoolOptions{})
	refused(t, err, "0 session")
	_, err = Report(nil, TableOptions{})
	refused(t, err, "no rows")
	_, _, err = AcrossSessions(nil, nil)
	refused(t, err, "no sessions")
	_, err = CheckBalance(nil)
	refused(t, err, "no runs")
}

// FuzzEstimates: any numbers as rounds, differences, p values, costs, histories.
func FuzzEstimates(f *testing.F) {
	for _, x := range degenerate {
		f.Add(bytesOf(x...), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, onePair bool) { estimates(t, floats(b, 24), onePair) })
}

// FuzzEffects: any effect, through sessions, floors, bounds, plans and verdicts.
func FuzzEffects(f *testing.F) {
	for _, x := range degenerate {
		if len(x) >= 3 {
			f.Add(x[0], x[1], x[2])
		}
	}
	f.Add(1.0, 1e-30, .5)
	f.Add(1e30, 1e30, 1e300)
	f.Fuzz(func(t *testing.T, value, se, df float64) {
		effects(t, "effect", Effect{Value: value, SE: se, DF: df, Sessions: 1})
	})
}

// FuzzBlocks: any numbers in any blocks.
func FuzzBlocks(f *testing.F) {
	f.Add(bytesOf(1, 1.01, .99, 1.02, 1, 1.03), []byte{0, 0, 1, 1, 2, 2})
	f.Add(bytesOf(1, 1, 1, 1), []byte{0, 0, 1, 1})
	f.Add(bytesOf(1, 1.01, 1, 1.01), []byte{0, 0, 1, 1})
	f.Fuzz(func(t *testing.T, b, blocks []byte) {
		x := floats(b, 40)
		ids := make([]int, 0, len(x))
		for i := range x {
			if i < len(blocks) {
				ids = append(ids, int(blocks[i]))
			}
		}
		e, err := Blocked(x, ids, Options{Flips: 99})
		result(t, "Blocked", e, err)
	})
}
