// Package child is the only place that starts and stops processes.
//
// A process is started held: it has executed nothing of its program and has
// one thread, so that it can be placed on CPUs and counted before it costs
// anything. Release lets it run, Stop ends it and what it forked.
//
// # What ends when
//
//   - Each process leads a process group of its own. The group ends with its
//     leader: what the leader leaves behind in the group is killed before the
//     leader is reaped, while its number cannot belong to anyone else.
//   - When this program ends, by whatever way (SIGKILL included), the kernel
//     kills each process: by PR_SET_PDEATHSIG, and by PTRACE_O_EXITKILL too
//     while it is held. PR_SET_PDEATHSIG is bound to the thread that created
//     the process, so one thread, which never ends, creates all of them. The
//     kernel drops the setting when a program with the set-user-id bit or file
//     capabilities is executed.
//   - What a process forked itself is not reached by that signal when this
//     program dies by SIGKILL. The next [Sweep] finds it by the ledger.
//
// # Ledger
//
// A [Ledger] is a file of JSON lines under the state directory that says what
// would have to be put back if its owner died now: processes, directories,
// cgroups. [Sweep] puts back what dead owners left and tells what it did. It
// kills only what it can identify: a process by pid, start time and
// executable, a descendant by the ledger's token in its environment.
//
// # Holding
//
// The usual way is ptrace (man ptrace: PTRACE_TRACEME makes execve stop the
// process with SIGTRAP before its first instruction). Where ptrace is refused
// (seccomp, Yama), /bin/sh is started instead, waits for a line on a pipe and
// becomes the program by exec: same pid, one thread, nothing of the program
// executed; but the shell's own start (below a millisecond of CPU) is part of
// the process's CPU clock, some shells export PWD, SHLVL and _, and a program
// that cannot be executed shows only after Release, by exit code 126 or 127.
// [Process.Method] tells which way was taken.
//
// A program with the set-user-id bit or file capabilities does not get them
// while it is traced, unless this process may trace anything (CAP_SYS_PTRACE).
//
// # What it does not do
//
// It does not know what a process is for, whether it is ready, and does not
// read its output. Descriptors that this program inherited without
// close-on-exec reach the process, as with os/exec. It follows nothing that a process moved out of its group
// while its owner lives. Linux only: elsewhere everything answers an error
// that wraps [ErrNotSupported].
//
// Times: start ticks are clock ticks since boot, field 22 of /proc/PID/stat.
package child
