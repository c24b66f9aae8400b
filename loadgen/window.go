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
	// InFlight, when set, makes the loop closed: it is how many requests each
	// target always has in flight, each being followed by the next as soon as
	// it has ended. The rate is then what the slowest party can do; what that
	// says about the server depends on who the slowest is, see
	// GeneratorReport.Headroom.
	InFlight int `json:"in_flight,omitempty"`
	// Idle sends nothing and holds the connections.
	Idle bool `json:"idle,omitempty"`
	// Ramp and WarmUp come before the window, in this order: arrivals at a
	// rate that rises in a straight line from nothing, and at the whole rate.
	// None of them is in the results. A closed loop has no ramp.
	Ramp   time.Duration `json:"ramp_ns,omitempty"`
	WarmUp time.Duration `json:"warm_up_ns,omitempty"`
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
	// ProgressEvery, when set, keeps Progress up to date.
	ProgressEvery time.Duration `json:"progress_every_ns,omitempty"`
}

// Validate returns nil or an *InvalidError with the first problem that the
// window has for a generator of s with so many targets.
func (w Window) Validate(s Spec, targets int) error {
	_, err := w.resolve(s.withDefaults(), targets)
	return err
}

// resolve checks w against the generator's spec and targets and fills in
// what zeros stand for.
func (w Window) resolve(s Spec, targets int) (Window, error) {
	setDefault(&w.Drain, 5*time.Second)
	if err := w.resolveLoop(s); err != nil {
		return w, err
	}
	if w.Duration <= 0 || w.Duration > maxDuration {
		return w, invalid("Window.Duration", w.Duration, fmt.Sprintf("above 0 and at most %v", maxDuration))
	}
	if w.Drain < 0 || w.Drain > time.Hour {
		return w, invalid("Window.Drain", w.Drain, "above 0 and at most 1h")
	}
	if w.ProgressEvery < 0 {
		return w, invalid("Window.ProgressEvery", w.ProgressEvery, "0 (never) or more")
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
	_, err := newSchedule(s, w)
	return w, err
}

// resolveLoop checks what says how many requests there are.
func (w *Window) resolveLoop(s Spec) error {
	capacity := s.Connections * s.depth()
	switch {
	case w.InFlight < 0 || w.InFlight > capacity:
		return invalid("Window.InFlight", w.InFlight, fmt.Sprintf("1 to %d, which %d connections with %d requests each can have", capacity, s.Connections, s.depth()))
	case w.Ramp < 0 || w.Ramp > maxDuration:
		return invalid("Window.Ramp", w.Ramp, fmt.Sprintf("0 (none) to %v", maxDuration))
	case w.WarmUp < 0 || w.WarmUp > maxDuration:
		return invalid("Window.WarmUp", w.WarmUp, fmt.Sprintf("0 (none) to %v", maxDuration))
	case w.Idle && (w.InFlight != 0 || w.Rate != 0 || w.Ramp != 0 || w.WarmUp != 0):
		return invalid("Window.Idle", true, "no Rate, InFlight, Ramp and WarmUp with it")
	case w.InFlight > 0 && w.Rate != 0:
		return invalid("Window.Rate", formatRate(w.Rate), "0 with InFlight: a loop is closed or has a rate")
	case w.InFlight > 0 && w.Ramp != 0:
		return invalid("Window.Ramp", w.Ramp, "0 with InFlight")
	case w.InFlight > 0 || w.Idle:
		return nil
	}
	setDefault(&w.Rate, s.Rate)
	if w.Rate == 0 {
		return invalid("Window.Rate", 0, "a rate here or in Spec.Rate")
	}
	return validateRate("Window.Rate", w.Rate)
}

// open tells whether the window has a schedule.
func (w Window) open() bool { return w.InFlight == 0 && !w.Idle }

const maxDuration = 7 * 24 * time.Hour
