package sys

import "golang.org/x/sys/unix"

// The kernel derives the clock ids of CPU clocks from a pid: the bits of the
// pid inverted and moved up by three, then the kind of clock, then whether the
// pid names a thread (include/linux/posix-timers_types.h).
const (
	cpuClockSched     = 2
	cpuClockPerThread = 4
)

// MonotonicNanoseconds reads CLOCK_MONOTONIC.
func MonotonicNanoseconds() (int64, error) { return clock(unix.CLOCK_MONOTONIC) }

// ProcessCPUClock is the CPU time in nanoseconds of all threads that process
// pid has or had, user and kernel, as the scheduler accounts it. No privilege
// is needed for any pid. A pid that is no process gives EINVAL.
func ProcessCPUClock(pid int) (int64, error) {
	return clock(int32(^pid<<3 | cpuClockSched))
}

// ThreadCPUClock is the CPU time in nanoseconds of one thread of the calling
// process; the kernel refuses threads of other processes with EINVAL.
func ThreadCPUClock(tid int) (int64, error) {
	return clock(int32(^tid<<3 | cpuClockSched | cpuClockPerThread))
}

func clock(id int32) (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		return 0, err
	}
	return ts.Nano(), nil
}
