package counters

import (
	"errors"
	"fmt"
	"syscall"
)

// ErrRefused is wrapped by every error that says: the process ran and was
// read, but the counts of this window cannot be trusted, so there is no value.
var ErrRefused = errors.New("window refused")

// NotWholeError: the group was on the hardware for less time than the process
// ran. Counts are never scaled up from such a window.
type NotWholeError struct {
	Pid                int
	EnabledNanoseconds uint64
	RunningNanoseconds uint64
}

func (e *NotWholeError) Error() string {
	return fmt.Sprintf("counters of pid %d ran %d of %d ns (%.2f%%): something else uses the hardware counters; "+
		"stop other perf users, set kernel.nmi_watchdog=0, keep the process on CPUs of one kind",
		e.Pid, e.RunningNanoseconds, e.EnabledNanoseconds,
		100*float64(e.RunningNanoseconds)/float64(e.EnabledNanoseconds))
}

func (e *NotWholeError) Unwrap() error { return ErrRefused }

// CoverageError: the counted threads ran for another time than the process
// did. Below the bounds threads were missed; above them something was counted
// twice, or belongs to another process.
type CoverageError struct {
	Pid                  int
	TaskClockNanoseconds int64 // of the counted threads
	CPUNanoseconds       int64 // of the process
	// MinNanoseconds and MaxNanoseconds are the bounds of the task clock after
	// all allowances: Min for context switches, Max for stolen and interrupt
	// time (Outside), both for the process clock's lag (Unsure).
	MinNanoseconds, MaxNanoseconds int64
	SwitchNanoseconds              int64
	OutsideNanoseconds             int64
	UnsureNanoseconds              int64
}

func (e *CoverageError) Error() string {
	what := "threads were missed; attach while the process is held at exec"
	if e.TaskClockNanoseconds > e.MaxNanoseconds {
		what = "threads were counted twice, or stolen or interrupt time went unreported; " +
			"close other counters of this process, compare the steal column of /proc/stat"
	}
	return fmt.Sprintf("counted threads of pid %d ran %d ns, the process clock says %d ns: coverage %s, must be %s to %s: %s",
		e.Pid, e.TaskClockNanoseconds, e.CPUNanoseconds,
		e.percent(e.TaskClockNanoseconds), e.percent(e.MinNanoseconds), e.percent(e.MaxNanoseconds), what)
}

func (e *CoverageError) Unwrap() error { return ErrRefused }

func (e *CoverageError) percent(ns int64) string {
	return fmt.Sprintf("%.2f%%", 100*float64(ns)/float64(e.CPUNanoseconds))
}

// UncheckedError: the window is too short, or has too many context switches
// for its CPU time, to tell whether every thread was counted. The numbers are
// those of a CoverageError. Only Cycles needs the check to have a value.
type UncheckedError CoverageError

func (e *UncheckedError) Error() string {
	return fmt.Sprintf("in %d ns of CPU time of pid %d up to %d ns are uncertain and %d ns may be lost in context switches: "+
		"coverage cannot be checked; use a longer or busier window, or metric %q",
		e.CPUNanoseconds, e.Pid, e.UnsureNanoseconds, e.SwitchNanoseconds, CPUTime)
}

func (e *UncheckedError) Unwrap() error { return ErrRefused }

// BackwardsError: something that only grows became smaller.
type BackwardsError struct {
	Pid      int
	What     string
	From, To uint64
}

func (e *BackwardsError) Error() string {
	return fmt.Sprintf("%s of pid %d went back from %d to %d: the readings are in the wrong order, or the kernel's value cannot be used",
		e.What, e.Pid, e.From, e.To)
}

func (e *BackwardsError) Unwrap() error { return ErrRefused }

// ImplausibleError: the counts passed every other check and still cannot be
// true of a real CPU, as with virtual hardware counters that do not count.
type ImplausibleError struct {
	Pid             int
	What            string
	Value, Min, Max float64
}

func (e *ImplausibleError) Error() string {
	return fmt.Sprintf("%s of pid %d is %.6g, must be %g to %g: these hardware counters do not count; "+
		"if this is a virtual machine use metric %q", e.What, e.Pid, e.Value, e.Min, e.Max, CPUTime)
}

