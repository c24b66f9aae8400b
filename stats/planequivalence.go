package stats

import "math"

// EquivalenceRounds is the smallest number of rounds with which TOST (5% each
// side) claims equivalence within ±bound percent with the given power (0 means
// 0.80) when the true change is zero, in one session and without spread.
//
//	Power = P(|m| < bound − t_{n−1,.95}·s/√n)
//	      = ∫ max(0, 2Φ(√n·bound/SD − t_{n−1,.95}·u) − 1)·f(u) du
//
// with u = s/SD and its density f(u) ∝ u^{n−2}·exp(−(n−1)u²/2).
// Source: Phillips (1990), Owen (1965). SD in percent. Assumes normal rounds.
func EquivalenceRounds(sd, bound, want float64) (int, error) {
	want, err := settlePower(want)
	if err != nil {
		return 0, err
	}
	if !(sd > 0) || !(bound > 0) || !(sd/bound <= 1e3) || !(bound/sd <= 1e9) {
		return 0, &OptionError{"sd, bound", []float64{sd, bound}, "positive percents, bound within [sd/1000, 1e9·sd]"}
	}
	lo, hi := 1, 2
	for tostPower(hi, bound/sd) < want {
		lo, hi = hi, 2*hi
		if hi > 1<<26 {
			return 0, notTestable("rounds", "more than %d rounds would be needed", hi)
		}
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; tostPower(mid, bound/sd) >= want {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, nil
}

// tostPower at a true difference of zero; d is bound/SD.
func tostPower(n int, d float64) float64 {
	nf, nu := float64(n), float64(n-1)
	if nu > 1e5 { // s is the SD to half a percent of a percent
		return math.Max(0, 1-2*normalSurvival(d*math.Sqrt(nf)-tUpper(0.05, nu)))
	}
	t := tUpper(0.05, nu)
	// u = s/σ has density ∝ u^(ν−1) exp(−νu²/2), here on a grid around its mode
	// and normalised by its own sum, so that only its shape matters.
	top := d * math.Sqrt(nf) / t // beyond it the interval is wider than the bound
	lo, hi := math.Max(0, 1-12/math.Sqrt(2*nu)), 1+12/math.Sqrt(2*nu)
	const steps = 4000
	var all, hit float64
	for i := range steps {
		u := lo + (hi-lo)*(float64(i)+0.5)/steps
		w := math.Exp((nu-1)*math.Log(u) - nu*(u*u-1)/2)
		all += w
		if u < top {
			hit += w * (1 - 2*normalSurvival(math.Sqrt(nf)*(d-t*u/math.Sqrt(nf))))
		}
	}
	return hit / all
}
