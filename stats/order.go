package stats

import "math"

// OrderTerm is the effect of being second, from r = μ + δ·o + e with o = ±1.
type OrderTerm struct {
	// Delta is δ, in the unit of the values (a fraction for ratios): half of the
	// difference between rounds with the baseline first and the others.
	Delta    float64  `json:"delta"`
	Interval Interval `json:"interval"`
	P        float64  `json:"p"`

	mean, meanSE, df float64
}

// orderTerm fits least squares; nil with a reason when it cannot.
func orderTerm(x sample, o settled) (*OrderTerm, string) {
	n := len(x.values)
	if n < 4 {
		return nil, "it needs at least 4 rounds"
	}
	if x.order == nil {
		return nil, "the order of the arms is unknown, give whole rounds with Order"
	}
	var first, second []float64
	for i, v := range x.order {
		switch v {
		case 1:
			first = append(first, x.values[i])
		case -1:
			second = append(second, x.values[i])
		default:
			return nil, "the order of a round is unknown"
		}
	}
	if len(first) == 0 || len(second) == 0 {
		return nil, "all rounds have the same order"
	}
	// Two groups: the least-squares μ is the plain middle of the group means,
	// which for equal counts is the overall mean.
	m1, s1 := moments(first)
	m2, s2 := moments(second)
	n1, n2 := float64(len(first)), float64(len(second))
	t := OrderTerm{Delta: (m1 - m2) / 2, mean: (m1 + m2) / 2, df: float64(n - 2)}
	rss := math.Sqrt((s1*s1*(n1-1) + s2*s2*(n2-1)) / t.df)
	t.meanSE = rss * math.Sqrt(1/n1+1/n2) / 2
	if noSpread(rss, x.values) {
		return nil, "zero variance: the order explains every round"
	}
	h := tUpper(o.alpha/2, t.df) * t.meanSE
	t.Interval = Interval{t.Delta - h, t.Delta + h, o.level, "t"}
	t.P = tTwoSided(t.Delta/t.meanSE, t.df)
	return &t, ""
}

// withoutOrder takes the mean of each order off its values: the residuals of the
// order term, and the x of a slope fitted beside it.
func withoutOrder(x, order []float64) []float64 {
	var total, count [2]float64
	at := func(i int) int {
		if order[i] > 0 {
			return 1
		}
		return 0
	}
	for i, v := range x {
		total[at(i)] += v
		count[at(i)]++
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v - total[at(i)]/count[at(i)]
	}
	return y
}
