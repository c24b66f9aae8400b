package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The gonum trap, and the values around the switch to the expansion.
func TestStudentTTails(t *testing.T) {
	for _, c := range []struct{ q, df, want float64 }{
		{.025, 11, 2.200985160082949}, {.025, 19, 2.093024054408263}, {.025, 3, 3.182446305284263},
		{.025, 1, 12.70620473617471}, {.05 / 18, 11, 3.4368}, {.05 / 30, 11, 3.7283},
		{1e-12, 1e6, 7.0346}, {.025, normalDF, 1.959963984540054},
	} {
		rel := nine
		if c.want == 3.4368 || c.want == 3.7283 || c.want == 7.0346 {
			rel = 2e-5 // printed digits
		}
		near(t, c.want, tUpper(c.q, c.df), rel)
	}
	// No step at the switch, in the middle or far out.
	for _, q := range []float64{.4, .025, 1e-4, 1e-8} {
		below, above := tUpper(q, largeDF), tUpper(q, largeDF+1e-3)
		near(t, below, above, 1e-8)
	}
	for _, df := range []float64{1, 5, 11, 400, 9e3, 1.1e4, 1e6, 1e8} {
		for _, q := range []float64{.3, .025, 1e-3, 1e-6} {
			near(t, q, tSurvival(tUpper(q, df), df), 1e-6)
		}
	}
	near(t, .05, fSurvival(fUpper(.05, 5, 18), 5, 18), nine)
	near(t, 2.772853, fUpper(.05, 5, 18), 1e-6)
	near(t, 16.918978, chiSquaredUpper(.05, 9), 1e-6)
}

// The exact count against brute force, and the intervals of known order index.
func TestSignFlipAgainstEnumeration(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for n := 1; n <= 12; n++ {
		d := make([]float64, n)
		for i := range d {
			d[i] = math.Round(10 * rng.NormFloat64()) // ties and zeros on purpose
		}
		hits := 0
		for f := range 1 << n {
			var s float64
			for i, v := range d {
				if f>>i&1 == 1 {
					v = -v
				}
				s += v
			}
			if math.Abs(s) >= math.Abs(sum(d)) {
				hits++
			}
		}
		s, err := SignFlipTest(d, Options{})
		require.NoError(t, err)
		require.Equal(t, float64(hits)/float64(int(1)<<n), s.P, "%v", d)
	}
	for _, c := range []struct {
		n, k  int
		level float64
	}{{6, 1, .969}, {8, 4, .961}, {12, 14, .9575}, {20, 53, .9516}} {
		k, level := rankIndex(c.n, .05)
		require.Equal(t, c.k, k)
		require.InDelta(t, c.level, level, .0005)
	}
	// Drawn flips agree with exact ones.
	d := make([]float64, 20)
	for i := range d {
		d[i] = .3 + rng.NormFloat64()
	}
	exact, err := SignFlipTest(d, Options{})
	require.NoError(t, err)
	drawn, err := SignFlipTest(append(d, 0), Options{}) // a zero changes no sum
	require.NoError(t, err)
	require.InDelta(t, exact.P, drawn.P, 5*math.Sqrt(exact.P/99999)+1e-5)
}

func TestSignCounts(t *testing.T) {
	c := CountSigns(repeat(1, 12))
	require.InDelta(t, .000488, c.P, 5e-7)
	d := append(repeat(1, 33), repeat(-1, 4)...)
	c = CountSigns(append(d, 0))
	require.Equal(t, SignCount{Same: 33, Of: 38, Zero: 1, P: c.P}, c)
	require.InDelta(t, 1.08e-6, c.P, .005e-6)
	require.Equal(t, 1.0, CountSigns(nil).P)
}

