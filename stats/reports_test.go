package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each test is named after the public report whose numbers it holds.

func pairs(base, variant []float64) []Round {
	r := make([]Round, len(base))
	for i := range base {
		r[i] = Round{Index: i, Baseline: Arm{base[i], 1}, Variant: Arm{variant[i], 1}, Order: 1 - 2*(i%2)}
	}
	return r
}

func repeat(x float64, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = x
	}
	return s
}

func refused(t *testing.T, err error, reason string) {
	t.Helper()
	var nt *NotTestableError
	require.ErrorAs(t, err, &nt)
	require.ErrorIs(t, err, ErrNotTestable)
	require.Contains(t, err.Error(), reason)
}

// "~ (p=0.079 n=4+5)": the one 114 among the 115s was dropped as an outlier, and
// five times 78.8 taken for a reason not to tell 79 from 115 (also rsc/benchstat#7).
func TestGolangGo19634NothingDropped(t *testing.T) {
	old, now := []float64{115, 114, 115, 115, 115}, repeat(78.8, 5)
	e, err := FromRounds(pairs(old, now), Options{})
	require.NoError(t, err)
	require.Equal(t, 5, e.N, "not 4")
	require.Equal(t, 5, e.Units)
	near(t, mean([]float64{78.8 / 115, 78.8 / 114, 78.8 / 115, 78.8 / 115, 78.8 / 115}), e.Mean, nine)
	require.InDelta(t, -31.4, 100*(e.RatioOfMeans.Point-1), .05)
	require.Less(t, e.Interval.High, 1.0, "a difference is resolved")
	require.Less(t, e.P, 1e-6)
	require.Equal(t, 5, e.Signs.Same)
	near(t, 2.0/32, e.SignFlip.P, nine) // the smallest that five pairs can give
	require.True(t, hasWarning(e.Warnings, TooFewRounds), "and so five are too few, which is said and not silently p=0.079")
	p, err := FisherExact(5, 0, 0, 5) // the unpaired exact p: all of one arm below all of the other
	require.NoError(t, err)
	near(t, 2.0/252, p, nine)
	// The value that was dropped moves the result.
	old[1] = 100
	moved, err := FromRounds(pairs(old, now), Options{})
	require.NoError(t, err)
	require.Greater(t, moved.Mean, e.Mean+.015)
}

// Old has A=100 and B=10000, new has A=100 only: 1.00µs against 0.10µs, "−90.00%".
func TestGolangGo19565GeomeanMatchedRowsOnly(t *testing.T) {
	old, now := map[string]float64{"A": 100, "B": 10000}, map[string]float64{"A": 100}
	var ratios, olds, news []float64
	for _, name := range []string{"A", "B"} {
		r := math.NaN() // a row that is not on both sides has no ratio
		if v, ok := now[name]; ok {
			r = v / old[name]
			news = append(news, v)
		}
		ratios, olds = append(ratios, r), append(olds, old[name])
	}
	m, err := GeometricMean(ratios)
	require.NoError(t, err)
	require.Equal(t, RowMean{Ratio: 1, Rows: 1, Excluded: []int{1}}, m, "0%, over one row, and the other is named")
	// What was printed: each side's own mean, over other rows.
	a, err := GeometricMean(olds)
	require.NoError(t, err)
	b, err := GeometricMean(news)
	require.NoError(t, err)
	near(t, .1, b.Ratio/a.Ratio, nine)
	require.NotEqual(t, a.Rows, b.Rows, "which shows in the count")
}

func TestCockroach107439ZeroBaseline(t *testing.T) {
	e, err := FromRounds(pairs(repeat(0, 6), repeat(6, 6)), Options{})
	refused(t, err, "baseline")
	require.False(t, e.Testable())
	b, err := json.Marshal(e)
	require.NoError(t, err)
	require.Contains(t, string(b), `"log":null`, "a number that is not there is null, never a string")
}

func TestGoogleBenchmark2290ZeroRowInGeomean(t *testing.T) {
	m, err := GeometricMean([]float64{0, 2, 8})
	require.NoError(t, err)
	near(t, 4, m.Ratio, nine)
	require.Equal(t, []int{0}, m.Excluded)
	require.Equal(t, 2, m.Rows)
	_, err = Round{Baseline: Arm{0, 1}, Variant: Arm{3, 1}}.Ratio()
	refused(t, err, "baseline")
}

