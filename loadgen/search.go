package loadgen

import (
	"context"
	"fmt"
	"math"
)

// Search finds the highest rate at which something still holds: that no
// arrival overflows, or that a harness's gates pass.
type Search struct {
	// Low is the first rate that is tried, in requests per second.
	Low float64 `json:"low"`
	// High is the highest rate that is tried; 0 = 1e9.
	High float64 `json:"high,omitempty"`
	// Tolerance is how far the lowest rate that failed may at the end lie
	// above the result, as a part of it; 0 = 0.02.
	Tolerance float64 `json:"tolerance,omitempty"`
	// Confirm is how often the result must have passed; 0 = 2. One that then
	// fails counts as failed, and the search goes on below it.
	Confirm int `json:"confirm,omitempty"`
	// MaxTrials bounds the trials; 0 = 64.
	MaxTrials int `json:"max_trials,omitempty"`
}

// Trial is one rate that was tried.
type Trial struct {
	Rate   float64 `json:"rate"`
	Passed bool    `json:"passed"`
}

// SearchResult is what a search has found.
type SearchResult struct {
	// Rate is the highest rate that passed as often as was asked and lies
	// below Failed; 0 = none did.
	Rate float64 `json:"rate"`
	// Failed is the lowest rate that failed; 0 = none did, up to High.
	Failed float64 `json:"failed"`
	Trials []Trial `json:"trials"`
}

// Run doubles the rate from Low until a trial fails, halves it from there
// while none has passed, and then halves the distance (of the logarithms)
// between pass and failure. A rate near the border may pass at one time and
// fail at another: a failure stands, and a pass has to be confirmed. An error
// of try, or the end of ctx, ends the search with what it has so far.
func (s Search) Run(ctx context.Context, try func(ctx context.Context, rate float64) (bool, error)) (SearchResult, error) {
	setDefault(&s.High, maxRate)
	setDefault(&s.Tolerance, 0.02)
	setDefault(&s.Confirm, 2)
	setDefault(&s.MaxTrials, 64)
	var r SearchResult
	if err := s.validate(); err != nil {
		return r, err
	}
	passes := map[float64]int{}
	for rate := s.Low; rate != 0; rate = s.next(&r, passes) {
		if len(r.Trials) == s.MaxTrials {
			return r, fmt.Errorf("loadgen: search: %d trials, and the highest rate is only known to lie between %v and %v per second: raise Search.MaxTrials or Search.Tolerance, or look why trials of one rate differ", len(r.Trials), r.Rate, r.Failed)
		}
		if err := ctx.Err(); err != nil {
			return r, fmt.Errorf("loadgen: search: %w", context.Cause(ctx))
		}
		passed, err := try(ctx, rate)
		if err != nil {
			return r, fmt.Errorf("loadgen: search: trial at %v per second: %w", rate, err)
		}
		r.Trials = append(r.Trials, Trial{rate, passed})
		if passed {
			passes[rate]++
		} else {
			delete(passes, rate)
			if r.Failed == 0 || rate < r.Failed {
				r.Failed = rate
			}
		}
		r.Rate = 0
		for at, n := range passes {
			if n >= s.Confirm && at > r.Rate && (r.Failed == 0 || at < r.Failed) {
				r.Rate = at
			}
		}
	}
	return r, nil
}

// next is the rate to try; 0 = the search is over.
func (s Search) next(r *SearchResult, passes map[float64]int) float64 {
	best := 0.0 // the highest pass below every failure
	for at := range passes {
		if at > best && (r.Failed == 0 || at < r.Failed) {
			best = at
		}
	}
	switch {
	case r.Failed == 0 && best >= s.High, best > 0 && r.Failed > 0 && r.Failed <= best*(1+s.Tolerance):
		if passes[best] < s.Confirm {
			return best
		}
		return 0
	case r.Failed == 0:
		return min(2*best, s.High)
	case best == 0:
		if r.Failed < s.Low/1024 { // nothing passes
			return 0
		}
		return r.Failed / 2
	}
	return math.Sqrt(best * r.Failed)
}

func (s Search) validate() error {
	switch {
	case s.MaxTrials < 0 || s.MaxTrials > 100_000:
		return invalid("Search.MaxTrials", s.MaxTrials, "1 to 100000")
	case s.Confirm < 0:
		return invalid("Search.Confirm", s.Confirm, "1 or more")
	case !(s.Tolerance >= 0.0001 && s.Tolerance <= 1):
		return invalid("Search.Tolerance", formatRate(s.Tolerance), "0.0001 to 1")
	}
	if err := validateRate("Search.Low", s.Low); err != nil {
		return err
	}
	if err := validateRate("Search.High", s.High); err != nil {
		return err
	}
	if s.Low > s.High {
		return invalid("Search.Low", formatRate(s.Low), "at most Search.High")
	}
	return nil
}