// One wild round: seen by every check, removed by none.
func TestOneOutlier(t *testing.T) {
	r := []float64{.8, 1.2, .9, 1.1, 1.0, .7, 1.3, 1.0, .9, 1.1, 1.05, .95}
	e := differences(t, r)
	require.InDelta(t, 1.00, e.Mean, .0005)
	require.InDelta(t, .894, e.Interval.Low, .0005)
	require.InDelta(t, 1.106, e.Interval.High, .0005)
	r[5] = 9
	e = differences(t, r)
	require.InDelta(t, 1.692, e.Mean, .0005)
	require.InDelta(t, .227, e.Interval.Low, .0005)
	require.InDelta(t, 3.157, e.Interval.High, .0005)
	require.InDelta(t, 1.050, e.HodgesLehmann.Point, .0005)
	require.InDelta(t, .95, e.HodgesLehmann.Interval.Low, .0005)
	require.InDelta(t, 1.25, e.HodgesLehmann.Interval.High, .0005)
	require.InDelta(t, 1.03, e.LeaveOneOut.Low, .005)
	require.InDelta(t, 1.77, e.LeaveOneOut.High, .005)
	require.Equal(t, 5, e.LeaveOneOut.Most)
	require.InDelta(t, .00049, e.SignFlip.P, .000005)
	require.Equal(t, 12, e.N)
}

func TestRatioRoundsAndDrift(t *testing.T) {
	// A-B-B-A under additive drift, true +2%.
	a := Total(Arm{100, 1}, Arm{103, 1})
	b := Total(Arm{1.02 * 101, 1}, Arm{1.02 * 102, 1})
	r, err := Round{Baseline: a, Variant: b}.Ratio()
	require.NoError(t, err)
	near(t, 1.02, r, nine)
	// Swapped arms invert the log estimate, not the mean of ratios.
	e, err := MeanOfRatios([]float64{.5, 2}, Options{})
	require.NoError(t, err)
	require.Equal(t, 25.0, e.Effect().Value)
	near(t, 1, e.Log.Point, nine)
	// A slope is found and warned of.
	var d []float64
	for i := range 12 {
		d = append(d, 1+.01*float64(i)+.001*float64(i%2))
	}
	e, err = MeanOfRatios(d, Options{})
	require.NoError(t, err)
	require.True(t, hasWarning(e.Warnings, Drifts))
	require.True(t, hasWarning(e.Warnings, Autocorrelated))
	require.InDelta(t, .01, e.Drift.PerUnit, .0005)
	require.Nil(t, e.Serial.Wider, "not even two effective rounds are left")
	wave := differences(t, []float64{0, 1, 1.2, .1, -.9, -1, 0, .9, 1, .2, -1.1, -.9})
	require.Greater(t, wave.Serial.Lag1, .3)
	require.Greater(t, wave.Serial.Wider.HalfWidth(), wave.Interval.HalfWidth())
}

func TestOrderTermUnbalanced(t *testing.T) {
	// r = 1.02 + .01·o + e: with unequal counts the plain mean is off, the model is not.
	o := []int{1, 1, 1, 1, 1, 1, -1, -1}
	noise := []float64{.001, -.001, .001, -.001, .001, -.001, .001, -.001}
	var rounds []Round
	for i, v := range o {
		rounds = append(rounds, Round{Index: i, Order: v, Baseline: Arm{1, 1}, Variant: Arm{1.02 + .01*float64(v) + noise[i], 1}})
	}
	plain, err := FromRounds(rounds, Options{})
	require.NoError(t, err)
	near(t, 1.025, plain.Mean, nine)
	model, err := FromRounds(rounds, Options{OnePair: true})
	require.NoError(t, err)
	near(t, 1.02, model.Mean, nine)
	near(t, .01, model.Order.Delta, nine)
	require.Equal(t, 6.0, model.DF)
	near(t, math.Sqrt(8e-6/6)*math.Sqrt(1.0/6+1.0/2)/2, model.SE, 1e-6)
	_, err = MeanOfRatios([]float64{1, 1.1, 1.2, .9}, Options{OnePair: true})
	refused(t, err, "whole rounds with Order")
}

