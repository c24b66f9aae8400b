package stats

import "math"

// SessionLag is the serial correlation of all rows of a session together.
type SessionLag struct {
	// Lag1 is the mean over rows of Lag1+1/n (the 1/n is what white noise loses),
	// weighted by n, with its 95% interval under white noise.
	Lag1     float64   `json:"lag1"`
	Interval Interval  `json:"interval"`
	Rows     int       `json:"rows"`
	Warnings []Warning `json:"warnings"`
}

// maxPooledLag is the pooled correlation from which t intervals are too short
// to stand alone: at 0.3 they cover 86%.
const maxPooledLag = 0.15

// PooledLag1 pools the lag-1 correlations of the rows of one session. One row of
// 12 rounds sees a correlation of 0.3 in 14% of cases; forty rows together do.
//
//	r̂ = Σn(Lag1+1/n)/Σn, SE ≈ 1/√Σn
//
// Warns above 0.15 where the interval excludes zero: show Serial.Wider beside
// the t intervals then. Source: Bartlett (1946). Assumes rows that are
// independent of each other (rows with a common baseline are less than that).
func PooledLag1(rows []Estimate) (SessionLag, error) {
	var s SessionLag
	var n float64
	for _, e := range rows {
		if e.Serial == nil || e.Units < 4 || !(math.Abs(e.Serial.Lag1) <= 1) {
			continue
		}
		u := float64(e.Units)
		s.Lag1 += u*e.Serial.Lag1 + 1
		n += u
		s.Rows++
	}
	if s.Rows == 0 {
		return s, notTestable("pooled lag-1", "no row has 4 rounds or more")
	}
	s.Lag1 /= n
	h := normalUpper(0.025) / math.Sqrt(n)
	s.Interval = Interval{s.Lag1 - h, s.Lag1 + h, 0.95, "white noise"}
	if s.Lag1 > maxPooledLag && s.Interval.side(0) > 0 {
		warn(&s.Warnings, Autocorrelated, "lag-1 correlation %.2g over %d rows: intervals are too short", s.Lag1, s.Rows)
	}
	return s, nil
}
