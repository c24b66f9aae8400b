package counters

import (
	"errors"
	"fmt"
)

// ErrNotSupported is wrapped by errors that say conclusively that something
// cannot be counted here: no hardware counters, a kernel without perf, a
// system other than Linux. Errors that do not wrap it could not tell, or name
// something that can be changed (a permission, a limit).
var ErrNotSupported = errors.New("not supported here")

// Metric names what a Counter is for. There is no silent way from one to
// another: who wants the weaker one asks for it by name.
type Metric string

const (
	// Cycles is CPU cycles of the process in user and kernel mode, from the
	// hardware counters. Unit: cycles.
	Cycles Metric = "cycles"
	// CPUTime is the process CPU clock: the time all its threads, exited ones
	// included, were on a CPU, as the scheduler accounts it. Unit: nanoseconds.
	CPUTime Metric = "cpu-time"
)

// Unit is the unit of Delta.Value for this metric.
func (m Metric) Unit() string {
	switch m {
	case Cycles:
		return "cycles"
	case CPUTime:
		return "ns"
	}
	return ""
}

// Options say what OpenHeld counts. The zero value is the strongest metric,
// which fails where the machine cannot give it.
type Options struct {
	// Metric is what the counter is for. Default: Cycles.
	Metric Metric `json:"metric,omitempty"`
}

func (o Options) metric() (Metric, error) {
	if o.Metric == "" {
		return Cycles, nil
	}
	return o.Metric, o.Metric.check()
}

func (m Metric) check() error {
	if m.Unit() == "" {
		return fmt.Errorf("unknown metric %q: use %q or %q", string(m), Cycles, CPUTime)
	}
	return nil
}

// Event names one event of a group as perf(1) writes it.
type Event string

// The events that a Counter opens. The first four come from the hardware, the
// others from the kernel's software.
const (
	EventCycles           Event = "cycles"
	EventCyclesUser       Event = "cycles:u"
	EventInstructions     Event = "instructions"
	EventInstructionsUser Event = "instructions:u"
	EventTaskClock        Event = "task-clock"
	EventContextSwitches  Event = "context-switches"
	EventMigrations       Event = "cpu-migrations"
	EventPageFaults       Event = "page-faults"
)

// Delta is what a process cost between two readings, after every check passed.
// Fields that are pointers are nil where the thing was not counted: nil is
// unknown, never zero. Times are nanoseconds.
type Delta struct {
	Metric Metric `json:"metric"`
	// Value is the metric: cycles for Cycles, nanoseconds for CPUTime.
	Value float64 `json:"value"`
	// UserValue and KernelValue split Value exactly (one perf group). They are
	// nil for CPUTime, whose split the kernel only estimates from timer ticks.
	UserValue   *float64 `json:"user_value,omitempty"`
	KernelValue *float64 `json:"kernel_value,omitempty"`

	// StartNanoseconds and EndNanoseconds are the CLOCK_MONOTONIC times of the
	// two readings, WallNanoseconds their difference.
	StartNanoseconds int64 `json:"start_nanoseconds"`
	EndNanoseconds   int64 `json:"end_nanoseconds"`
	WallNanoseconds  int64 `json:"wall_nanoseconds"`
	// CPUNanoseconds is the process CPU clock, whatever the metric.
	CPUNanoseconds int64 `json:"cpu_nanoseconds"`
	// CPULagNanoseconds bounds the error of CPUNanoseconds (plus or minus): the
	// kernel brings the clock of a process that is read from outside up to date
	// at timer ticks and when a thread leaves its CPU. A window that begins and
	// ends with the process at rest has no such error.
	CPULagNanoseconds int64 `json:"cpu_lag_nanoseconds"`
	// CPUSkewNanoseconds is how far the process CPU clock moved while the group
	// was read, both readings together.
	CPUSkewNanoseconds int64 `json:"cpu_skew_nanoseconds"`

	// TaskClockNanoseconds is perf's own clock of the counted threads. On many
	// kernels it contains stolen and interrupt time that CPUNanoseconds does not.
	TaskClockNanoseconds *int64 `json:"task_clock_nanoseconds,omitempty"`
	ContextSwitches      *int64 `json:"context_switches,omitempty"`
	Migrations           *int64 `json:"migrations,omitempty"`
	PageFaults           *int64 `json:"page_faults,omitempty"`
	// Instructions and UserInstructions are nil for CPUTime.
	Instructions     *int64 `json:"instructions,omitempty"`
	UserInstructions *int64 `json:"user_instructions,omitempty"`

	// EnabledNanoseconds and RunningNanoseconds are equal, or there would be no
	// Delta; both are given so that a record can show it.
	EnabledNanoseconds *int64 `json:"enabled_nanoseconds,omitempty"`
	RunningNanoseconds *int64 `json:"running_nanoseconds,omitempty"`

	// Coverage is TaskClockNanoseconds / CPUNanoseconds, about 1 when every
	// thread was counted once; nil without a group or when nothing ran.
	Coverage *float64 `json:"coverage,omitempty"`
	// CoverageMin and CoverageMax are the bounds that Coverage was held to:
	// CoverageLow and CoverageHigh and their allowances.
	CoverageMin *float64 `json:"coverage_min,omitempty"`
	CoverageMax *float64 `json:"coverage_max,omitempty"`
	// OutsideNanoseconds is stolen time, and interrupt time where the kernel
	// accounts it apart, on the CPUs the process may use: at most this much can
	// be in the task clock and not in the process clock.
	OutsideNanoseconds int64 `json:"outside_nanoseconds"`

	// RidersMissing says why there is no perf group, empty when there is one.
	RidersMissing string `json:"riders_missing,omitempty"`
	// ChildrenCounted is true where the kernel (before 5.13) cannot limit
	// inheritance to threads: processes started by the process are in the
	// events too, though not in CPUNanoseconds.
	ChildrenCounted bool `json:"children_counted,omitempty"`
}