func TestBlockedByHand(t *testing.T) {
	r := []float64{1.00, 1.02, 1.02, 1.04, 1.04, 1.06, 1.00, 1.02, 1.02, 1.04, 1.04, 1.06}
	block := []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}
	e, err := Blocked(r, block, Options{})
	require.NoError(t, err)
	require.Equal(t, 12, e.N)
	require.Equal(t, 6, e.Units)
	near(t, 1.03, e.Mean, nine)
	require.Equal(t, 5.0, e.DF)
	// Block means 1.01 1.03 1.05 twice: variance .0016/5·... = 4·.0004/5.
	near(t, math.Sqrt(.0016/5), e.SD, nine)
	near(t, math.Sqrt(.0002), *e.Blocks.WithinSD, nine) // six times (.0001+.0001)/6
	near(t, math.Sqrt(.0016/5-.0001), *e.Blocks.RestartSD, nine)
	require.True(t, e.Blocks.RestartInterval.Contains(*e.Blocks.RestartSD))
	require.Empty(t, e.Blocks.Note)
	require.Equal(t, "t over blocks", e.Interval.Name)

	// One round per block: the interval stands, the component does not.
	e, err = Blocked(r[:6], []int{0, 1, 2, 3, 4, 5}, Options{})
	require.NoError(t, err)
	require.Nil(t, e.Blocks.RestartSD)
	require.True(t, hasWarning(e.Warnings, ComponentUnknown))
	// Restarts that add nothing: zero with a note and an upper end.
	e, err = Blocked([]float64{1, 1.02, 1.001, 1.02, 1, 1.021, 1, 1.02, 1, 1.019, 1, 1.02}, block, Options{})
	require.NoError(t, err)
	require.Zero(t, *e.Blocks.RestartSD)
	require.NotEmpty(t, e.Blocks.Note)
	require.GreaterOrEqual(t, e.Blocks.RestartInterval.High, 0.0)

	_, err = Blocked(r, make([]int, 12), Options{})
	refused(t, err, "restart the arms")
	_, err = Blocked(r, block[:3], Options{})
	refused(t, err, "block numbers")
	e, err = Blocked(r[:10], block[:10], Options{})
	require.NoError(t, err)
	require.True(t, hasWarning(e.Warnings, TooFewBlocks))

	var rounds []Round
	for i, v := range r {
		rounds = append(rounds, Round{Index: i, Block: block[i], Order: 1 - 2*(block[i]%2), Baseline: Arm{100, 1}, Variant: Arm{100 * v, 1}})
	}
	f, err := FromRounds(rounds, Options{})
	require.NoError(t, err)
	near(t, 1.03, f.Mean, nine)
	require.NotNil(t, f.Order, "the start order is swapped from block to block")
	require.NotNil(t, f.RatioOfMeans)
}

func TestCompareWays(t *testing.T) {
	a, b := Effect{Value: 2.3, SE: .3, DF: 11, Sessions: 1}, Effect{Value: 2.9, SE: .15, DF: 5, Sessions: 1}
	c, err := Compare(a, b, 0)
	require.NoError(t, err)
	near(t, .6, c.Difference, nine)
	near(t, math.Sqrt(.09+.0225), c.SE, nine)
	near(t, sq(.1125)/(sq(.09)/11+sq(.0225)/5), c.DF, nine)
	require.False(t, c.Resolved)
	same, err := Compare(a, a, 0)
	require.NoError(t, err)
	near(t, 1, same.P, nine)
}

func TestFloorRegimes(t *testing.T) {
	one := Effect{Value: .4, SE: .3, DF: 11, Sessions: 1}
	h := tUpper(.025, 11) * .3
	f, err := FloorFromAA(one, nil, nil)
	require.NoError(t, err)
	near(t, .4+h, f.Percent, nine)
	require.True(t, f.SessionOnly)
	f, err = FloorFromAA(one, nil, &Spread{Percent: .34, Known: true})
	require.NoError(t, err)
	near(t, math.Max(.4+h, math.Hypot(h, 1.96*.34)), f.Percent, nine)
	require.False(t, f.SessionOnly)
	f, err = FloorFromAA(Effect{Value: .01, SE: .1, DF: 11}, []Effect{one}, &Spread{Percent: .34, Known: true})
	require.NoError(t, err)
	near(t, math.Hypot(tUpper(.025, 11)*.1, 1.96*.34), f.Percent, nine)
	var six []Effect
	for _, v := range []float64{.1, -.2, .3, -.1, .2, -.3} {
		six = append(six, Effect{Value: v, SE: .3, DF: 11})
	}
	f, err = FloorFromAA(six[0], six[1:], nil)
	require.NoError(t, err)
	near(t, tUpper(.025, 5)*math.Sqrt(.28/5)*math.Sqrt(7.0/6), f.Percent, nine)
	for i := range six {
		six[i].Value += 3
	}
	biased, err := FloorFromAA(six[0], six[1:], nil)
	require.NoError(t, err)
	require.True(t, hasWarning(biased.Warnings, Biased))
	near(t, f.Percent+3, biased.Percent, nine)
	_, err = FloorFromAA(Effect{}, nil, nil)
	refused(t, err, "standard error")
	p, err := FloorFromPlacebo(one, nil)
	require.NoError(t, err)
	near(t, .4+h, p.Percent, nine)

	b, err := PooledBias(six, 5)
	require.NoError(t, err)
	require.True(t, b.Pass.Holds)
	require.Greater(t, b.ExcludedAbove, 3.0)
	b, err = PooledBias(six, 2)
	require.NoError(t, err)
	require.False(t, b.Pass.Holds)
}

