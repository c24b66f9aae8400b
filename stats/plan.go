package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// maxRounds bounds the searches for a number of rounds.
const maxRounds = 1_000_000

// Design is a planned measurement, for questions of power. Percent throughout.
// It plans for the analysis that AcrossSessions makes of that many sessions.
type Design struct {
	// SD is the standard deviation of one round's change, in percent, from a pilot.
	// Of one block's change where rounds come in blocks; rounds then means blocks.
	SD float64
	// Spread is the between-session spread; nil plans for one session's own
	// interval. Required above one session: what several sessions find depends on it.
	Spread *Spread
	// Sessions is the number of sessions, each with the given rounds. Default 1.
	Sessions int
	// Rows is the size of the family (Bonferroni). Default 1.
	Rows int
	// Alpha is the family-wise two-sided error. Default 0.05.
	Alpha float64
}

// plan is a settled Design: alpha per row, sessions, and τ with its degrees of freedom.
type plan struct{ sd, alpha, k, tau, taudf float64 }

func (d Design) settle() (plan, error) {
	alpha, err := settleAlpha(d.Alpha)
	if err != nil {
		return plan{}, err
	}
	if !(d.SD >= 1e-9 && d.SD <= 1e9) {
		return plan{}, &OptionError{"SD", d.SD, "the standard deviation of a round in percent, within [1e-9, 1e9]"}
	}
	if d.Sessions < 0 || d.Sessions > maxRounds || d.Rows < 0 || d.Rows > maxRounds {
		return plan{}, &OptionError{"Sessions, Rows", []int{d.Sessions, d.Rows}, "0 for one, or a positive count up to 1000000"}
	}
	p := plan{sd: d.SD, alpha: alpha / float64(max(1, d.Rows)), k: float64(max(1, d.Sessions))}
	if d.Spread == nil {
		if d.Sessions > 1 {
			return plan{}, &OptionError{"Spread", nil, "the between-session spread, without which no plan over several sessions can be made"}
		}
		return p, nil
	}
	if p.tau, err = d.Spread.use(new([]Warning)); err != nil {
		return plan{}, err
	}
	if p.tau > 1e9 {
		return plan{}, &OptionError{"Spread", p.tau, "a spread in percent up to 1e9"}
	}
	p.taudf = d.Spread.df()
	return p, nil
}

// power of the two-sided t test of difference with n rounds in each session.
func (p plan) power(difference, n float64) float64 {
	se, df := p.sd/math.Sqrt(n*p.k), p.k*(n-1)
	if p.tau > 0 {
		t := p.tau / math.Sqrt(p.k)
		df = satterthwaite([]float64{se, t}, []float64{df, p.taudf})
		se = math.Hypot(se, t)
	}
	if p.k >= pooledFrom { // the sessions speak for their own spread
		df = p.k - 1
	}
	c := tUpper(p.alpha/2, df)
	delta := math.Abs(difference) / se
	return math.Min(1, nctSurvival(c, df, delta)+nctSurvival(c, df, -delta))
}

// nctSurvival is P(T' > t) for the noncentral t, t ≥ 0.
func nctSurvival(t, df, delta float64) float64 {
	if df > largeDF || math.Abs(delta) > 37 { // gonum switches to the same approximation where exp(-δ²/2) underflows
		x := (t*(1-1/(4*df)) - delta) / math.Sqrt(1+t*t/(2*df))
		return normalSurvival(x)
	}
	p := 1 - distuv.NoncentralT{Nu: df, Mu: delta}.CDF(t)
	return math.Max(0, math.Min(1, p))
}

// Power is the chance that the row's interval (at 1−α, α = Alpha/Rows) excludes
// zero when the true change is difference percent: with δ = difference/SE,
//
//	P(T'_{ν,δ} > t_{ν,1−α/2}) + P(T'_{ν,δ} < −t_{ν,1−α/2}), SE² = SD²/(kn) + τ²/k
//
//	k = 1 without spread  τ = 0, ν = n−1
//	k = 1..4 with spread  ν = SE⁴/((SD²/(kn))²/(k(n−1)) + (τ²/k)²/ν_τ), as Borrow
//	k ≥ 5                 ν = k−1, as Pool; its floor costs a little power more
//
// Several sessions without a spread are an *OptionError. Source: the noncentral t
// by AS 243, Lenth (1989), through gonum. Assumes normal rounds and sessions.
func (d Design) Power(difference float64, rounds int) (float64, error) {
	p, err := d.settle()
	if err != nil {
		return 0, err
	}
	if !(math.Abs(difference) <= 1e9) {
		return 0, &OptionError{"difference", difference, "a finite number of percent"}
	}
	if rounds < 2 || rounds > maxRounds {
		return 0, notTestable("power", "there are %d rounds: plan 2 to %d", rounds, maxRounds)
	}
	return p.power(difference, float64(rounds)), nil
}

