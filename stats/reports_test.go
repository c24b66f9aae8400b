package stats

import (
	"encoding/json"
	"errors"
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

// An "outlier" was dropped, and one arm without variance made the test refuse.
func TestGolangGo19634NothingDropped(t *testing.T) {
	e, err := FromRounds(pairs([]float64{115, 114, 115, 115, 115}, repeat(78.8, 5)), Options{})
	require.NoError(t, err)
	require.Equal(t, 5, e.N)
	require.InDelta(t, -31.4, 100*(e.RatioOfMeans.Point-1), .05)
	require.InDelta(t, 2.0/32, e.SignFlip.P, 1e-12)
	p, err := FisherExact(5, 0, 0, 5) // the unpaired exact p: all of one arm below all of the other
	require.NoError(t, err)
	near(t, 2.0/252, p, nine)
}

func TestGolangGo19565GeomeanMatchedRowsOnly(t *testing.T) {
	m, err := GeometricMean([]float64{100.0 / 100, math.NaN()})
	require.NoError(t, err)
	require.Equal(t, RowMean{Ratio: 1, Rows: 1, Excluded: []int{1}}, m)
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

// Also google/benchmark#1491, same numbers.
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

// A/A passed only when all blocks agreed in sign, which chance gives in 0.78%.
func TestDatadogSdk3749AAByBoundNotBySign(t *testing.T) {
	blocks := []float64{1.001, .999, 1.0004, .9991, 1.0012, .9996, 1.0003, .9994}
	e, err := MeanOfRatios(blocks, Options{})
	require.NoError(t, err)
	require.InDelta(t, .0078, countSigns(repeat(1, 8)).P, .00005)
	q, err := e.Equivalence(1)
	require.NoError(t, err)
	require.True(t, q.Holds)
	noisy, err := MeanOfRatios([]float64{1.1, .9, 1.04, .91, 1.12, .96, 1.03, .94}, Options{})
	require.NoError(t, err)
	require.True(t, noisy.Interval.Contains(1))
	q, err = noisy.Equivalence(1)
	require.NoError(t, err)
	require.False(t, q.Holds, "a noisy rig contains zero and still does not pass")
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

func TestScylla288HolmMonotone(t *testing.T) {
	require.InDeltaSlice(t, []float64{.02, .02}, adjusted(t, Holm, .01, .011), 1e-15)
}

func TestGoatools281NothingSignificant(t *testing.T) {
	require.Equal(t, []float64{1, 1, 1, 1, 1}, adjusted(t, Holm, .25, 1, 1, 1, 1))
}

func TestStatsmodels764RejectAtAlpha(t *testing.T) {
	r, err := Holm([]float64{.05}, .05)
	require.NoError(t, err)
	require.True(t, r[0].Reject)
	r, err = Holm([]float64{.01, .02, .03, .04, .05}, .05)
	require.NoError(t, err)
	require.True(t, r[0].Reject)
	require.False(t, r[1].Reject)
}

func TestNanocompore41OneNaN(t *testing.T) {
	r, err := Holm([]float64{.01, math.NaN(), .03}, 0)
	require.NoError(t, err)
	near(t, .03, r[0].Adjusted, nine)
	near(t, .06, r[2].Adjusted, nine)
	require.True(t, r[1].Failed)
	require.Equal(t, 1.0, r[1].Adjusted)
	require.False(t, r[1].Reject)
}

// Forty rows of identical code: without a correction 87% of pages show a star.
func TestNode28867FortyRowsAA(t *testing.T) {
	near(t, .871, 1-math.Pow(.95, 40), 1e-3)
	rng := rand.New(rand.NewPCG(7, 7))
	const pages = 300
	bare, holm := 0, 0
	for range pages {
		var p []float64
		any := false
		for range 40 {
			var d [12]float64
			for i := range d {
				d[i] = rng.NormFloat64()
			}
			m, sd := moments(d[:])
			v := tTwoSided(m/(sd/math.Sqrt(12)), 11)
			p = append(p, v)
			any = any || v <= .05
		}
		if any {
			bare++
		}
		r, err := Holm(p, 0)
		require.NoError(t, err)
		for _, x := range r {
			if x.Reject {
				holm++
				break
			}
		}
	}
	// Fixed seed: these cannot fail by chance, only when the code changes.
	require.Greater(t, bare, pages*80/100)
	require.Less(t, holm, pages*9/100)
}

func TestRstatix259AchievedLevel(t *testing.T) {
	e := differences(t, []float64{-9, -2, 0, 0, 0, 0, -1, 0, -1, 0, 0, 0})
	near(t, .125, e.SignFlip.P, nine)
	require.InDelta(t, -2.72, e.Interval.Low, .005)
	require.InDelta(t, .55, e.Interval.High, .005)
	require.GreaterOrEqual(t, e.HodgesLehmann.Interval.Level, .95, "the level is the one reached")
	few := differences(t, []float64{1, 2, 3, 4})
	near(t, 1-2.0/16, few.HodgesLehmann.Interval.Level, nine)
}

func TestConbench802SDOfOneValue(t *testing.T) {
	e, err := MeanOfDifferences([]float64{7}, Options{})
	refused(t, err, "needs 2")
	require.False(t, e.Testable())
	e, err = MeanOfDifferences([]float64{7, 8}, Options{})
	require.NoError(t, err)
	require.Equal(t, 1.0, e.DF)
}

// One commit, single-run ratios from 1.97 to 2.90.
func TestDekaf2431TwoRunsAreNoResult(t *testing.T) {
	e, err := MeanOfRatios([]float64{1.97, 2.90}, Options{})
	require.NoError(t, err)
	require.Greater(t, e.Interval.HalfWidth(), 5.0)
	require.True(t, hasWarning(e.Warnings, TooFewRounds))
	require.NotEqual(t, Finding, Judge(VerdictInput{Effect: e.Effect(), Floor: &Floor{Percent: 1}, Warnings: e.Warnings}).Kind)
}

// rvlenth/emmeans#337 and easystats/modelbased#228: Holm has no matching
// interval, and both disagreements confuse readers. Both are given, named.
func TestEmmeans337HolmAndIntervalsDiffer(t *testing.T) {
	row := func(p float64) Effect { return Effect{Value: tUpper(p/2, 11), SE: 1, DF: 11, Sessions: 1} }
	ps := []float64{.001, .02, .04}
	h, err := Holm(ps, 0)
	require.NoError(t, err)
	require.True(t, h[1].Reject)
	i, err := Simultaneous(row(ps[1]), 3, 0)
	require.NoError(t, err)
	require.True(t, i.Contains(0), "rejected by Holm, and its simultaneous interval contains zero")
	require.Equal(t, "simultaneous (Bonferroni)", i.Name)
	h, err = Holm([]float64{.04, .04, .04}, 0)
	require.NoError(t, err)
	require.False(t, h[0].Reject)
	own, err := row(.04).Interval(0)
	require.NoError(t, err)
	require.False(t, own.Contains(0), "not rejected, and its own interval excludes zero")
	require.Equal(t, "t, this session only", own.Name)
}

// One commit, A/A +12.27, −.33, −10.88.
func TestOrbit295ThreeAASessions(t *testing.T) {
	y := []float64{12.27, -.33, -10.88}
	e := differences(t, y)
	require.InDelta(t, .35, e.Mean, .005)
	require.InDelta(t, -28.4, e.Interval.Low, .05)
	require.InDelta(t, 29.1, e.Interval.High, .05)
	require.InDelta(t, 57.6, predictionFloor(y), .05)
}

// An infinite ratio fell out of the verdict, which then said "no regressions".
func TestMoqAnalyzers1268FailClosed(t *testing.T) {
	good := pairs([]float64{100, 101, 99, 100, 102, 98}, []float64{110, 111, 108, 111, 112, 108})
	rows, err := Report([]Row{{Name: "bad", Rounds: pairs(repeat(0, 6), repeat(5, 6))}, {Name: "good", Rounds: good}}, TableOptions{})
	require.NoError(t, err)
	require.Equal(t, Invalid, rows[0].Verdict.Kind)
	require.Contains(t, rows[0].Verdict.Text, "baseline")
	require.True(t, rows[0].P.Failed)
	near(t, math.Min(1, 2*rows[1].P.P), rows[1].P.Adjusted, nine)
}

// Code-free commits were flagged with an interval across zero; lance0/rustbgpd#566 alike.
func TestNeqo1771StraddlesZero(t *testing.T) {
	v := Judge(VerdictInput{Effect: Effect{Value: 1.2, SE: 1, DF: 11, Sessions: 1}, Floor: &Floor{Percent: 3}})
	require.Equal(t, NoResolvedDifference, v.Kind)
	require.Equal(t, ClauseContainsZero, v.Clause)
}

// Identical code, other binaries: ±2.5–3%.
func TestFasterCPython480CodeLayout(t *testing.T) {
	f := &Floor{Percent: 1.5}
	v := Judge(VerdictInput{Effect: Effect{Value: 2.8, SE: .3, DF: 11, Sessions: 1}, Floor: f, Release: true})
	require.Contains(t, v.Notes, "one binary each: code layout alone can do this")
	v = Judge(VerdictInput{Effect: Effect{Value: 3.1, SE: .3, DF: 11, Sessions: 1}, Floor: f, Release: true})
	require.NotContains(t, v.Notes, "one binary each: code layout alone can do this")
}

// The minimum of each arm separately throws the pairing away.
func TestAiDotNetTensors741PairingKept(t *testing.T) {
	var base, variant []float64
	for i := range 12 {
		m := 100 + 10*float64(i%5) // the machine's own ups and downs hit both arms
		base, variant = append(base, m), append(variant, m*(1.02+.001*float64(i%3-1)))
	}
	e, err := FromRounds(pairs(base, variant), Options{})
	require.NoError(t, err)
	require.InDelta(t, 2, e.Effect().Value, .01)
	require.Less(t, e.Interval.HalfWidth(), .001)
}

// Stopping when the interval looks good.
func TestReBench14StoppingOnTheInterval(t *testing.T) {
	l, err := PlanLooks([]int{12, 24}, 0, EqualSpending)
	require.NoError(t, err)
	r, err := l.Review([]Look{{Rounds: 6, P: .001}, {Rounds: 12, P: .03}, {Rounds: 24, P: .024}, {Rounds: 30, P: 1e-9}})
	require.NoError(t, err)
	require.Equal(t, 2, r.Unplanned)
	require.False(t, r.Looks[0].Reject, "an unplanned look never decides")
	require.False(t, r.Looks[1].Reject)
	require.True(t, r.Looks[2].Reject)
	require.True(t, hasWarning(r.Warnings, UnplannedLook))
}

// google/tachometer#138 and the like ask how many rounds: the plan answers first.
func TestPlanThatCannotSurviveItsFamily(t *testing.T) {
	err := FamilyPlan{Rows: 15, Units: 8}.Check()
	var pe *PlanError
	require.True(t, errors.As(err, &pe))
	require.Equal(t, 10, pe.NeedUnits)
	require.InDelta(t, .0078, pe.SmallestP, .00005)
	require.NoError(t, FamilyPlan{Rows: 15, Units: 10}.Check())
	require.NoError(t, FamilyPlan{Rows: 102, Units: 12}.Check())
	require.Error(t, FamilyPlan{Rows: 103, Units: 12}.Check())
	require.Error(t, FamilyPlan{Rows: 1, Units: 5}.Check())
	require.NoError(t, FamilyPlan{Rows: 1, Units: 6}.Check())
	// Beyond 20 units the flips are drawn, and their number is the limit.
	require.NoError(t, FamilyPlan{Rows: 5000, Units: 24}.Check())
	require.True(t, errors.As(FamilyPlan{Rows: 5001, Units: 24}.Check(), &pe))
	require.Equal(t, 24, pe.NeedUnits)
	require.InDelta(t, 100_019, pe.NeedFlips, 1)
	require.NoError(t, FamilyPlan{Rows: 5001, Units: 24, Flips: pe.NeedFlips}.Check())
	require.Error(t, FamilyPlan{Rows: 5001, Units: 24, Flips: pe.NeedFlips - 2}.Check())
	require.Error(t, FamilyPlan{Rows: 100, Units: 24, Flips: 999}.Check())
	require.True(t, errors.As(FamilyPlan{Rows: 30_000, Units: 12}.Check(), &pe))
	require.NoError(t, FamilyPlan{Rows: 30_000, Units: pe.NeedUnits, Flips: pe.NeedFlips}.Check())
}