func TestSpreadIsNeverZero(t *testing.T) {
	e := Effect{Value: 1, SE: .3, DF: 11, Sessions: 1}
	_, _, err := Widen(e, Spread{})
	refused(t, err, "degrees of freedom")
	_, _, err = Widen(e, Spread{DF: 3})
	refused(t, err, "no rig has none")
	w, warnings, err := Widen(e, Spread{DF: 3, Upper: .5})
	require.NoError(t, err)
	require.True(t, hasWarning(warnings, SpreadIsUpper))
	near(t, math.Hypot(.3, .5), w.SE, nine)
	_, _, err = Widen(w, tau)
	refused(t, err, "already")
}

func TestPooledSpread(t *testing.T) {
	row := func(v ...float64) (r []Effect) {
		for _, x := range v {
			r = append(r, Effect{Value: x, SE: .1, DF: 11, Sessions: 1})
		}
		return r
	}
	// Equal variances: ΣQ = Σ(y−ȳ)²/(v+τ²) = DF, so τ² = pooled variance − v.
	s, err := PooledSpread([][]Effect{row(1, 2), row(5, 5.5, 6), row(9)})
	require.NoError(t, err)
	require.Equal(t, 3.0, s.DF)
	near(t, math.Sqrt((.5+.5)/3-.01), s.Percent, nine)
	near(t, math.Sqrt(1/chiSquaredUpper(.975, 3)-.01), s.Upper, nine)
	s, err = PooledSpread([][]Effect{row(1, 1.01)})
	require.NoError(t, err)
	require.Zero(t, s.Percent)
	require.Positive(t, s.Upper)
	_, err = PooledSpread([][]Effect{row(1)})
	refused(t, err, "no row has two sessions")
}

func TestAcrossSessionsRule(t *testing.T) {
	s := func(v ...float64) (r []Effect) {
		for _, x := range v {
			r = append(r, Effect{Value: x, SE: .3, DF: 11, Sessions: 1})
		}
		return r
	}
	e, w, err := AcrossSessions(s(1), nil)
	require.NoError(t, err)
	require.False(t, e.Between)
	require.True(t, hasWarning(w, SessionOnly))
	e, _, err = AcrossSessions(s(1), &tau)
	require.NoError(t, err)
	near(t, math.Hypot(.3, .34), e.SE, nine)
	e, _, err = AcrossSessions(s(1, 1.2), &tau)
	require.NoError(t, err)
	near(t, math.Sqrt((2*.09/4)+sq(.34)/2), e.SE, nine)
	require.Equal(t, 2, e.Sessions)
	e, _, err = AcrossSessions(s(1, 1.2), nil)
	require.NoError(t, err)
	require.Equal(t, 1.0, e.DF)
	near(t, .1, e.SE, nine)
	e, _, err = AcrossSessions(s(1, 1.2, .9, 1.4, .7), &tau)
	require.NoError(t, err)
	require.Equal(t, 4.0, e.DF)
	_, w, err = AcrossSessions(s(1, 4), &tau)
	require.NoError(t, err)
	require.True(t, hasWarning(w, SessionsDisagree))
}

func TestBudgetQuestion(t *testing.T) {
	for _, c := range []struct {
		e    Effect
		want BudgetAnswer
	}{
		{Effect{Value: 1, SE: .3, DF: 11}, WithinBudget},
		{Effect{Value: 3, SE: .3, DF: 11}, OverBudget},
		{Effect{Value: 1.8, SE: .3, DF: 11}, BudgetUndecided},
		{Effect{Value: -5, SE: .3, DF: 11}, WithinBudget},
	} {
		b, err := AskBudget(c.e, 2)
		require.NoError(t, err)
		require.Equal(t, c.want, b.Answer)
		require.Equal(t, c.want == WithinBudget, b.PWithin < .05)
		require.Equal(t, c.want == OverBudget, b.POver < .05)
	}
}

