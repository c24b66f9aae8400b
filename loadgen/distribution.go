package loadgen

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histograms hold one nanosecond to one hour with three significant digits;
// Timeout and Drain are limited so that no time is beyond.
const (
	lowestNanoseconds  = 1
	highestNanoseconds = 3_600_000_000_000
	significantDigits  = 3
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(lowestNanoseconds, highestNanoseconds, significantDigits)
}

// record puts a time into h without allocating; times out of range count as
// the nearest end of it.
func record(h *hdrhistogram.Histogram, nanoseconds int64) {
	// The bounds make RecordValue unable to fail.
	_ = h.RecordValue(min(max(nanoseconds, 0), highestNanoseconds))
}

// Distribution is times in nanoseconds, to three significant digits. All
// values are zero when Count is.
type Distribution struct {
	Count int64   `json:"count"`
	Min   int64   `json:"min"`
	Mean  float64 `json:"mean"`
	P50   int64   `json:"p50"`
	P90   int64   `json:"p90"`
	P99   int64   `json:"p99"`
	P999  int64   `json:"p999"`
	Max   int64   `json:"max"`
	// Histogram is the whole distribution as a compressed HdrHistogram in base64
	// (version 2), which other tools read too; Merge adds up several.
	Histogram string `json:"histogram,omitempty"`
}

func newDistribution(h *hdrhistogram.Histogram) (Distribution, error) {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Distribution{}, fmt.Errorf("loadgen: encode histogram: %w", err)
	}
	d := Distribution{Count: h.TotalCount(), Histogram: string(encoded)}
	if d.Count > 0 {
		d.Min, d.Max, d.Mean = h.Min(), h.Max(), h.Mean()
		d.P50, d.P90 = h.ValueAtQuantile(50), h.ValueAtQuantile(90)
		d.P99, d.P999 = h.ValueAtQuantile(99), h.ValueAtQuantile(99.9)
	}
	return d, nil
}

// MergeDistributions adds up distributions, each of which must carry its
// Histogram unless it is the zero Distribution.
func MergeDistributions(parts ...Distribution) (Distribution, error) {
	sum := newHistogram()
	for i, p := range parts {
		if p.Count == 0 && p.Histogram == "" { // nothing was recorded
			continue
		}
		h, err := hdrhistogram.Decode([]byte(p.Histogram))
		if err != nil {
			return Distribution{}, fmt.Errorf("loadgen: histogram of distribution %d: %w", i, err)
		}
		if dropped := sum.Merge(h); dropped != 0 || h.TotalCount() != p.Count {
			return Distribution{}, fmt.Errorf("loadgen: histogram of distribution %d holds %d values (%d out of range): want %d", i, h.TotalCount(), dropped, p.Count)
		}
	}
	return newDistribution(sum)
}
