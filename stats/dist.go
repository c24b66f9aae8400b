package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// normalDF marks a standard error that is taken as known: at this many degrees
// of freedom Student's t and the normal agree to eleven digits.
const normalDF = 1e12

// largeDF is where gonum's StudentsT.Quantile stops being trusted: from 1e5
// degrees of freedom it is wrong by orders of magnitude in far tails
// (ν=1e6, tail 1e-12: 258.2 instead of 7.0346).
const largeDF = 1e4

// smallestP stands for every p smaller than itself. No test on data gives a p
// of exactly zero; a float can.
const smallestP = 1e-300

func clampP(p float64) float64 {
	if !(p > smallestP) { // also NaN, which no caller produces on purpose
		return smallestP
	}
	return math.Min(p, 1)
}

func normalSurvival(z float64) float64 { return 0.5 * math.Erfc(z/math.Sqrt2) }

// normalUpper is the z with tail probability q above it.
func normalUpper(q float64) float64 { return -mathext.NormalQuantile(q) }

// tUpper is the point of Student's t with probability q above it, 0 < q < 1.
// Above largeDF it is the Cornish–Fisher expansion around the normal
// (Abramowitz & Stegun 26.7.5), good to 1e-9 there.
func tUpper(q, df float64) float64 {
	if q > 0.5 {
		return -tUpper(1-q, df)
	}
	if df > largeDF {
		z := normalUpper(q)
		z2 := z * z
		g1 := z * (z2 + 1) / 4
		g2 := z * ((5*z2+16)*z2 + 3) / 96
		g3 := z * (((3*z2+19)*z2+17)*z2 - 15) / 384
		return z + (g1+(g2+g3/df)/df)/df
	}
	return -distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(q)
}

// tSurvival is P(T > t).
func tSurvival(t, df float64) float64 {
	const huge = 1e100 // t*t must stay finite inside gonum
	t = math.Max(-huge, math.Min(huge, t))
	if df > 1e7 { // Abramowitz & Stegun 26.7.8
		return normalSurvival(t * (1 - 1/(4*df)) / math.Sqrt(1+t*t/(2*df)))
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Survival(t)
}

// tTwoSided is P(|T| ≥ |t|), never zero.
func tTwoSided(t, df float64) float64 { return clampP(2 * tSurvival(math.Abs(t), df)) }

// chiSquaredSurvival is P(X > x) for k degrees of freedom.
func chiSquaredSurvival(x, k float64) float64 {
	if x <= 0 {
		return 1
	}
	return mathext.GammaIncRegComp(k/2, x/2)
}

// chiSquaredUpper is the point with probability q above it.
func chiSquaredUpper(q, k float64) float64 { return 2 * mathext.GammaIncRegCompInv(k/2, q) }

// fSurvival is P(F > f) with d1 and d2 degrees of freedom.
func fSurvival(f, d1, d2 float64) float64 {
	if f <= 0 {
		return 1
	}
	return mathext.RegIncBeta(d2/2, d1/2, d2/(d2+d1*f))
}

// fUpper is the point with probability q above it.
func fUpper(q, d1, d2 float64) float64 {
	x := mathext.InvRegIncBeta(d2/2, d1/2, q)
	return d2 * (1 - x) / (d1 * x)
}

// betaTail is P(X ≤ u) of a symmetric Beta(a, a).
func betaTail(u, a float64) float64 { return mathext.RegIncBeta(a, a, u) }
