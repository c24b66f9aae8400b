package stats

import (
	"math"
	"math/rand/v2"
	"sort"
)

// MaxTRow is one row of a max-T family.
type MaxTRow struct {
	// Mean of the row's deviations and its standard error.
	Mean float64 `json:"mean"`
	SE   float64 `json:"se"`
	// Interval covers simultaneously with the family's level.
	Interval Interval `json:"interval"`
	// P is adjusted for the family (single step), never zero.
	P float64 `json:"p"`
	// Failed rows keep their place: P is 1 and there is no interval.
	Failed bool `json:"failed"`
}

// MaxT is a family of rows that share their rounds, and so their baseline.
type MaxT struct {
	// Critical is the |t| that replaces the t quantile; between the quantile of
	// one row and Bonferroni's.
	Critical float64   `json:"critical"`
	Rows     []MaxTRow `json:"rows"`
}

// MaxTFamily gives simultaneous intervals and adjusted p values to rows measured
// in the same rounds: rows[j][i] is the deviation of row j from no change in
// round i (for example 100(ratio−1)), the same rounds for all. A nil row failed;
// it keeps its place (its share of alpha is spent).
//
// The same sign flips are applied to all rows, and the distribution of
// max_j|t_j| is kept: P = #{max|t*| ≥ |t_j|}/flips on the deviations (exact up to
// 14 rounds, drawn beyond), Critical the 1−alpha quantile on the deviations around each
// row's own mean, never below one row's t quantile, never above Bonferroni's.
// Sources: Westfall and Young (1993), single step; Romano and Wolf (2005).
// Sharper than Bonferroni where rows are correlated; assumes symmetric errors.
func MaxTFamily(rows [][]float64, o Options) (MaxT, error) {
	const q = "max-T family"
	s, err := o.settle()
	if err != nil {
		return MaxT{}, err
	}
	if len(rows) == 0 {
		return MaxT{}, notTestable(q, "there are no rows")
	}
	f := MaxT{Rows: make([]MaxTRow, len(rows))}
	n := 0
	var valid []int
	var raw, centred [][]float64
	for j, d := range rows {
		f.Rows[j] = MaxTRow{P: 1, Failed: true}
		if d == nil {
			continue
		}
		if err := checkValues(q, d); err != nil {
			return MaxT{}, err
		}
		if n == 0 {
			n = len(d)
		}
		if len(d) != n {
			return MaxT{}, notTestable(q, "row %d has %d rounds and another has %d: all rows must come from the same rounds", j, len(d), n)
		}
		m, sd := moments(d)
		if n < 2 || noSpread(sd, d) || sd < minMagnitude {
			continue // failed: it keeps its place
		}
		f.Rows[j] = MaxTRow{Mean: m, SE: sd / math.Sqrt(float64(n))}
		// Scaled by the deviation: t does not change, and nothing overflows.
		r, c := make([]float64, n), make([]float64, n)
		for i, v := range d {
			r[i], c[i] = v/sd, (v-m)/sd
		}
		if maxAbs(r) > 1e12 {
			f.Rows[j] = MaxTRow{P: 1, Failed: true}
			continue
		}
		valid, raw, centred = append(valid, j), append(raw, r), append(centred, c)
	}
	if len(valid) == 0 {
		return MaxT{}, notTestable(q, "no row has two rounds that differ")
	}
	alpha := s.alpha * float64(len(valid)) / float64(len(rows))
	if n <= ExactSignFlips && math.Ldexp(2, -n) > alpha {
		return MaxT{}, notTestable(q, "%d rounds cannot give a p of %.3g: plan more rounds", n, alpha)
	}
	null := maxFlips(raw, s)
	df := float64(n - 1)
	for _, j := range valid {
		t := math.Abs(f.Rows[j].Mean) / f.Rows[j].SE
		at := sort.SearchFloat64s(null, t*(1-1e-9))
		p := float64(len(null)-at) / float64(len(null))
		f.Rows[j].P = clampP(math.Min(1, p*float64(len(rows))/float64(len(valid))))
	}
	own := maxFlips(centred, s)
	// The smallest value with at most alpha of the flips above it.
	at := len(own) - 1 - int(math.Floor(alpha*float64(len(own))))
	f.Critical = math.Max(own[max(0, at)], tUpper(s.alpha/2, df))
	f.Critical = math.Min(f.Critical, tUpper(s.alpha/(2*float64(len(rows))), df))
	for _, j := range valid {
		r := &f.Rows[j]
		h := f.Critical * r.SE
		r.Interval = Interval{r.Mean - h, r.Mean + h, s.level, "simultaneous (max-T)"}
	}
	return f, nil
}

// exactMaxT bounds the enumeration, which max-T cannot split in halves.
const exactMaxT = 14

// maxFlips gives the sorted max|t| over rows for all flips (half of them: a flip
// and its negation are the same), the identity included.
func maxFlips(rows [][]float64, o settled) []float64 {
	n := len(rows[0])
	square := make([]float64, len(rows))
	for j, d := range rows {
		for _, v := range d {
			square[j] += v * v
		}
	}
	nf := float64(n)
	maxT := func(sums []float64) float64 {
		var u float64
		for j, s := range sums {
			u = math.Max(u, s*s/square[j])
		}
		// t² = (n−1)·u/(n−u) with u = S²/ΣD²; u = n is a row without spread after
		// the flip, larger than any other.
		return math.Sqrt((nf - 1) * u / math.Max(nf-u, 1e-12))
	}
	flips, exact := min(o.flips, 19_999)+1, n <= exactMaxT
	if exact {
		flips = 1 << (n - 1)
	}
	out := make([]float64, 0, flips)
	sums := make([]float64, len(rows))
	add := func(i int, sign float64) {
		for j, d := range rows {
			sums[j] += sign * d[i]
		}
	}
	if exact {
		signs := make([]float64, n)
		for i := range n {
			signs[i] = 1
			add(i, 1)
		}
		out = append(out, maxT(sums))
		for g := 1; g < flips; g++ { // Gray code: one sign changes at a time
			i := 0
			for g>>i&1 == 0 {
				i++
			}
			signs[i] = -signs[i]
			add(i, 2*signs[i])
			out = append(out, maxT(sums))
		}
	} else {
		rng := rand.New(rand.NewPCG(o.seed, 0x3a87))
		for k := range flips {
			clear(sums)
			var bits uint64
			for i := range n {
				if i%64 == 0 {
					bits = rng.Uint64()
				}
				if k == 0 || bits&1 == 0 { // the first is the identity
					add(i, 1)
				} else {
					add(i, -1)
				}
				bits >>= 1
			}
			out = append(out, maxT(sums))
		}
	}
	sort.Float64s(out)
	return out
}