func TestEquivalenceOnTheLogScale(t *testing.T) {
	e, err := MeanOfRatios([]float64{1.03, .97, 1.02, .96, 1.04, .98, 1.01, .99}, Options{})
	require.NoError(t, err)
	q, err := e.Equivalence(10)
	require.NoError(t, err)
	require.True(t, q.Log)
	require.True(t, q.Holds)
	q5, err := e.Equivalence(5)
	require.NoError(t, err)
	require.False(t, q5.Log)
	require.InDelta(t, q5.SmallestBound, q.SmallestBound, .2)
	// The p at exactly the smallest bound is alpha.
	at, err := Equivalence(e.Effect(), q5.SmallestBound*(1+1e-12))
	require.NoError(t, err)
	near(t, .05, at.P, 1e-6)
}

func TestWilliamsDesigns(t *testing.T) {
	w, err := Williams(3)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}, w)
	w, err = Williams(4)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0, 1, 3, 2}, {1, 2, 0, 3}, {2, 3, 1, 0}, {3, 0, 2, 1}}, w)
	for k := 2; k <= 12; k++ {
		w, err := Williams(k)
		require.NoError(t, err)
		b, err := CheckBalance(w)
		require.NoError(t, err)
		require.True(t, b.Balanced(), "%d arms", k)
		require.Len(t, w, k*(1+k%2))
	}
	cyclic, err := CheckBalance([][]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}})
	require.NoError(t, err)
	require.True(t, cyclic.Places)
	require.False(t, cyclic.Neighbours)
	b, err := CheckBalance(ABBA(12))
	require.NoError(t, err)
	require.True(t, b.Balanced())
	require.True(t, b.Linear)
	b, err = CheckBalance(ABBA(3))
	require.NoError(t, err)
	require.False(t, b.Places)
	b, err = CheckBalance([][]int{{0, 1, 0, 1}})
	require.NoError(t, err)
	require.False(t, b.Linear)
}