// Which colour means "different": the answer is a word, a side and a p.
func TestGoogleBenchmark1491SayWhichIsDifferent(t *testing.T) {
	r, err := Ratios(pairs([]float64{10, 9, 8}, []float64{9, 10, 8}))
	require.NoError(t, err)
	e, err := MeanOfRatios(r, Options{})
	require.NoError(t, err)
	require.Equal(t, SignCount{Same: 1, Of: 3, Zero: 1, P: 1}, e.Signs)
	v := Judge(VerdictInput{Effect: e.Effect(), Floor: &Floor{Percent: 1}, Warnings: e.Warnings, Family: 1})
	require.Equal(t, NoResolvedDifference, v.Kind)
	require.Equal(t, ClauseContainsZero, v.Clause)
	require.Contains(t, v.Text, "+0.37%", "−10%, +11.1% and 0% on average")
}

func TestGoogleBenchmark678PairIWithI(t *testing.T) {
	r, err := Ratios(pairs([]float64{10, 9, 8}, []float64{9, 10, 8}))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{.9, 10.0 / 9, 1}, r, 1e-15)
}

func TestCriterion720AllEqual(t *testing.T) {
	for _, n := range []int{2, 12, 100} {
		e, err := FromRounds(pairs(repeat(1, n), repeat(1, n)), Options{})
		refused(t, err, "zero variance")
		require.Equal(t, 1.0, e.Mean)
		require.Equal(t, 1.0, e.P)
		require.Equal(t, Invalid, Judge(VerdictInput{Effect: e.Effect()}).Kind, "never \"no change detected\"")
	}
}

func TestCriterion250CostPerResponse(t *testing.T) {
	r, err := Round{Baseline: Arm{100, 10}, Variant: Arm{150, 20}}.Ratio()
	require.NoError(t, err)
	near(t, .75, r, nine)
}

func TestScipy16459NoZeroP(t *testing.T) {
	d := repeat(1, 30)
	s, err := SignFlipTest(d, Options{Flips: 99})
	require.NoError(t, err)
	require.False(t, s.Exact)
	near(t, 1.0/100, s.P, nine)
	s, err = SignFlipTest(d[:20], Options{})
	require.NoError(t, err)
	near(t, math.Ldexp(2, -20), s.P, nine)
}

// hits/reps was 0 where no permutation was as extreme: (hits+1)/(reps+1) is not.
func TestPermute108NoZeroP(t *testing.T) {
	d := make([]float64, 40) // one of 2^40 flips is as extreme, and 99 draws will not find it
	for i := range d {
		d[i] = 1 + .01*float64(i%7)
	}
	for _, reps := range []int{99, 999} {
		s, err := SignFlipTest(d, Options{Flips: reps})
		require.NoError(t, err)
		require.Equal(t, reps, s.Flips)
		near(t, 1/float64(reps+1), s.P, nine)
	}
	m, err := MaxTFamily([][]float64{d, d}, Options{Flips: 99})
	require.NoError(t, err)
	near(t, 1.0/100, m.Rows[0].P, nine)
	history := append(repeat(1, 10), repeat(2, 10)...)
	history[0], history[19] = 1.01, 2.01
	c, err := ChangePoints(history, ChangeOptions{Shuffles: 99})
	require.NoError(t, err)
	near(t, 1.0/100, c[0].P, nine)
}

func TestScipy14351ConstantData(t *testing.T) {
	e, err := MeanOfDifferences(repeat(10000, 35), Options{})
	refused(t, err, "zero variance")
	require.Equal(t, 10000.0, e.Mean)
}

func TestPyperf203EqualIsNotSignificant(t *testing.T) {
	_, err := FromRounds(pairs([]float64{5, 5}, []float64{5, 5}), Options{})
	refused(t, err, "zero variance")
	_, err = FromRounds(pairs([]float64{5}, []float64{6}), Options{})
	refused(t, err, "needs 2")
}

