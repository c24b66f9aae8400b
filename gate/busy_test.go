package gate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func busyOf(share float64) BusyEvidence {
	return BusyEvidence{Arm: "a", CPUNanoseconds: int64(share * 2e9), WallNanoseconds: 1e9, CPUs: 2}
}

func TestBusyShares(t *testing.T) {
	for share, want := range map[float64]Status{0.24: StatusFail, 0.25: StatusPass, 0.33: StatusPass, 0.34: StatusFail, 0: StatusCannotTell} {
		require.Equal(t, want, BaselineBusy(Thresholds{}, busyOf(share)).Status, "%v", share)
	}
	for share, want := range map[float64]Status{0.1: StatusPass, 0.6: StatusPass, 0.61: StatusFail, 0: StatusCannotTell} {
		require.Equal(t, want, ArmBusy(Thresholds{}, busyOf(share)).Status, "%v", share)
	}
	require.Equal(t, StatusPass, LiveBusy(Thresholds{}, []BusyEvidence{busyOf(0.3), busyOf(0.5)}).Status)
	require.Equal(t, StatusFail, LiveBusy(Thresholds{}, []BusyEvidence{busyOf(0.3), busyOf(0.51)}).Status)
	require.Equal(t, StatusCannotTell, LiveBusy(Thresholds{}, []BusyEvidence{busyOf(0.3), busyOf(0)}).Status)
	require.Equal(t, StatusCannotTell, LiveBusy(Thresholds{}, nil).Status)
	require.Equal(t, StatusPass, ArmBusy(Thresholds{ArmBusyMax: 0.9}, busyOf(0.61)).Status)
}

// host is evidence of CPUs 0 and 1 over one second.
func host(busy0, busy1 int64, ps ...Process) HostEvidence {
	return HostEvidence{
		BusySource: "cpuacct", ResolutionNanoseconds: 1, WallNanoseconds: 1e9,
		BusyNanoseconds: map[int]int64{0: busy0, 1: busy1}, Processes: ps,
	}
}

func ran(pid int, comm string, cpu int, ns int64, allowed ...int) Process {
	return Process{Pid: pid, Comm: comm, RunNanoseconds: ns, OnCPU: map[int]int64{cpu: ns}, AllowedCPUs: allowed}
}

func TestHeadroom(t *testing.T) {
	e := HeadroomEvidence{Part: "origin", CPUs: []int{0}, Host: host(749e6, 0)}
	require.Equal(t, StatusPass, Headroom(Thresholds{}, e).Status)

	own := ran(10, "origin", 0, 200e6, 0)
	own.Own = true
	e.Host = host(990e6, 0, ran(77, "spinner", 0, 790e6, 0), own, ran(78, "elsewhere", 1, 900e6, 1))
	r := Headroom(Thresholds{}, e)
	require.Equal(t, StatusFail, r.Status)
	require.Equal(t, "origin: CPUs 0 idle for 1%", r.Got)
	require.Equal(t, `not of this rig, and busy there: "spinner" (pid 77) ran 79.0% of the window on CPU 0`, r.Cause)

	own.RunNanoseconds, own.OnCPU = 980e6, map[int]int64{0: 980e6}
	e.Host = host(990e6, 0, own, ran(77, "small", 0, 1e6, 0))
	require.Equal(t, `the load is too much for these CPUs: "origin" (pid 10) ran 98.0% of the window on CPU 0`, Headroom(Thresholds{}, e).Cause)

	e.Host = host(740e6, 0)
	e.Host.ResolutionNanoseconds = 20e6
	require.Equal(t, StatusCannotTell, Headroom(Thresholds{}, e).Status)
	e.CPUs = []int{2}
	require.Contains(t, Headroom(Thresholds{}, e).Cause, "the busy time of CPU 2 is unknown")
	require.Equal(t, StatusCannotTell, Headroom(Thresholds{}, HeadroomEvidence{}).Status)
}
