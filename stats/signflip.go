package stats

import (
	"math"
	"math/rand/v2"
	"sort"
)

// ExactSignFlips is the largest number of units for which the sign-flip test
// enumerates all 2^n flips; beyond it, it draws them.
const ExactSignFlips = 20

// defaultFlips is the number of drawn flips: the smallest p is then 1e-5.
const defaultFlips = 99_999

// SignFlip is the result of a sign-flip (randomisation) test.
type SignFlip struct {
	// P is two-sided and never zero: at least 2/2^n exact, 1/(Flips+1) drawn.
	P float64 `json:"p"`
	// Exact is true when all flips were enumerated.
	Exact bool `json:"exact"`
	// Flips is the number of flips behind P.
	Flips int `json:"flips"`
}

// SignFlipTest tests whether d is symmetric around zero.
//
// Statistic T = |Σd|. Up to 20 values: p = #{T* ≥ T}/2^n over all sign flips,
// the observed one included. Beyond: p = (hits+1)/(B+1) over B random flips
// (Phipson and Smyth 2010), so p is never zero. Source: Fisher (1935).
// Assumes that errors are symmetric: one-sided disturbances break it (measured
// size 10% at a nominal 5% when one round in twelve is hit by five SD).
// All zero gives p = 1. The smallest reachable p is 2/2^n: 0.125 at n = 4.
func SignFlipTest(d []float64, o Options) (SignFlip, error) {
	if err := checkValues("sign-flip test", d); err != nil {
		return SignFlip{}, err
	}
	s, err := o.settle()
	if err != nil {
		return SignFlip{}, err
	}
	return signFlip(d, s), nil
}

func signFlip(d []float64, o settled) SignFlip {
	n := len(d)
	// Ties with the observed sum are exact in theory and lose digits in floats;
	// counting a near tie as a hit errs to the larger p.
	var size float64
	for _, v := range d {
		size += math.Abs(v)
	}
	limit := math.Abs(sum(d)) - 1e-12*size
	if limit <= 0 {
		flips := o.flips
		if n <= ExactSignFlips {
			flips = 1 << n
		}
		return SignFlip{P: 1, Exact: n <= ExactSignFlips, Flips: flips}
	}
	if n <= ExactSignFlips {
		// Each half's 2^(n/2) sums, sorted, then one walk: what takes 2^n steps
		// by enumeration takes 2^(n/2).
		left, right := flipSums(d[:n/2]), flipSums(d[n/2:])
		hits, j := 0, len(right)
		for _, l := range left { // ascending, so the bound on right falls
			for j > 0 && l+right[j-1] >= limit {
				j--
			}
			hits += len(right) - j
		}
		return SignFlip{P: clampP(2 * float64(hits) / math.Ldexp(1, n)), Exact: true, Flips: 1 << n}
	}
	rng := rand.New(rand.NewPCG(o.seed, 0x5f1a9))
	hits := 0
	for range o.flips {
		if math.Abs(randomFlip(d, rng)) >= limit {
			hits++
		}
	}
	return SignFlip{P: float64(hits+1) / float64(o.flips+1), Flips: o.flips}
}

func flipSums(d []float64) []float64 {
	s := []float64{0}
	for _, v := range d {
		next := make([]float64, 0, 2*len(s))
		for _, x := range s {
			next = append(next, x+v, x-v)
		}
		s = next
	}
	sort.Float64s(s)
	return s
}

func randomFlip(d []float64, rng *rand.Rand) float64 {
	var t float64
	for i := 0; i < len(d); i += 64 {
		bits := rng.Uint64()
		for _, v := range d[i:min(i+64, len(d))] {
			// The sign bit itself, without a branch that no CPU can predict.
			t += math.Float64frombits(math.Float64bits(v) ^ bits<<63)
			bits >>= 1
		}
	}
	return t
}

// SignCount says how many units lie on the same side of no change.
type SignCount struct {
	// Same of Of units have the sign of the majority; Zero had none.
	Same int `json:"same"`
	Of   int `json:"of"`
	Zero int `json:"zero"`
	// P is the exact two-sided binomial p of that split with the zeros left out.
	P float64 `json:"p"`
}

// CountSigns counts the signs of d, with the exact binomial (sign test) p,
//
//	p = min(1, 2·Σ_{j≥Same} C(m,j)/2^m), m = Of−Zero.
//
// 12 of 12 is .000488; 33 of 37 is 1.08e-6. All zero gives p = 1. Source: the
// sign test, Arbuthnot (1710), Dixon and Mood (1946). Assumes independent units.
// A value that is NaN or infinite has no sign to count: a *NotTestableError.
func CountSigns(d []float64) (SignCount, error) {
	if err := checkValues("sign count", d); err != nil {
		return SignCount{P: 1}, err
	}
	return countSigns(d), nil
}

func countSigns(d []float64) SignCount {
	var pos, neg int
	c := SignCount{Of: len(d), P: 1}
	for _, v := range d {
		switch {
		case v > 0:
			pos++
		case v < 0:
			neg++
		default:
			c.Zero++
		}
	}
	c.Same = max(pos, neg)
	m := pos + neg
	if m == 0 {
		return c
	}
	lm, _ := math.Lgamma(float64(m) + 1)
	var p float64
	for j := c.Same; j <= m; j++ {
		a, _ := math.Lgamma(float64(j) + 1)
		b, _ := math.Lgamma(float64(m-j) + 1)
		p += math.Exp(lm - a - b - float64(m)*math.Ln2)
	}
	c.P = clampP(2 * p)
	return c
}
