package counters

import "fmt"

// Bounds of the coverage check.
const (
	// CoverageLow and CoverageHigh bound the ratio of the counted threads' task
	// clock to the process CPU clock before the allowances that checkCoverage
	// makes.
	CoverageLow  = 0.97
	CoverageHigh = 1.03
	// CoverageFloor is what no allowance may lower the bound to for Cycles: what
	// perf did not see run, its cycles do not count either.
	CoverageFloor = 0.90
	// ridersFloor is the same for the allowance for context switches where the
	// group only holds riders.
	ridersFloor = 0.50
	// switchNanoseconds is the time in each context switch that the scheduler
	// charges to a thread and perf, which is switched inside of it, does not
	// see. Measured 1.2 to 3.5 microseconds with a software group in a virtual
	// machine (threads that wake for 10 to 200 microseconds, Linux 6.18).
	switchNanoseconds = 5000
)

// checkCoverage compares what perf saw the counted threads run with what the
// scheduler says that the process ran. The two are kept by different code in
// the kernel, so one number finds missed threads, threads counted twice, and
// inherited counters that died. The bounds allow for what is known to differ:
//
//   - Both: the process clock read from outside lags by up to a timer tick for
//     each running thread, and moves while the group is read.
//   - Low: a part of each context switch. Nothing else; stolen time only adds
//     to the task clock.
//   - High: the scheduler leaves stolen time, and on some kernels interrupt
//     time, out of the process clock, and perf leaves it in. How much of that
//     hit this process the kernel does not tell, so all of it on the CPUs that
//     the process may use is allowed for.
func (r Reading) checkCoverage(prev Reading, d *Delta) error {
	outside, err := r.outsideSince(prev)
	if err != nil {
		return err
	}
	d.OutsideNanoseconds = outside
	task, cpu := float64(*d.TaskClockNanoseconds), float64(d.CPUNanoseconds)
	switches := float64(*d.ContextSwitches) * switchNanoseconds
	unsure := float64(d.CPUSkewNanoseconds + d.CPULagNanoseconds)
	floor := ridersFloor
	if r.Metric == Cycles {
		floor = 0
	}
	// In nanoseconds, because cpu may be zero.
	low := max(CoverageLow*cpu-switches, floor*cpu) - unsure
	high := CoverageHigh*cpu + unsure + float64(outside)
	e := CoverageError{
		Pid: r.Pid, TaskClockNanoseconds: int64(task), CPUNanoseconds: d.CPUNanoseconds,
		OutsideNanoseconds: outside, SwitchNanoseconds: int64(switches), UnsureNanoseconds: int64(unsure),
		MinNanoseconds: int64(low), MaxNanoseconds: int64(high),
	}
	if task < low || task > high {
		return &e
	}
	if cpu == 0 {
		return nil // nothing ran: there is no ratio
	}
	if r.Metric == Cycles && low < CoverageFloor*cpu {
		return (*UncheckedError)(&e)
	}
	coverage, lowest, highest := task/cpu, low/cpu, high/cpu
	d.Coverage, d.CoverageMin, d.CoverageMax = &coverage, &lowest, &highest
	return nil
}

// outsideSince is the time that perf's clock may have counted and the process
// clock not, at most. A CPU that reported none since boot adds nothing; one
// that did adds its difference and the step it is reported in.
func (r Reading) outsideSince(prev Reading) (int64, error) {
	before := make(map[int]Outside, len(prev.Outside))
	for _, o := range prev.Outside {
		before[o.CPU] = o
	}
	var sum int64
	for _, o := range r.Outside {
		b, ok := before[o.CPU]
		if !ok {
			continue // not among the CPUs it could use when the window began
		}
		for _, v := range []struct {
			what     string
			from, to int64
		}{
			{"stolen time", b.StealNanoseconds, o.StealNanoseconds},
			{"interrupt time", b.InterruptNanoseconds, o.InterruptNanoseconds},
		} {
			if v.to < v.from {
				return 0, &BackwardsError{r.Pid, fmt.Sprintf("%s of CPU %d, host of process", v.what, o.CPU), uint64(v.from), uint64(v.to)}
			}
			if v.to > 0 {
				sum += v.to - v.from + o.ResolutionNanoseconds
			}
		}
	}
	return sum, nil
}