func TestMaxT(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	rows := make([][]float64, 9)
	shared := make([]float64, 12)
	for i := range shared {
		shared[i] = rng.NormFloat64()
	}
	for j := range rows {
		for i := range 12 {
			rows[j] = append(rows[j], shared[i]+rng.NormFloat64())
		}
	}
	for i := range rows[0] {
		rows[0][i] += 4
	}
	m, err := MaxTFamily(rows, Options{})
	require.NoError(t, err)
	require.Greater(t, m.Critical, tUpper(.025, 11))
	require.LessOrEqual(t, m.Critical, tUpper(.05/18, 11))
	require.LessOrEqual(t, m.Rows[0].P, .01)
	require.GreaterOrEqual(t, m.Rows[0].P, math.Ldexp(1, -11))
	one, err := SignFlipTest(rows[3], Options{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, m.Rows[3].P, one.P, "adjusted is never below the row's own")
	// A single row is the plain sign-flip test.
	single, err := MaxTFamily(rows[3:4], Options{})
	require.NoError(t, err)
	near(t, one.P, single.Rows[0].P, nine)
	// A failed row keeps its place.
	rows[5] = nil
	with, err := MaxTFamily(rows, Options{})
	require.NoError(t, err)
	require.True(t, with.Rows[5].Failed)
	_, err = MaxTFamily([][]float64{{1, 2}, {1, 2, 3}}, Options{})
	refused(t, err, "same rounds")
	_, err = MaxTFamily([][]float64{{1, 2, 3, 4}}, Options{})
	refused(t, err, "plan more rounds")
}

func TestLooks(t *testing.T) {
	l, err := PlanLooks([]int{6, 12, 24}, .05, LateSpending)
	require.NoError(t, err)
	near(t, .05, l.Alphas[0]+l.Alphas[1]+l.Alphas[2], nine)
	// 2−2Φ(1.96/√.25) = .0000887, then at .5: .005575.
	near(t, .0000887, l.Alphas[0], 2e-3)
	near(t, .0055746-.0000887, l.Alphas[1], 2e-3)
	_, err = PlanLooks([]int{12, 12}, 0, "")
	require.Error(t, err)
	var oe *OptionError
	require.ErrorAs(t, err, &oe)
}

func TestChangePointsInAHistory(t *testing.T) {
	h := []float64{1.0, 1.1, .9, 1.05, .95, 1.0, 3.0, 3.1, 2.9, 3.05, 2.95, 3.0, 2.0, 2.1, 1.9, 2.05, 1.95, 2.0}
	c, err := ChangePoints(h, ChangeOptions{})
	require.NoError(t, err)
	require.Len(t, c, 2)
	require.Equal(t, 6, c[0].Index)
	require.Equal(t, 12, c[1].Index)
	near(t, 1, c[0].Before, nine)
	near(t, 3, c[0].After, nine)
	near(t, 2, c[1].After, nine)
	require.GreaterOrEqual(t, c[0].P, 1e-4)
	c, err = ChangePoints([]float64{1, 1.2, .9, 1.1, 1.05, .95, 1.15, 1}, ChangeOptions{})
	require.NoError(t, err)
	require.Empty(t, c)
	_, err = ChangePoints(repeat(1, 20), ChangeOptions{})
	refused(t, err, "zero variance")
	_, err = ChangePoints([]float64{1, 2, 3, 4, 5}, ChangeOptions{})
	refused(t, err, "each side")
}

func TestSlopeAndBound(t *testing.T) {
	p := func(busy, cost float64) LoadPoint { return LoadPoint{BusyPercent: busy, Cost: cost, SE: 1, DF: 11} }
	s, err := SlopeOfCost([]LoadPoint{p(20, 105), p(30, 100), p(40, 95)})
	require.NoError(t, err)
	near(t, -.5, s.PercentPerPoint, nine)
	near(t, 1/math.Sqrt(200), s.SE, nine)
	near(t, 1, s.LackOfFitP, 1e-6)
	b, err := BoundFromLoad(&s, 30, 40)
	require.NoError(t, err)
	require.Equal(t, BoundLower, b.Direction, "cheaper when busier: the busier variant was measured too low")
	near(t, -5, *b.ShiftPercent, nine)
	b, err = BoundFromLoad(&s, 40, 30)
	require.NoError(t, err)
	require.Equal(t, BoundUpper, b.Direction)
	near(t, 5, *b.ShiftPercent, nine)
	b, err = BoundFromLoad(&s, 30, 30.5)
	require.NoError(t, err)
	require.Equal(t, BoundNone, b.Direction)
	b, err = BoundFromLoad(&s, 30, 60)
	require.NoError(t, err)
	require.Equal(t, BoundUnknown, b.Direction, "not beyond what was measured")
	flat, err := SlopeOfCost([]LoadPoint{p(20, 100), p(40, 100.5)})
	require.NoError(t, err)
	b, err = BoundFromLoad(&flat, 20, 40)
	require.NoError(t, err)
	require.Equal(t, BoundUnknown, b.Direction)
	require.Nil(t, b.ShiftPercent)
	_, err = SlopeOfCost([]LoadPoint{p(30, 100)})
	refused(t, err, "2 or more")
	_, err = SlopeOfCost([]LoadPoint{{BusyPercent: 20, Cost: 100}, {BusyPercent: 40, Cost: 90}})
	refused(t, err, "standard error")
	bent, err := SlopeOfCost([]LoadPoint{p(20, 120), p(30, 80), p(40, 100)})
	require.NoError(t, err)
	b, err = BoundFromLoad(&bent, 20, 40)
	require.NoError(t, err)
	require.Equal(t, BoundUnknown, b.Direction, "no straight line, no wording")
}

func TestDiscardChecks(t *testing.T) {
	// R: fisher.test(matrix(c(3,1,1,3),2)) = .4857143 (the tea tasting).
	p, err := FisherExact(3, 1, 1, 3)
	require.NoError(t, err)
	near(t, 34.0/70, p, nine)
	p, err = FisherExact(0, 12, 6, 6)
	require.NoError(t, err)
	near(t, .0137299771, p, 1e-8) // 2·C(12,6)/C(24,6)
	without := Effect{Value: 2, SE: .2, DF: 11}
	d, err := CheckDiscards([]ArmRounds{{"off", 12, 1}, {"on", 12, 1}}, without, &Effect{Value: 2.1, SE: .25, DF: 13})
	require.NoError(t, err)
	require.False(t, d.Void)
	require.Equal(t, 1.0, d.P)
	d, err = CheckDiscards([]ArmRounds{{"off", 12, 0}, {"on", 6, 6}}, without, nil)
	require.NoError(t, err)
	require.True(t, d.Void)
	require.Contains(t, d.Reason, "selection")
	d, err = CheckDiscards([]ArmRounds{{"off", 12, 1}, {"on", 12, 1}}, without, &Effect{Value: .3, SE: .4, DF: 13})
	require.NoError(t, err)
	require.True(t, d.Void)
	require.Contains(t, d.Reason, "gates decided")
}

func TestReportKeepsFamily(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	var rows []Row
	for range 5 {
		rows = append(rows, Row{Name: "row", Rounds: randomRounds(rng, 12, 0), Floor: &Floor{Percent: 1}})
	}
	rows[0].Rounds = randomRounds(rng, 12, .05)
	rows[1].Void = "gate"
	out, err := Report(rows, TableOptions{})
	require.NoError(t, err)
	require.Equal(t, Finding, out[0].Verdict.Kind)
	require.Equal(t, Invalid, out[1].Verdict.Kind)
	near(t, 5*out[0].P.P, out[0].P.Adjusted, nine)
	require.Equal(t, "this session only", out[0].PName)
	wide, err := Report(rows, TableOptions{Family: 50})
	require.NoError(t, err)
	near(t, 50*wide[0].P.P, wide[0].P.Adjusted, nine)
	rows[0].Spread = &tau
	rows[0].Earlier = []Effect{{Value: 4.8, SE: .4, DF: 11, Sessions: 1}}
	out, err = Report(rows, TableOptions{})
	require.NoError(t, err)
	require.Equal(t, ClauseSessions, out[0].Verdict.Clause)
	require.Equal(t, "with between-session spread", out[0].PName)
	_, err = Report(rows, TableOptions{Family: 3})
	require.Error(t, err)
}

func randomRounds(rng *rand.Rand, n int, effect float64) []Round {
	r := make([]Round, n)
	for i := range r {
		r[i] = Round{Index: i, Order: 1 - 2*(i%2),
			Baseline: Arm{1e9 * (1 + .01*rng.NormFloat64()), 1e4},
			Variant:  Arm{1e9 * (1 + effect) * (1 + .01*rng.NormFloat64()), 1e4}}
	}
	return r
}

func BenchmarkReport1000RowsOf12Rounds(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]Row, 1000)
	for i := range rows {
		rows[i] = Row{Rounds: randomRounds(rng, 12, .02), Floor: &Floor{Percent: 1}, Spread: &tau, EquivalenceBound: 2}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Report(rows, TableOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestRoundsOutOfOrderAreRefused(t *testing.T) {
	r := pairs([]float64{1, 2, 3}, []float64{1.1, 2.1, 3.3})
	r[2].Index = 1
	_, err := FromRounds(r, Options{})
	refused(t, err, "time order")
	for i := range r {
		r[i].Index = 0
	}
	_, err = FromRounds(r, Options{})
	require.NoError(t, err)
}

func TestPooledLag1(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	rows := func(rho float64) (e []Estimate) {
		for range 40 {
			d, prev := make([]float64, 12), rng.NormFloat64()
			for i := range d {
				prev = rho*prev + math.Sqrt(1-rho*rho)*rng.NormFloat64()
				d[i] = prev
			}
			e = append(e, differences(t, d))
		}
		return e
	}
	white, err := PooledLag1(rows(0))
	require.NoError(t, err)
	require.True(t, white.Interval.Contains(0))
	require.Empty(t, white.Warnings)
	red, err := PooledLag1(rows(.5))
	require.NoError(t, err)
	require.True(t, hasWarning(red.Warnings, Autocorrelated))
	one := rows(0)[:1]
	single, err := PooledLag1(one)
	require.NoError(t, err)
	near(t, one[0].Serial.Lag1+1.0/12, single.Lag1, nine)
	_, err = PooledLag1(nil)
	refused(t, err, "4 rounds")
}

func TestFewRoundsAndWildRatios(t *testing.T) {
	e, err := MeanOfRatios([]float64{1.10, 1.11, 1.12, 1.10, 1.11}, Options{})
	require.NoError(t, err)
	require.True(t, hasWarning(e.Warnings, TooFewRounds))
	require.False(t, hasWarning(e.Warnings, RatioBias))
	require.Equal(t, ClauseFewRounds, Judge(VerdictInput{Effect: e.Effect(), Floor: &Floor{Percent: 1}, Warnings: e.Warnings}).Clause)
	e, err = MeanOfRatios([]float64{1.1, 1.0, 1.2, .9, 1.1, 1.15}, Options{})
	require.NoError(t, err)
	require.False(t, hasWarning(e.Warnings, TooFewRounds))
	require.True(t, hasWarning(e.Warnings, RatioBias))
}

func TestVonNeumannBand(t *testing.T) {
	// The 95% bands for white noise: n=12 [.99, 3.01], n=20 [1.17, 2.83].
	for _, c := range []struct {
		n         int
		low, high float64
	}{{12, .99, 3.01}, {20, 1.17, 2.83}} {
		require.InDelta(t, .05, vonNeumannP(c.low, c.n), .003)
		require.InDelta(t, .05, vonNeumannP(c.high, c.n), .003)
		near(t, 1, vonNeumannP(2, c.n), nine)
	}
}

func TestSimultaneousQuantiles(t *testing.T) {
	e := Effect{Value: 0, SE: 1, DF: 11, Sessions: 1}
	for m, want := range map[int]float64{1: 2.200985160082949, 9: 3.4368, 15: 3.7283} {
		i, err := Simultaneous(e, m, 0)
		require.NoError(t, err)
		near(t, want, i.High, 2e-5)
	}
}

// Intervals move with their row: the critical value must not know how far away
// from zero a row is.
func TestMaxTCriticalIsShiftInvariant(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 12))
	rows := [][]float64{make([]float64, 12), make([]float64, 12), make([]float64, 12)}
	for j := range rows {
		normal(rng, rows[j])
	}
	at, err := MaxTFamily(rows, Options{})
	require.NoError(t, err)
	for i := range rows[1] {
		rows[1][i] += 7
	}
	moved, err := MaxTFamily(rows, Options{})
	require.NoError(t, err)
	near(t, at.Critical, moved.Critical, nine)
	require.Less(t, moved.Rows[1].P, at.Rows[1].P)
}

