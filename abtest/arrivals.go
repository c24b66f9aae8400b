package abtest

import (
	"slices"
	"time"
)

// Arrivals is the shape of the load as it was sent in the kept rounds. It is a
// condition of every row: bunches let a proxy share its wake-ups.
type Arrivals struct {
	Sent         int64 // requests
	Alone        int64 // of those, sent with no other in the same wake-up
	LargestBunch int
	MedianLate   time.Duration // median over windows of each window's median
	WorstP99Late time.Duration
}

func arrivals(rounds []RoundRecord) Arrivals {
	var a Arrivals
	var medians []int64
	for _, round := range rounds {
		for _, run := range round.Runs {
			for _, b := range run.Generator.Batches {
				a.Sent += int64(b.Size) * b.Count
				if b.Size == 1 {
					a.Alone += b.Count
				}
				if b.Count > 0 {
					a.LargestBunch = max(a.LargestBunch, b.Size)
				}
			}
			medians = append(medians, run.Generator.Lateness.P50)
			a.WorstP99Late = max(a.WorstP99Late, time.Duration(run.Generator.Lateness.P99))
		}
	}
	if len(medians) > 0 {
		slices.Sort(medians)
		a.MedianLate = time.Duration(medians[len(medians)/2])
	}
	return a
}
