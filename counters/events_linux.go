package counters

import (
	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/sys"
)

// eventSpec is one event of a group before it is opened.
type eventSpec struct {
	name Event
	attr unix.PerfEventAttr
}

// readFormat makes one read give the whole group: both times, and each count
// with its id.
const readFormat = unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_ID |
	unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING

// groupSpec lists the events of a metric's group, leader first. Hardware comes
// before software: software members never fail to be scheduled and cost no
// hardware counter, so their task clock runs exactly when the cycles do.
//
// Only the leader is opened disabled; members follow it. All inherit alike
// (the kernel wants that of a group). None is pinned: a pinned group that loses
// its counters in an inherited thread says so nowhere, while one that is not
// pinned shows running < enabled.
func groupSpec(m Metric, inherit uint64) []eventSpec {
	var events []eventSpec
	add := func(name Event, kind uint32, config, bits uint64) {
		if len(events) == 0 {
			bits |= unix.PerfBitDisabled
		}
		events = append(events, eventSpec{name, unix.PerfEventAttr{
			Type: kind, Config: config, Bits: bits | inherit, Read_format: readFormat,
		}})
	}
	if m == Cycles {
		add(EventCycles, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES, 0)
		add(EventCyclesUser, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES, unix.PerfBitExcludeKernel)
		add(EventInstructions, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS, 0)
		add(EventInstructionsUser, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS, unix.PerfBitExcludeKernel)
	}
	add(EventTaskClock, unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_TASK_CLOCK, 0)
	add(EventContextSwitches, unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CONTEXT_SWITCHES, 0)
	add(EventMigrations, unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_MIGRATIONS, 0)
	add(EventPageFaults, unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS, 0)
	return events
}

const (
	inheritThreads = unix.PerfBitInherit | sys.PerfBitInheritThread
	inheritAll     = unix.PerfBitInherit // before Linux 5.13: child processes too
)