func (e *ImplausibleError) Unwrap() error { return ErrRefused }

// EndOfFileError: the kernel gave no data, because the group lost its counters
// for good.
type EndOfFileError struct{ Pid int }

func (e *EndOfFileError) Error() string {
	return fmt.Sprintf("counters of pid %d read as end of file: the kernel took them away; look for a pinned perf event and open again", e.Pid)
}

func (e *EndOfFileError) Unwrap() error { return ErrRefused }

// GroupChangedError: a read did not give the events that were opened.
type GroupChangedError struct {
	Pid       int
	Want, Got []uint64 // event ids
	Cause     error    // from the kernel or the decoder; may be nil
}

func (e *GroupChangedError) Error() string {
	s := fmt.Sprintf("counter group of pid %d changed: opened event ids %d, read %d", e.Pid, e.Want, e.Got)
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s + ": open a new counter"
}

func (e *GroupChangedError) Unwrap() []error { return causes(ErrRefused, e.Cause) }

// RecycledError: the pid now names another process.
type RecycledError struct {
	Pid                int
	WasTicks, NowTicks uint64 // start times since boot
}

func (e *RecycledError) Error() string {
	return fmt.Sprintf("pid %d is another process now (started at tick %d, was %d): the counted process ended; start it again",
		e.Pid, e.NowTicks, e.WasTicks)
}

func (e *RecycledError) Unwrap() error { return ErrRefused }

// ExecError: the process replaced its program.
type ExecError struct {
	Pid      int
	Was, Now Program
}

func (e *ExecError) Error() string {
	return fmt.Sprintf("pid %d executed another program (was device %d inode %d stack %#x, is device %d inode %d stack %#x): "+
		"take the first reading after the last exec", e.Pid,
		e.Was.Device, e.Was.Inode, e.Was.StackStart, e.Now.Device, e.Now.Inode, e.Now.StackStart)
}

func (e *ExecError) Unwrap() error { return ErrRefused }

// GoneError: the process ended, also when it was not yet waited for.
type GoneError struct {
	Pid   int
	Cause error
}

func (e *GoneError) Error() string {
	s := fmt.Sprintf("process %d ended", e.Pid)
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s + ": read its counters while it lives"
}

func (e *GoneError) Unwrap() []error { return causes(ErrRefused, e.Cause) }

// MismatchError: two readings do not belong together.
type MismatchError struct{ What, Prev, This string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("readings differ in %s (%s, then %s): subtract readings of the same counter", e.What, e.Prev, e.This)
}

// NotHeldError: OpenHeld was given a process that has several threads or ran
// while the counter was attached, so threads could have escaped the count.
type NotHeldError struct {
	Pid            int
	State          string // /proc/PID/stat field 3
	Threads        int
	RanNanoseconds int64 // CPU time it used meanwhile
}

func (e *NotHeldError) Error() string {
	return fmt.Sprintf("process %d is not held (%d threads, ran %d ns while its counter was attached, state %s): open its counter before it is released",
		e.Pid, e.Threads, e.RanNanoseconds, e.State)
}

// OpenError: the kernel did not open an event. It wraps Errno, and
// ErrNotSupported when that is conclusive.
type OpenError struct {
	Event      Event
	Pid        int // 0: the calling thread
	Errno      syscall.Errno
	Hint       string // cause and smallest fix
	Conclusive bool   // it cannot work here, whatever is permitted
}

func (e *OpenError) Error() string {
	whom := "the calling thread"
	if e.Pid != 0 {
		whom = fmt.Sprintf("pid %d", e.Pid)
	}
	return fmt.Sprintf("open perf event %s for %s: %v: %s", e.Event, whom, e.Errno, e.Hint)
}

func (e *OpenError) Unwrap() []error {
	if e.Conclusive {
		return []error{e.Errno, ErrNotSupported}
	}
	return []error{e.Errno}
}

func causes(errs ...error) []error {
	var out []error
	for _, err := range errs {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}
