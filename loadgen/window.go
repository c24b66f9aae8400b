package loadgen

import (
	"fmt"
	"time"
)

// Window is one stretch of load. It starts and ends without a request in
// flight.
type Window struct {
	// Targets are indexes into the targets of the generator; nil = all. With
	// n targets each n consecutive arrivals go one to each, in random order.
	Targets []int `json:"targets,omitempty"`
	// Rate is requests per second for each target, taken to 1e-9 of a
	// request per second; 0 = Spec.Rate.
	Rate float64 `json:"rate,omitempty"`
	// Duration is how long arrivals are due. Each target is due
	// Rate × Duration of them, rounded to the nearest whole number.
	Duration time.Duration `json:"duration_ns"`
	// Seed fixes the arrival times and the order of targets: the same seed
	// gives the same schedule, whatever the number of workers.
	Seed uint64 `json:"seed,omitempty"`
	// Drain bounds the wait for answers after the last arrival. What is then
	// open is in flight at the end, and its connection is replaced before
	// the next window; 0 = 5 s.
	Drain time.Duration `json:"drain_ns,omitempty"`
}

// resolve checks w against the generator's spec and targets and fills in
// what zeros stand for.
func (w Window) resolve(s Spec, targets int) (Window, error) {
	setDefault(&w.Rate, s.Rate)
	setDefault(&w.Drain, 5*time.Second)
	if w.Rate == 0 {
		return w, invalid("Window.Rate", 0, "a rate here or in Spec.Rate")
	}
	if err := validateRate("Window.Rate", w.Rate); err != nil {
		return w, err
	}
	if w.Duration <= 0 || w.Duration > maxDuration {
		return w, invalid("Window.Duration", w.Duration, fmt.Sprintf("above 0 and at most %v", maxDuration))
	}
	if w.Drain < 0 || w.Drain > time.Hour {
		return w, invalid("Window.Drain", w.Drain, "above 0 and at most 1h")
	}
	if w.Targets == nil {
		for i := range targets {
			w.Targets = append(w.Targets, i)
		}
	}
	if len(w.Targets) == 0 {
		return w, invalid("Window.Targets", unquoted("empty"), "nil for all targets, or at least one index")
	}
	seen := make([]bool, targets)
	for i, t := range w.Targets {
		field := fmt.Sprintf("Window.Targets[%d]", i)
		if t < 0 || t >= targets {
			return w, invalid(field, t, fmt.Sprintf("an index into the %d targets", targets))
		}
		if seen[t] {
			return w, invalid(field, t, "each target once")
		}
		seen[t] = true
	}
	_, err := newSchedule(s.Arrival, w)
	return w, err
}

const maxDuration = 7 * 24 * time.Hour
