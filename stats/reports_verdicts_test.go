package stats

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Reports on what may be said of few, noisy or identical runs; see reports_test.go.

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

// Also kassambara/rstatix#127.
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

// Two repetitions were treated like one: there is an SD from two on, and it is said
// how little it is worth.
func TestConbench1605TwoRepetitions(t *testing.T) {
	one, err := MeanOfDifferences([]float64{7}, Options{})
	refused(t, err, "needs 2")
	b, err := json.Marshal(one)
	require.NoError(t, err)
	require.Contains(t, string(b), `"drift":null`)
	two, err := MeanOfDifferences([]float64{7, 9}, Options{})
	require.NoError(t, err)
	near(t, math.Sqrt2, two.SD, nine)
	near(t, 1, two.SE, nine)
	near(t, 12.706204736, two.Interval.HalfWidth(), nine)
	require.True(t, hasWarning(two.Warnings, TooFewRounds))
}

// One commit, single-run ratios from 1.97 to 2.90.
func TestDekaf2431TwoRunsAreNoResult(t *testing.T) {
	e, err := MeanOfRatios([]float64{1.97, 2.90}, Options{})
	require.NoError(t, err)
	require.Greater(t, e.Interval.HalfWidth(), 5.0)
	require.True(t, hasWarning(e.Warnings, TooFewRounds))
	require.NotEqual(t, Finding, Judge(VerdictInput{Effect: e.Effect(), Floor: &Floor{Percent: 1}, Warnings: e.Warnings}).Kind)
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

// Code-free commits were flagged with an interval across zero.
func TestNeqo1771StraddlesZero(t *testing.T) {
	v := Judge(VerdictInput{Effect: Effect{Value: 1.2, SE: 1, DF: 11, Sessions: 1}, Floor: &Floor{Percent: 3}})
	require.Equal(t, NoResolvedDifference, v.Kind)
	require.Equal(t, ClauseContainsZero, v.Clause)
}

// A commit of documentation only: +3.30%, attempts from +0.48% to +6.88% and so all
// of one sign, 95% interval −3.06% to +2.96%. It turned the nightly run red.
func TestRustbgpd566DocsOnlyCommit(t *testing.T) {
	interval := published(-.05, -3.06, 2.96)
	v := Judge(VerdictInput{Effect: interval, Floor: &Floor{Percent: 1}, Family: 1})
	require.Equal(t, NoResolvedDifference, v.Kind)
	require.Equal(t, ClauseContainsZero, v.Clause)
	// The attempts by themselves: mean 3.3, all above zero, and too few to say so.
	e := differences(t, []float64{.48, 2.54, 6.88})
	require.InDelta(t, 3.3, e.Mean, .005)
	require.True(t, e.Interval.Contains(0))
	require.Equal(t, 3, e.Signs.Same)
	near(t, .25, e.Signs.P, nine) // three of three, by chance in one of four
	v = Judge(VerdictInput{Effect: e.Effect(), Floor: &Floor{Percent: 1}, Family: 1, Warnings: e.Warnings})
	require.Equal(t, NoResolvedDifference, v.Kind)
}

// Identical code, two builds: 5th and 95th percentile at ±3%, ±2% with the very
// same binary.
func TestFasterCPython551OneBinaryEach(t *testing.T) {
	var sameBinary, builds []Effect
	for i, v := range []float64{-1, 1, -.6, .6, -.2, .2} { // six A/A sessions of either kind
		sameBinary = append(sameBinary, Effect{Value: v, SE: .3 + .01*float64(i), DF: 11, Sessions: 1})
		builds = append(builds, Effect{Value: 1.5 * v, SE: .3 + .01*float64(i), DF: 11, Sessions: 1})
	}
	same, err := FloorFromAA(sameBinary[0], sameBinary[1:], nil)
	require.NoError(t, err)
	require.InDelta(t, 2, same.Percent, .2)
	other, err := FloorFromAA(builds[0], builds[1:], nil)
	require.NoError(t, err)
	require.InDelta(t, 3, other.Percent, .35)
	// +2.8% between two builds: above the floor of one binary, and it is said that
	// layout can do this; the floor that rebuilds gave holds it back.
	row := VerdictInput{Effect: Effect{Value: 2.8, SE: .3, DF: 11, Sessions: 1}, Floor: &same, Family: 1, Release: true}
	require.Contains(t, Judge(row).Notes, "one binary each: code layout alone can do this")
	row.Floor = &other
	require.Equal(t, ClauseUnderFloor, Judge(row).Clause)
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

// Outliers should be dropped, so that more samples always mean a steadier result:
// they are kept and seen, and the sturdy estimate stands beside the mean.
func TestTachometer138OutliersStay(t *testing.T) {
	r := []float64{1.020, 1.022, 1.019, 1.021, 1.020, 1.018, 1.023, 1.020, 1.019, 1.021, 1.0205, 1.0195}
	calm, err := MeanOfRatios(r, Options{})
	require.NoError(t, err)
	require.False(t, calm.Interval.Contains(1))
	r[5] = 1.4 // a daemon woke up
	wild, err := MeanOfRatios(r, Options{})
	require.NoError(t, err)
	require.Equal(t, 12, wild.N)
	require.InDelta(t, calm.Mean+(1.4-1.018)/12, wild.Mean, 1e-12)
	require.True(t, wild.Interval.Contains(1), "unsure, and honestly so")
	require.InDelta(t, calm.HodgesLehmann.Point, wild.HodgesLehmann.Point, .002)
	require.Greater(t, wild.HodgesLehmann.Interval.Low, 1.0)
	require.Equal(t, 5, wild.LeaveOneOut.Most)
	require.InDelta(t, 1.020, wild.LeaveOneOut.Low, .001)
	require.True(t, hasWarning(wild.Warnings, RanksDisagree))
	require.Equal(t, NoResolvedDifference, Judge(VerdictInput{Effect: wild.Effect(), Floor: &Floor{Percent: 1}, Warnings: wild.Warnings, Family: 1}).Kind)
}

// An exit status was wanted for "slower": the answer is a value with three states,
// and a program stops on all but the one.
func TestGolangGo20728AnswerForAnExitStatus(t *testing.T) {
	for value, want := range map[float64]BudgetAnswer{.5: WithinBudget, 3.5: OverBudget, 2.1: BudgetUndecided} {
		b, err := AskBudget(Effect{Value: value, SE: .3, DF: 11, Sessions: 1}, 2)
		require.NoError(t, err)
		require.Equal(t, want, b.Answer)
	}
	b, err := AskBudget(Effect{Value: 1}, 2)
	refused(t, err, "standard error")
	require.NotEqual(t, WithinBudget, b.Answer, "what could not be computed is no pass")
}