// roundsGrid are the numbers of rounds that are tried: all up to 40, then in
// steps of a twentieth. Power does not always rise with n: where few degrees of
// freedom are behind the spread, more rounds take weight from the degrees of
// freedom that rounds have.
func roundsGrid() (grid []int) {
	for n := 2; n < maxRounds; n += max(1, n/20) {
		grid = append(grid, n)
	}
	return append(grid, maxRounds)
}

// Rounds is the smallest number of rounds (per session) that finds a true change
// of difference percent with the given power (0 means 0.80). Where the
// between-session spread makes that impossible at any number, it is a
// *NotTestableError that names the limit. Formula, source and what it assumes: as Power.
func (d Design) Rounds(difference, want float64) (int, error) {
	p, err := d.settle()
	if err != nil {
		return 0, err
	}
	if want, err = settlePower(want); err != nil {
		return 0, err
	}
	if !(math.Abs(difference) <= 1e9) || difference == 0 {
		return 0, &OptionError{"difference", difference, "a finite number of percent, not zero"}
	}
	enough := func(n int) bool { return p.power(difference, float64(n)) >= want }
	lo := 1
	for _, hi := range roundsGrid() {
		if !enough(hi) {
			lo = hi
			continue
		}
		for hi-lo > 1 {
			if mid := (lo + hi) / 2; enough(mid) {
				hi = mid
			} else {
				lo = mid
			}
		}
		return hi, nil
	}
	if limit := p.limit(want); limit > math.Abs(difference) {
		return 0, notTestable("rounds", "no number of rounds finds %.3g%% in %v session(s): the between-session spread limits them to %.3g%%; plan more sessions", difference, p.k, limit)
	}
	return 0, notTestable("rounds", "more than %d rounds would be needed to find %.3g%%", maxRounds, difference)
}

// Detectable is the change in percent that the given rounds (per session) find
// with the given power (0 means 0.80): the d with Power(d, rounds) = want.
// Formula, source and what it assumes: as Power.
func (d Design) Detectable(rounds int, want float64) (float64, error) {
	p, err := d.settle()
	if err != nil {
		return 0, err
	}
	if want, err = settlePower(want); err != nil {
		return 0, err
	}
	if rounds < 2 || rounds > maxRounds {
		return 0, notTestable("detectable change", "there are %d rounds: plan 2 to %d", rounds, maxRounds)
	}
	return p.detectable(float64(rounds), want), nil
}

func (p plan) detectable(n, want float64) float64 {
	return solveFalling(func(x float64) float64 { return -p.power(x, n) }, -want)
}

// Limit is the change that no number of rounds in these sessions can do better
// than, set by the between-session spread:
//
//	min over n of the d with Power(d, n) = want
//
// to a hundredth of a percent of itself. For a spread known well the least is at
// n = ∞, where d solves P(T'_{ν,δ} > t_{ν,1−α/2}) + P(T'_{ν,δ} < −t_{ν,1−α/2}) = want,
// δ = d·√k/τ, ν = ν_τ (k−1 from five sessions): nearly (t_{ν,1−α/2}+t_{ν,want})·τ/√k,
// which with a known spread at 80% and 5% is 2.80·τ/√k. With few degrees of
// freedom behind the spread it is at a finite n. Zero without a spread: there is
// no such limit for a claim about this session only. Source and what it assumes:
// as Power.
func (d Design) Limit(want float64) (float64, error) {
	p, err := d.settle()
	if err != nil {
		return 0, err
	}
	if want, err = settlePower(want); err != nil {
		return 0, err
	}
	return p.limit(want), nil
}

func (p plan) limit(want float64) float64 {
	if p.tau == 0 {
		return 0
	}
	endless := p
	endless.sd = math.Min(p.sd, p.tau) // at 1e18 rounds neither counts
	best, at := endless.detectable(1e18, want), math.Inf(1)
	try := func(n int) {
		// One look where nothing is gained; a search only where something is.
		if p.power(best*(1-1e-4), float64(n)) < want {
			return
		}
		lo, hi := 0.0, best
		for range 50 {
			if mid := (lo + hi) / 2; p.power(mid, float64(n)) >= want {
				hi = mid
			} else {
				lo = mid
			}
		}
		best, at = hi, float64(n)
	}
	for n := 1 << 19; n >= 2; n /= 2 { // coarse, then fine around the least
		try(n)
	}
	for _, n := range roundsGrid() {
		if f := float64(n); f > at/2 && f < 2*at {
			try(n)
		}
	}
	return best
}

func settlePower(p float64) (float64, error) {
	if p == 0 {
		return 0.80, nil
	}
	if !(p > 0.5 && p <= 1-1e-6) {
		return 0, &OptionError{"power", p, "0 for 0.80, or a value above 0.5 and below 1"}
	}
	return p, nil
}
