// Package counters says what a process cost in CPU between two moments, or
// refuses to say it.
//
// A [Counter] is opened on a process that does not run yet, and counts it with
// all threads that it will have. [Counter.Read] gives absolute readings; the
// counter is never reset. [Reading.Since] subtracts two of them and checks
// everything that is known to make such counts wrong. Its result, a [Delta], is
// a number that passed; every failed check is a typed error that carries the
// numbers it failed on and wraps [ErrRefused]. Nothing is scaled, estimated or
// replaced by a weaker number.
//
// # Metrics
//
// [Cycles] is one perf_event group of cycles, cycles:u, instructions,
// instructions:u and the software events task-clock, context-switches,
// cpu-migrations and page-faults. The kernel's part is total less user, exact
// because the events of a group are counted at the same times. It needs
// hardware counters, which many virtual machines lack.
//
// [CPUTime] is the process CPU clock (clock_gettime with the clock id of the
// process), in nanoseconds, exited threads included. Where perf may be used, the
// software events ride along; where not, [Delta.RidersMissing] says why and the
// metric is there without them. The split of this metric into user and kernel
// is not given: the kernel estimates it from timer ticks.
//
// The zero [Options] asks for Cycles. Where they cannot be had that is an
// error, and [Probe] says why and what to do; CPUTime is for those who ask for
// it by name.
//
// # How all threads are counted
//
// perf attaches to one thread, not to a process. OpenHeld attaches while there
// is one thread that does not run (held by ptrace at its exec, or blocked on a
// pipe before it), with inheritance to every thread created later and not to
// child processes (inherit_thread, Linux 5.13; on older kernels
// [Delta.ChildrenCounted] is set). It checks that the process did not run
// meanwhile, and is a [NotHeldError] otherwise.
//
// # What is checked
//
//   - Enabled equals running: the group was never pushed off the hardware
//     ([NotWholeError]).
//   - Coverage: the task clock of the counted threads agrees with the process
//     CPU clock ([CoverageError]; [UncheckedError] where a window of Cycles is
//     too short to tell). Bounds are [CoverageLow] and [CoverageHigh] with
//     allowances; each Delta says which bounds it was held to.
//   - Nothing went back ([BackwardsError]); same process ([RecycledError]),
//     same program ([ExecError]), still alive ([GoneError]), same events
//     ([GroupChangedError], [EndOfFileError]). While a thread is born or ends
//     the kernel refuses to sum the group for some microseconds (ECHILD, once
//     in 2,000 reads of a process with a thousand new threads a second); Read
//     waits that out for up to half a second.
//   - Cycles only: clock rate and instructions per cycle are those of a CPU
//     ([ImplausibleError]). Virtual counters exist that open, claim to run and
//     do not count.
//
// # What the two clocks differ by
//
// The allowances of the coverage check are facts of the kernel and worth
// knowing for the metric itself:
//
//   - The CPU clock of another process is brought up to date at timer ticks and
//     when a thread leaves its CPU. While threads run it may be behind by a tick
//     each (4 ms with CONFIG_HZ=250; up to a second on nohz_full CPUs). A window
//     that begins and ends at rest has no such error. [Delta.CPULagNanoseconds]
//     bounds it.
//   - Each context switch holds some time that is charged to the process and
//     that perf does not see: 1.2 to 3.5 microseconds where this was measured.
//     A process that wakes 2,000 times a second for 10 microseconds has a
//     coverage of 86% with every thread counted. 5 microseconds are allowed.
//   - Stolen time (and interrupt time with CONFIG_IRQ_TIME_ACCOUNTING) is in the
//     task clock and not in the process clock. /proc/stat says how much of it
//     there was on the CPUs the process may use; all of it, and one tick for
//     each CPU that has ever seen any, raises the upper bound. The lower bound
//     is not touched by it. The CPUs are those of the main thread: widen the
//     affinity of single threads and the window may be refused.
//
// # What it does not do
//
// It starts no process and moves none. It counts no process that already runs,
// no cgroup and no chosen events. An exec of the same executable is noticed by
// the address of the stack, so not where address randomisation is off or the
// caller may not trace the process. Linux only: elsewhere OpenHeld and Probe
// give an error that wraps [ErrNotSupported]; Reading.Since works everywhere.
//
// Sources: perf_event_open(2) and kernel/events/core.c (groups inherit since
// Linux 4.13, whatever the manual page says), kernel/sched/cputime.c,
// kernel/time/posix-cpu-timers.c, proc(5).
package counters
