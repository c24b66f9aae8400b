package counters

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/procfs"
)

func TestProbeCPUTime(t *testing.T) { require.NoError(t, Probe(CPUTime)) }

// Whatever this machine is, the probe and OpenHeld say the same of it, and
// nobody gets CPU time who asked for cycles.
func TestProbeCyclesAgreesWithOpen(t *testing.T) {
	probed := Probe(Cycles)
	p := startHeld(t, "wait")
	c, opened := OpenHeld(p.Pid(), Options{})
	if probed == nil {
		require.NoError(t, opened)
		require.NoError(t, c.Close())
		return
	}
	t.Log(probed)
	if !errors.Is(probed, ErrNotSupported) {
		return // multiplexed or forbidden: may change between the two
	}
	require.Nil(t, c)
	require.ErrorIs(t, opened, ErrNotSupported)
	var open *OpenError
	require.ErrorAs(t, probed, &open)
	require.True(t, open.Conclusive)
	require.NotZero(t, open.Errno)
	require.ErrorIs(t, probed, open.Errno)
	require.Contains(t, open.Hint, `metric "cpu-time"`)
	if m, err := (procfs.FS{}).CPUModel(); err == nil && m.Hypervisor && open.Errno == unix.ENOENT {
		require.Contains(t, open.Hint, "virtual machine")
	}
}

func TestCyclesOfAProcess(t *testing.T) {
	need.Skip(t, "pmu", Probe(Cycles))
	p := startHeld(t, "threads:8")
	c, err := OpenHeld(p.Pid(), Options{})
	require.NoError(t, err)
	defer c.Close()
	p.release(t)
	prev := read(t, c)
	time.Sleep(time.Second)
	d, err := read(t, c).Since(prev)
	require.NoError(t, err)
	require.Equal(t, d.Value, *d.UserValue+*d.KernelValue)
	require.Positive(t, *d.Instructions)
}

// Failures of perf_event_open that this machine can produce, each with its
// hint; CPUTime goes on without riders and says so.
func TestErrnoHere(t *testing.T) {
	riders(t)
	for mode, want := range map[string][]string{
		"limit":   {"open perf event context-switches", "too many open files", "the group needs 4", "ulimit -n"},
		"seccomp": {"open perf event task-clock", "operation not permitted", "a seccomp filter forbids perf_event_open", "--cap-add PERFMON"},
		"raise":   {},
		"nobody":  {"permission denied", "kernel.perf_event_paranoid is", "CAP_PERFMON is not in effect", "setcap cap_perfmon+ep"},
	} {
		t.Run(mode, func(t *testing.T) {
			if mode == "nobody" {
				need.Skip(t, "root", notRoot())
				paranoid, err := (procfs.FS{}).ReadProc("sys/kernel/perf_event_paranoid")
				require.NoError(t, err)
				if paranoid < "2" || paranoid[0] == '-' {
					t.Skipf("kernel.perf_event_paranoid is %s: everybody may count", paranoid)
				}
			}
			missing := runRestricted(t, mode)
			for _, text := range want {
				require.Contains(t, missing, text)
			}
			if len(want) == 0 {
				require.Empty(t, missing, "the soft limit was in the way and not raised")
			}
			t.Log(missing)
		})
	}
}

func TestErrnoDeadThread(t *testing.T) {
	riders(t)
	_, err := openGroup(CPUTime, 1<<22+1)
	require.ErrorIs(t, err, unix.ESRCH)
	err = explain(err, procfs.FS{}, CPUTime)
	require.ErrorContains(t, err, "it ended")
}

func TestErrnoForeignUser(t *testing.T) {
	f := facts{uid: 1000, targetUID: 0, paranoid: "1"}
	text, conclusive := hint(unix.EACCES, f)
	require.Contains(t, text, "belongs to uid 0, we are uid 1000")
	require.False(t, conclusive)
}

// The errno alone is ambiguous: the same one means different things with
// different facts.
func TestHints(t *testing.T) {
	hardware := facts{paranoid: "2", groupEvents: 8, hardwareGroup: true, targetUID: -1}
	with := func(change func(*facts)) facts { f := hardware; change(&f); return f }
	for _, c := range []struct {
		name       string
		errno      unix.Errno
		facts      facts
		text       string
		conclusive bool
	}{
		{"no vPMU", unix.ENOENT, with(func(f *facts) { f.hypervisor = true }), "virtual machine has no hardware counters", true},
		{"no vPMU, other errno (oxidecomputer/propolis#894)", unix.EOPNOTSUPP, with(func(f *facts) { f.hypervisor = true }), "virtual machine", true},
		{"PMU model unknown", unix.ENXIO, hardware, "no such hardware counter", true},
		{"gVisor", unix.ENODEV, with(func(f *facts) { f.software = unix.ENODEV }), "sandbox", true},
		{"CPU offline", unix.ENODEV, hardware, "online", false},
		{"perf forbidden as well", unix.ENOENT, with(func(f *facts) { f.software = unix.EACCES }), "software events do not open either", false},
		{"paranoid", unix.EACCES, hardware, "kernel.perf_event_paranoid is 2 and CAP_PERFMON is not in effect", false},
		{"seccomp (moby/moby#43163)", unix.EPERM, with(func(f *facts) { f.seccomp, f.perfmon = true, true }), "seccomp filter", false},
		{"lockdown", unix.EPERM, with(func(f *facts) { f.perfmon = true }), "CAP_PERFMON in effect", false},
		{"seccomp hides the call (containers/common#2534)", unix.ENOSYS, hardware, "seccomp", false},
		{"no perf in the kernel", unix.ENOSYS, with(func(f *facts) { f.paranoid = "" }), "without perf events", true},
		{"group too large (andrewrk/poop#63)", unix.EINVAL, with(func(f *facts) { f.leaderOpened, f.nmiWatchdog = true, true }), "kernel.nmi_watchdog=0", false},
		{"attributes", unix.EINVAL, hardware, "does not take these attributes", false},
		{"descriptors (intel/numatop#62)", unix.EMFILE, with(func(f *facts) { f.fileSoft, f.fileHard = 1024, 4096 }), "the group needs 8 and the limit is 1024 (hard 4096)", false},
		{"system descriptors", unix.ENFILE, hardware, "fs.file-max", false},
		{"memory", unix.ENOMEM, hardware, "memory", false},
		{"counters used up", unix.ENOSPC, hardware, "no free counter", false},
		{"exclusive", unix.EBUSY, hardware, "exclusively", false},
		{"old kernel", unix.E2BIG, hardware, "4.13", true},
		{"ended", unix.ESRCH, hardware, "ended", false},
		{"anything else", unix.EIO, hardware, "unexpected", false},
	} {
		text, conclusive := hint(c.errno, c.facts)
		require.Contains(t, text, c.text, c.name)
		require.Equal(t, c.conclusive, conclusive, c.name)
		err := error(&OpenError{Event: EventCycles, Errno: c.errno, Hint: text, Conclusive: conclusive})
		require.Equal(t, c.conclusive, errors.Is(err, ErrNotSupported), c.name)
		require.ErrorIs(t, err, c.errno, c.name)
	}
}
