package counters

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

// explain completes the OpenError in err, if there is one, with its hint.
func explain(err error, fs procfs.FS, metric Metric) error {
	var open *OpenError
	if !errors.As(err, &open) {
		return err
	}
	f := readFacts(fs, open.Pid)
	group := groupSpec(metric, inheritThreads)
	f.groupEvents = len(group)
	f.hardwareGroup = metric == Cycles
	f.leaderOpened = open.Event != group[0].name
	open.Hint, open.Conclusive = hint(open.Errno, f)
	return err
}

// readFacts gathers what it can; what cannot be read stays unknown.
func readFacts(fs procfs.FS, pid int) facts {
	f := facts{uid: os.Geteuid(), targetUID: -1}
	f.paranoid, _ = fs.ReadProc("sys/kernel/perf_event_paranoid")
	if w, err := fs.ReadProc("sys/kernel/nmi_watchdog"); err == nil {
		f.nmiWatchdog = w == "1"
	}
	if m, err := fs.CPUModel(); err == nil {
		f.hypervisor = m.Hypervisor
	}
	// Arm has no hypervisor flag; the device tree or the firmware tells there.
	if v, err := fs.ReadSys("class/dmi/id/sys_vendor"); err == nil && v == "QEMU" {
		f.hypervisor = true
	}
	if _, err := fs.ReadProc("device-tree/hypervisor/compatible"); err == nil {
		f.hypervisor = true
	}
	if own, err := fs.ReadProc("thread-self/status"); err == nil {
		f.perfmon, f.seccomp = parsePrivileges(own)
	}
	if pid > 0 {
		if other, err := fs.ReadProc(strconv.Itoa(pid) + "/status"); err == nil {
			f.targetUID = parseUID(other)
		}
	}
	f.fileSoft, f.fileHard, _ = sys.FileLimit()
	f.software = trySoftware()
	return f
}

// trySoftware opens the plainest software event on this thread, user mode
// only so that paranoid level 2 permits it.
func trySoftware() syscall.Errno {
	fd, err := sys.PerfEventOpen(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK,
		Bits: unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}, 0, -1, -1)
	if err == nil {
		sys.Close(fd)
		return 0
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// parsePrivileges reads /proc/PID/status: whether counting is privileged
// (CAP_PERFMON, bit 38, or CAP_SYS_ADMIN, bit 21) and whether a seccomp filter
// is on.
func parsePrivileges(status string) (perfmon, seccomp bool) {
	if caps, err := strconv.ParseUint(statusField(status, "CapEff"), 16, 64); err == nil {
		perfmon = caps&(1<<unix.CAP_PERFMON|1<<unix.CAP_SYS_ADMIN) != 0
	}
	return perfmon, statusField(status, "Seccomp") == "2"
}

// parseUID reads the effective uid from /proc/PID/status, -1 if it is not there.
func parseUID(status string) int {
	ids := strings.Fields(statusField(status, "Uid"))
	if len(ids) < 2 {
		return -1
	}
	uid, err := strconv.Atoi(ids[1])
	if err != nil {
		return -1
	}
	return uid
}

func statusField(status, name string) string {
	for _, line := range strings.Split(status, "\n") {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