// Base always first: the slot's effect is the treatment's.
func TestIfcLite4221BaseAlwaysFirst(t *testing.T) {
	fixed := pairs(repeat(100, 8), []float64{123, 124, 123.5, 122.9, 123.4, 123.8, 123.1, 124.2})
	for i := range fixed {
		fixed[i].Order = 1
	}
	e, err := FromRounds(fixed, Options{})
	require.NoError(t, err)
	require.True(t, hasWarning(e.Warnings, OrderUnbalanced))
	b, err := CheckBalance([][]int{{0, 1}, {0, 1}})
	require.NoError(t, err)
	require.False(t, b.Balanced())

	// Same slot effect, balanced order: the mean is clean and the slot is named.
	var base, variant []float64
	noise := []float64{.3, -.2, .1, -.4, .2, .4, -.1, -.3}
	for i := range 8 {
		if i%2 == 0 { // the variant is second and pays
			base, variant = append(base, 100), append(variant, 123.5+noise[i])
		} else {
			base, variant = append(base, 123.5+noise[i]), append(variant, 100)
		}
	}
	e, err = FromRounds(pairs(base, variant), Options{})
	require.NoError(t, err)
	require.True(t, hasWarning(e.Warnings, OrderMatters))
	require.True(t, e.Interval.Contains(1))
	narrow, err := FromRounds(pairs(base, variant), Options{OnePair: true})
	require.NoError(t, err)
	require.Less(t, narrow.Interval.HalfWidth(), e.Interval.HalfWidth()/10)
}

// The same commit on both sides, the base always first: 0.93.
func TestMIPVerify276SameCommitBaseFirst(t *testing.T) {
	noise := []float64{.4, -.3, .2, -.5, .1, .3, -.2, 0}
	// The one that runs second is 7% cheaper, whichever it is.
	run := func(order func(i int) int) []Round {
		var r []Round
		for i, v := range noise {
			first, second := Arm{100, 1}, Arm{93 + v, 1}
			k := Round{Index: i, Order: order(i), Baseline: first, Variant: second}
			if k.Order < 0 {
				k.Baseline, k.Variant = second, first
			}
			r = append(r, k)
		}
		return r
	}
	fixed, err := FromRounds(run(func(int) int { return 1 }), Options{})
	require.NoError(t, err)
	require.InDelta(t, .93, fixed.Mean, .001)
	require.False(t, fixed.Interval.Contains(1), "which is what the report saw, at one commit")
	require.True(t, hasWarning(fixed.Warnings, OrderUnbalanced))
	require.Nil(t, fixed.Order, "and nothing in such rounds can tell the slot from the commit")
	turns, err := FromRounds(run(func(i int) int { return 1 - 2*(i%2) }), Options{OnePair: true})
	require.NoError(t, err)
	require.InDelta(t, 1, turns.Mean, .004)
	require.InDelta(t, -.0725, turns.Order.Delta, .002)
	require.True(t, turns.Log.Interval.Contains(1), "at one commit there is no change")
	require.True(t, hasWarning(turns.Warnings, RatioBias), "half the square of the slot is left in the mean of ratios, which is said")
	v := Judge(VerdictInput{Effect: turns.Effect(), Floor: &Floor{Percent: 1}, Warnings: turns.Warnings, Family: 1})
	require.NotContains(t, []Kind{Finding, NearFloor}, v.Kind)
}

// Samples inside a run taken as independent.
func TestFirecracker6047PseudoReplication(t *testing.T) {
	var r []float64
	var block []int
	rng := rand.New(rand.NewPCG(1, 1))
	for b := range 2 {
		for range 1000 {
			r = append(r, 1+.02*float64(b)+.001*rng.NormFloat64())
			block = append(block, b)
		}
	}
	e, err := Blocked(r, block, Options{})
	require.NoError(t, err)
	require.Equal(t, 2000, e.N)
	require.Equal(t, 2, e.Units)
	require.Equal(t, 1.0, e.DF)
	require.Greater(t, e.P, .05)
	require.True(t, hasWarning(e.Warnings, TooFewBlocks))
	naive, err := MeanOfRatios(r, Options{Flips: 99})
	require.NoError(t, err)
	require.Less(t, naive.P, 1e-100, "which is what the report was about")
}
