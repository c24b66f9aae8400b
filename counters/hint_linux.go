package counters

import (
	"fmt"
	"syscall"
)

// facts is what the errno of perf_event_open is judged with; the errno alone
// is ambiguous.
type facts struct {
	paranoid      string // /proc/sys/kernel/perf_event_paranoid; empty: no such file
	perfmon       bool   // CAP_PERFMON or CAP_SYS_ADMIN in effect
	seccomp       bool   // a seccomp filter is on
	hypervisor    bool
	nmiWatchdog   bool
	software      syscall.Errno // what a software event on ourselves gets; 0: it opens
	fileSoft      uint64
	fileHard      uint64
	uid           int
	targetUID     int // -1 unknown
	leaderOpened  bool
	groupEvents   int
	hardwareGroup bool
}

const useCPUTime = `or count CPU time by asking for metric "cpu-time"`

// hint says what an errno means here, what to do about it, and whether it is
// conclusive: the thing cannot be had on this machine, whoever asks.
func hint(errno syscall.Errno, f facts) (text string, conclusive bool) {
	switch errno {
	case syscall.EACCES:
		if f.targetUID >= 0 && f.targetUID != f.uid && !f.perfmon {
			return fmt.Sprintf("the process belongs to uid %d, we are uid %d without CAP_PERFMON: run as that user, or setcap cap_perfmon+ep on this program", f.targetUID, f.uid), false
		}
		return fmt.Sprintf("kernel.perf_event_paranoid is %s and CAP_PERFMON is %s: setcap cap_perfmon+ep on this program, or sysctl kernel.perf_event_paranoid=1",
			orUnknown(f.paranoid), effective(f.perfmon)), false
	case syscall.EPERM:
		if f.seccomp {
			return "a seccomp filter forbids perf_event_open: run the container with --cap-add PERFMON, or with a seccomp profile that allows it", false
		}
		return fmt.Sprintf("not permitted (kernel.perf_event_paranoid %s, CAP_PERFMON %s): setcap cap_perfmon+ep on this program, or look for kernel lockdown",
			orUnknown(f.paranoid), effective(f.perfmon)), false
	case syscall.ENOSYS:
		if f.paranoid == "" {
			return "this kernel is built without perf events: use another kernel, " + useCPUTime, true
		}
		return "the kernel has perf events and the call is not there: a seccomp filter hides it; run with a seccomp profile that allows perf_event_open", false
	case syscall.ENOENT, syscall.EOPNOTSUPP, syscall.ENXIO, syscall.ENODEV:
		return missing(errno, f)
	case syscall.EINVAL:
		if f.leaderOpened && f.hardwareGroup {
			return fmt.Sprintf("the first events of the group open and this one does not fit: the processor has too few counters for %d%s; free some, %s",
				f.groupEvents, watchdog(f), useCPUTime), false
		}
		return "the kernel does not take these attributes: report this with the output of uname -r, " + useCPUTime, false
	case syscall.EMFILE:
		return fmt.Sprintf("out of descriptors: the group needs %d and the limit is %d (hard %d), already raised as far as it goes: raise it with ulimit -n", f.groupEvents, f.fileSoft, f.fileHard), false
	case syscall.ENFILE:
		return "the whole system is out of descriptors: raise sysctl fs.file-max", false
	case syscall.ENOMEM:
		return "the kernel has no memory for counters: free some", false
	case syscall.ENOSPC:
		return "no free counter" + watchdog(f) + ": stop other perf users, " + useCPUTime, false
	case syscall.EBUSY:
		return "another perf user holds the counters exclusively: stop it", false
	case syscall.E2BIG:
		return "this kernel is too old for the attributes: Linux 4.13 or later is needed", true
	case syscall.ESRCH:
		return "no such process or thread: it ended", false
	}
	return "unexpected: look at dmesg, " + useCPUTime, false
}

// missing is for the errnos that say the event is not there. Whether perf as
// such works, a software event tells.
func missing(errno syscall.Errno, f facts) (string, bool) {
	switch {
	case f.software == syscall.ENODEV || f.software == syscall.ENOSYS:
		return "no perf event opens at all: this is a sandbox such as gVisor, or a kernel without perf; run outside it, " + useCPUTime, true
	case f.software != 0:
		return fmt.Sprintf("software events do not open either (%v): perf may be forbidden here; run as root once to tell", f.software), false
	case f.hypervisor:
		return "perf works, and this virtual machine has no hardware counters: enable the virtual PMU on the host, use a bare-metal machine, " + useCPUTime, true
	case errno == syscall.ENODEV:
		return "perf works, and the CPU or its counters are offline: see /sys/devices/system/cpu/online", false
	}
	return "perf works, and this machine has no such hardware counter: see what dmesg says of the PMU, " + useCPUTime, true
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func effective(yes bool) string {
	if yes {
		return "in effect"
	}
	return "not in effect"
}

func watchdog(f facts) string {
	if f.nmiWatchdog {
		return " (the NMI watchdog takes one: sysctl kernel.nmi_watchdog=0)"
	}
	return ""
}
