package stats

import "math"

// Range is a closed range, with the index of the unit whose absence makes the
// largest change.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	Most int     `json:"most"`
}

func timeChecks(e *Estimate, x sample, o settled) {
	n := len(x.values)
	if e.Order != nil && e.Order.P < 0.05 && !o.onePair {
		warn(&e.Warnings, OrderMatters, "being second changes the value by %.3g (p %.3g)", e.Order.Delta, e.Order.P)
	}
	var plus, minus int
	for _, v := range x.order {
		if v > 0 {
			plus++
		} else if v < 0 {
			minus++
		}
	}
	if d := plus - minus; d > 1 || d < -1 {
		warn(&e.Warnings, OrderUnbalanced, "%d units had the baseline first and %d the variant: whatever favours one place is in the estimate", plus, minus)
	}
	if e.Drift = drift(x, o); e.Drift != nil && e.Drift.P < 0.05 {
		warn(&e.Warnings, Drifts, "the value moves by %.3g with every step of the round index (p %.3g)", e.Drift.PerUnit, e.Drift.P)
	}
	if e.Serial = serial(x, e, o); e.Serial != nil && e.Serial.P < 0.05 {
		warn(&e.Warnings, Autocorrelated, "lag-1 correlation %.2g, von Neumann ratio %.3g (p %.3g): the interval is %s", e.Serial.Lag1, e.Serial.VonNeumann, e.Serial.P,
			map[bool]string{true: "too short", false: "too wide"}[e.Serial.Lag1 > 0])
	}
	if e.Serial == nil && n >= 4 {
		warn(&e.Warnings, CheckMissing, "serial correlation: too few units follow each other without a gap")
	}
	if n >= 3 {
		leaveOneOut(e, x, o)
	}
}

func leaveOneOut(e *Estimate, x sample, o settled) {
	n := len(x.values)
	r := &Range{Low: math.Inf(1), High: math.Inf(-1)}
	var far float64
	m, sd := moments(x.values)
	nf := float64(n)
	main, flips := e.Interval.side(x.null), -1
	t := tUpper(o.alpha/2, nf-2)
	for i, v := range x.values {
		// Both moments of the rest follow from those of the whole.
		mi := m - (v-m)/(nf-1)
		ss := sd*sd*(nf-1) - (v-m)*(v-m)*nf/(nf-1)
		r.Low, r.High = math.Min(r.Low, mi), math.Max(r.High, mi)
		if math.Abs(mi-m) > far {
			far, r.Most = math.Abs(mi-m), i
		}
		if o.onePair {
			continue
		}
		h := t * math.Sqrt(math.Max(0, ss)/(nf-2)/(nf-1))
		if s := (Interval{Low: mi - h, High: mi + h}).side(x.null); main != 0 && s != main {
			flips = i
		}
	}
	e.LeaveOneOut = r
	if flips >= 0 {
		warn(&e.Warnings, OneRoundDecides, "without unit %d the interval no longer excludes no change", flips)
	}
}
