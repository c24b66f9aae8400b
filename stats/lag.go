package stats

import "math"

// SessionLag is the serial correlation of all rows of a session together.
type SessionLag struct {
	// Lag1 is the mean over rows of Lag1−Expected,
	// weighted by n, with its 95% interval under white noise.
	Lag1     float64   `json:"lag1"`
	Interval Interval  `json:"interval"`
	Rows     int       `json:"rows"`
	Warnings []Warning `json:"warnings"`
}

// maxPooledLag is the pooled correlation from which t intervals are too short
// to stand alone: at 0.3 they cover 86%.
const maxPooledLag = 0.15

// LagOptions of PooledLag1. The zero value is for rows of one session that were
// measured against one baseline.
type LagOptions struct {
	// Independent is for rows that share no arm. Default false: rows share their
	// baseline and so half of their variance, and their lag-1 correlations
	// correlate at 1/4.
	Independent bool
}

// PooledLag1 pools the lag-1 correlations of the rows of one session. One row of
// 12 rounds sees a correlation of 0.3 in 14% of cases; a few dozen rows together do.
//
//	r̂ = Σn(Lag1−Expected)/Σn, SE² = (Σn + ρ²((Σ√n)² − Σn))/(Σn)²
//
// with ρ² = 1/4 for rows that share their baseline, 0 for Independent ones: two
// series that correlate at ρ have lag-1 correlations that correlate at ρ². Warns
// above 0.15 where the interval excludes zero: show Serial.Wider beside
// the t intervals then. Source: Bartlett (1946). Assumes rows of the same
// rounds, with baseline and variant equally noisy.
func PooledLag1(rows []Estimate, o LagOptions) (SessionLag, error) {
	var s SessionLag
	var n, root float64
	for _, e := range rows {
		if e.Serial == nil || e.Units < 4 || !(math.Abs(e.Serial.Lag1) <= 1) || !(math.Abs(e.Serial.Expected) <= 1) {
			continue
		}
		u := float64(e.Units)
		s.Lag1 += u * (e.Serial.Lag1 - e.Serial.Expected)
		n += u
		root += math.Sqrt(u)
		s.Rows++
	}
	if s.Rows == 0 {
		return s, notTestable("pooled lag-1", "no row has 4 rounds or more")
	}
	s.Lag1 /= n
	shared := 0.25
	if o.Independent {
		shared = 0
	}
	h := normalUpper(0.025) * math.Sqrt(n+shared*math.Max(0, root*root-n)) / n
	s.Interval = Interval{s.Lag1 - h, s.Lag1 + h, 0.95, "white noise"}
	if s.Lag1 > maxPooledLag && s.Interval.side(0) > 0 {
		warn(&s.Warnings, Autocorrelated, "lag-1 correlation %.2g over %d rows: intervals are too short", s.Lag1, s.Rows)
	}
	return s, nil
}
