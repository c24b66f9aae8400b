package counters

import "fmt"

// A window of Cycles is held to these bounds.
const (
	// A clock rate or a number of instructions per cycle outside these bounds
	// is no CPU's.
	ClockRateLow            = 0.1e9 // Hz
	ClockRateHigh           = 6e9   // Hz
	InstructionsPerCycleLow = 0.05
	InstructionsPerCycleMax = 8.0
)

// Since subtracts an earlier reading of the same counter, or refuses. Every
// refusal wraps ErrRefused and is one of the package's typed errors; a
// MismatchError (readings of two counters) is a mistake of the caller and does
// not.
func (r Reading) Since(prev Reading) (Delta, error) {
	if err := r.sameProcess(prev); err != nil {
		return Delta{}, err
	}
	d := Delta{
		Metric:             r.Metric,
		StartNanoseconds:   prev.AtNanoseconds,
		EndNanoseconds:     r.AtNanoseconds,
		WallNanoseconds:    r.AtNanoseconds - prev.AtNanoseconds,
		CPUNanoseconds:     r.CPUNanoseconds - prev.CPUNanoseconds,
		CPUSkewNanoseconds: r.CPUSkewNanoseconds + prev.CPUSkewNanoseconds,
		CPULagNanoseconds:  max(r.CPULagNanoseconds, prev.CPULagNanoseconds),
		RidersMissing:      r.RidersMissing,
		ChildrenCounted:    r.ChildrenCounted,
	}
	if d.WallNanoseconds <= 0 {
		return Delta{}, &BackwardsError{r.Pid, "CLOCK_MONOTONIC", uint64(prev.AtNanoseconds), uint64(r.AtNanoseconds)}
	}
	if d.CPUNanoseconds < 0 {
		return Delta{}, &BackwardsError{r.Pid, "the process CPU clock", uint64(prev.CPUNanoseconds), uint64(r.CPUNanoseconds)}
	}
	if r.Group == nil && r.Metric != CPUTime {
		return Delta{}, &MismatchError{"the counter group", string(r.Metric), "a reading without one"}
	}
	if r.Group != nil {
		if err := r.groupSince(prev, &d); err != nil {
			return Delta{}, err
		}
	}
	if r.Metric == CPUTime {
		d.Value = float64(d.CPUNanoseconds)
	}
	return d, nil
}

func (r Reading) sameProcess(prev Reading) error {
	switch {
	case r.Metric.Unit() == "":
		return r.Metric.check()
	case r.Metric != prev.Metric:
		return &MismatchError{"metric", string(prev.Metric), string(r.Metric)}
	case r.Pid != prev.Pid:
		return &MismatchError{"pid", fmt.Sprint(prev.Pid), fmt.Sprint(r.Pid)}
	case r.StartTicks != prev.StartTicks:
		return &RecycledError{r.Pid, prev.StartTicks, r.StartTicks}
	case r.Program != prev.Program:
		return &ExecError{r.Pid, prev.Program, r.Program}
	case (r.Group == nil) != (prev.Group == nil):
		return &MismatchError{"the counter group", fmt.Sprint(prev.Group != nil), fmt.Sprint(r.Group != nil)}
	}
	return nil
}

// groupSince checks the group's part of the window and fills in d.
func (r Reading) groupSince(prev Reading, d *Delta) error {
	if err := r.sameGroup(prev); err != nil {
		return err
	}
	enabled, running := r.Group.EnabledNanoseconds, r.Group.RunningNanoseconds
	if err := grew(r.Pid, "time enabled", prev.Group.EnabledNanoseconds, enabled); err != nil {
		return err
	}
	if err := grew(r.Pid, "time running", prev.Group.RunningNanoseconds, running); err != nil {
		return err
	}
	enabled -= prev.Group.EnabledNanoseconds
	running -= prev.Group.RunningNanoseconds
	if enabled != running {
		return &NotWholeError{r.Pid, enabled, running}
	}
	d.EnabledNanoseconds, d.RunningNanoseconds = signed(enabled), signed(running)

	counts := make(map[Event]*int64, len(r.Group.Counts))
	for i, c := range r.Group.Counts {
		before := prev.Group.Counts[i].Value
		if err := grew(r.Pid, string(c.Event), before, c.Value); err != nil {
			return err
		}
		counts[c.Event] = signed(c.Value - before)
	}
	d.TaskClockNanoseconds = counts[EventTaskClock]
	d.ContextSwitches = counts[EventContextSwitches]
	d.Migrations = counts[EventMigrations]
	d.PageFaults = counts[EventPageFaults]
	d.Instructions = counts[EventInstructions]
	d.UserInstructions = counts[EventInstructionsUser]

	if d.TaskClockNanoseconds == nil || d.ContextSwitches == nil {
		return &GroupChangedError{Pid: r.Pid, Got: r.Group.ids(), Cause: fmt.Errorf("no %s and %s in it", EventTaskClock, EventContextSwitches)}
	}
	if err := r.checkCoverage(prev, d); err != nil {
		return err
	}
	if r.Metric == Cycles {
		return r.checkCycles(d, counts[EventCycles], counts[EventCyclesUser])
	}
	return nil
}

func (r Reading) sameGroup(prev Reading) error {
	changed := &GroupChangedError{Pid: r.Pid, Want: prev.Group.ids(), Got: r.Group.ids()}
	if len(r.Group.Counts) != len(prev.Group.Counts) {
		return changed
	}
	for i, c := range r.Group.Counts {
		if p := prev.Group.Counts[i]; c.ID != p.ID || c.Event != p.Event {
			return changed
		}
	}
	return nil
}

func (g *Group) ids() []uint64 {
	ids := make([]uint64, len(g.Counts))
	for i, c := range g.Counts {
		ids[i] = c.ID
	}
	return ids
}

func (r Reading) checkCycles(d *Delta, cycles, user *int64) error {
	if cycles == nil || user == nil || d.Instructions == nil || d.UserInstructions == nil {
		return &GroupChangedError{Pid: r.Pid, Got: r.Group.ids(), Cause: fmt.Errorf("not all of cycles and instructions in it")}
	}
	implausible := func(what string, value, low, high float64) error {
		if value >= low && value <= high {
			return nil
		}
		return &ImplausibleError{r.Pid, what, value, low, high}
	}
	c, i := float64(*cycles), float64(*d.Instructions)
	if err := implausible("user cycles", float64(*user), 0, c); err != nil {
		return err
	}
	if err := implausible("user instructions", float64(*d.UserInstructions), 0, i); err != nil {
		return err
	}
	ran := float64(*d.TaskClockNanoseconds)
	if ran > 0 || c > 0 || i > 0 {
		// What did not run has a clock rate and an IPC of NaN or Inf, or zero:
		// none passes.
		if err := implausible("clock rate (Hz)", c/ran*1e9, ClockRateLow, ClockRateHigh); err != nil {
			return err
		}
		if err := implausible("instructions per cycle", i/c, InstructionsPerCycleLow, InstructionsPerCycleMax); err != nil {
			return err
		}
	}
	u, k := float64(*user), c-float64(*user)
	d.Value, d.UserValue, d.KernelValue = c, &u, &k
	return nil
}

func grew(pid int, what string, from, to uint64) error {
	if to < from {
		return &BackwardsError{pid, what, from, to}
	}
	return nil
}

// signed is for counts and times, which stay far below 2^63.
func signed(v uint64) *int64 {
	n := int64(v)
	return &n
}
