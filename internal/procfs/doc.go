// Package procfs reads what the kernel says under /proc and /sys, and nothing
// more: it changes nothing, keeps no state, and decides nothing.
//
// Every reader hangs on [FS], whose two fields are the roots to read from; the
// zero value reads the live /proc and /sys, a test points it at a tree of its
// own. Reading and parsing are split, so each parser can be fed a string.
// Field names carry the unit (RunNanoseconds). Ticks of /proc are USER_HZ,
// which is 100 a second on every Linux architecture this module supports.
//
// A value that is not there is an error, never a zero: a file that the kernel
// does not have gives an error for which errors.Is(err, fs.ErrNotExist) holds,
// and a facility that is conclusively missing wraps [ErrNotSupported].
//
// # Busy time of a CPU
//
// [FS.CPUBusy] takes the best source that the host has and names it:
//
//   - "cpuacct": cpuacct.usage_percpu of the root of a cgroup v1 hierarchy, the
//     nanoseconds that all tasks of the host ran on each CPU. A task that is
//     running at the moment of the read is charged up to its last scheduler
//     tick or switch, so a busy CPU may lag by one tick; an idle one does not.
//   - "cpuidle": time less the residency of every idle state. Residency is
//     added when the CPU wakes, so each CPU is woken for the read by a visit
//     of the reading thread; where that is refused the source is not used.
//   - "/proc/schedstat": the nanoseconds that all tasks ran on each CPU, on
//     kernels with CONFIG_SCHEDSTATS. A task is charged when it leaves the CPU,
//     so one that runs on is missing; therefore each difference is held against
//     /proc/stat and given up for it where the two disagree.
//   - "/proc/stat": time less idle and iowait, both cut to ticks of 10 ms. On
//     a tickless kernel these two include the sleep in progress, which the
//     sampled user and system columns cannot say of short bursts of work.
//
// Sources: proc(5), Documentation/admin-guide/cgroup-v1/cpuacct.rst,
// Documentation/admin-guide/pm/cpuidle.rst, lib/bitmap-str.c (list grammar),
// fs/proc/stat.c, kernel/sched/cpuacct.c,
// Documentation/scheduler/sched-stats.rst.
package procfs