func normal(rng *rand.Rand, x []float64) {
	for i := range x {
		x[i] = rng.NormFloat64()
	}
}

func TestSecondLookAtTheSameRoundsIsUnplanned(t *testing.T) {
	l, err := PlanLooks([]int{12, 24}, 0, "")
	require.NoError(t, err)
	r, err := l.Review([]Look{{Rounds: 12, P: .9}, {Rounds: 12, P: .001}})
	require.NoError(t, err)
	require.Equal(t, 1, r.Unplanned)
	require.False(t, r.Reject)
	near(t, .025, r.Spent, nine)
}

func TestChangePointErrorRateAndSmallestP(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 13))
	alarms, h := 0, make([]float64, 12)
	for i := range 60 {
		normal(rng, h)
		c, err := ChangePoints(h, ChangeOptions{Shuffles: 199, Seed: uint64(i)})
		require.NoError(t, err)
		if len(c) > 0 {
			alarms++
		}
	}
	require.LessOrEqual(t, alarms, 8, "3 expected of 60") // fixed seed
	c, err := ChangePoints([]float64{1, 1.1, .9, 1, 1.2, .8, 99, 98, 97, 99, 98, 99, 98, 97, 98, 99}, ChangeOptions{Shuffles: 99})
	require.NoError(t, err)
	require.NotEmpty(t, c)
	near(t, 1.0/100, c[0].P, nine)
}

func TestDiscardsOfThreeArmsAndOfMovedEstimates(t *testing.T) {
	without := Effect{Value: 2, SE: .2, DF: 11}
	two, err := CheckDiscards([]ArmRounds{{"off", 12, 0}, {"a", 9, 3}}, without, nil)
	require.NoError(t, err)
	three, err := CheckDiscards([]ArmRounds{{"off", 12, 0}, {"a", 9, 3}, {"b", 12, 0}}, without, nil)
	require.NoError(t, err)
	near(t, 2*two.P, three.P, nine)
	d, err := CheckDiscards([]ArmRounds{{"off", 12, 1}, {"on", 12, 1}}, without, &Effect{Value: 3, SE: .2, DF: 13})
	require.NoError(t, err)
	require.True(t, d.Void, "both exclude zero, and still they disagree")
}
