package stats

import "math"

// RowMean is a geometric mean over rows, with the rows that have no part in it.
type RowMean struct {
	Ratio    float64 `json:"ratio"`
	Rows     int     `json:"rows"`
	Excluded []int   `json:"excluded"`
}

// GeometricMean is g = exp(mean ln r) over the rows that have a ratio. A row that is
// missing on one side, or whose ratio is zero, negative, infinite or NaN, is
// excluded and named by its index; it neither drags the mean to zero nor is it
// passed over in silence. No row at all is a *NotTestableError. A mean over rows
// describes the table; it has no interval here, because rows are no sample.
// Source: Fleming and Wallace (1986). Assumes that every row counts the same.
func GeometricMean(ratios []float64) (RowMean, error) {
	var m RowMean
	var l []float64
	for i, r := range ratios {
		if r > 0 && !math.IsInf(r, 0) {
			l = append(l, math.Log(r))
		} else {
			m.Excluded = append(m.Excluded, i)
		}
	}
	if len(l) == 0 {
		return m, notTestable("geometric mean", "none of %d rows has a ratio", len(ratios))
	}
	m.Rows, m.Ratio = len(l), math.Exp(mean(l))
	return m, nil
}
