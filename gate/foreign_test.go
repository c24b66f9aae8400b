package gate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForeignWork(t *testing.T) {
	arm := ArmTime{Name: "off", Pids: []int{5}, CPUNanoseconds: 300e6}
	proxy := ran(5, "envoy", 1, 300e6, 1)
	e := ForeignEvidence{CPUs: []int{1}, Host: host(0, 309e6, proxy), Arms: []ArmTime{arm}}
	require.Equal(t, StatusPass, ForeignDuring(Thresholds{}, e).Status)
	require.Equal(t, StatusFail, ForeignBefore(Thresholds{}, e).Status, "before, less is allowed")

	e.Host = host(0, 350e6, proxy, ran(9, "cc1", 1, 40e6, 0, 1), ran(8, "make", 0, 5e6, 0, 1), ran(7, "other", 0, 900e6, 0))
	r := ForeignDuring(Thresholds{}, e)
	require.Equal(t, StatusFail, r.Status)
	require.Equal(t, `"cc1" (pid 9) ran 4% of the window, last seen on CPU 1 and allowed on CPU 0-1; "make" (pid 8) ran 0.5% of the window, last seen on another CPU but allowed on CPU 0-1`, r.Cause)
	require.Equal(t, "stop it or keep it off CPUs 1", r.Fix)

	e.Host = host(0, 350e6, proxy)
	require.Contains(t, ForeignDuring(Thresholds{}, e).Cause, "began and ended within the window")

	// Kernel threads bound to the proxy's CPU are the load's own, within limits.
	soft := ran(15, "ksoftirqd/1", 1, 45e6, 1)
	soft.Kernel = true
	e.Host = host(0, 350e6, proxy, soft)
	require.Equal(t, StatusPass, ForeignDuring(Thresholds{}, e).Status)
	require.Equal(t, StatusFail, ForeignBefore(Thresholds{}, e).Status)
	soft = ran(15, "kworker/1:2", 1, 90e6, 1)
	soft.Kernel = true
	e.Host = host(0, 390e6, proxy, soft)
	require.Equal(t, StatusFail, ForeignDuring(Thresholds{}, e).Status)

	// Arms that were charged more than their CPUs were busy.
	e.Host = host(0, 200e6, proxy)
	require.Equal(t, StatusCannotTell, ForeignDuring(Thresholds{}, e).Status)
	e.Arms[0].CPUNanoseconds = -1
	require.Contains(t, ForeignDuring(Thresholds{}, e).Cause, "the CPU time of arm off is unknown")
	require.Equal(t, StatusCannotTell, ForeignDuring(Thresholds{}, ForeignEvidence{}).Status)
}

func TestForeignWorkOnOneOfSeveralCPUs(t *testing.T) {
	e := ForeignEvidence{CPUs: []int{0, 1}, Host: host(2e6, 17e6, ran(9, "cron", 1, 16e6, 0, 1))}
	r := ForeignDuring(Thresholds{}, e)
	require.Equal(t, StatusFail, r.Status, "1.7%% of one CPU hides in the mean of two")
	require.Contains(t, r.Got, "CPU 1 alone 1.6%")
	require.Contains(t, r.Cause, `"cron" (pid 9)`)
	// Seen there last, but it cannot have run there: nothing is unexplained.
	e.Host = host(1e6, 1e6, ran(9, "cron", 1, 900e6, 0, 1))
	require.Equal(t, StatusPass, ForeignDuring(Thresholds{}, e).Status)
}

func TestForeignWorkAndACoarseClock(t *testing.T) {
	e := ForeignEvidence{CPUs: []int{1}, Host: host(0, 0)}
	e.Host.BusySource, e.Host.ResolutionNanoseconds = "/proc/stat", 20e6
	r := ForeignBefore(Thresholds{}, e)
	require.Equal(t, StatusCannotTell, r.Status, "20 ms cannot show 5 ms")
	require.Equal(t, "use a window of at least 8s", r.Fix)
	e.Host.BusyNanoseconds[1] = 500e6
	require.Equal(t, StatusFail, ForeignBefore(Thresholds{}, e).Status, "but half a second it can")
	e.Host.BusyNanoseconds[1], e.Host.WallNanoseconds = 0, 8e9
	require.Equal(t, StatusPass, ForeignBefore(Thresholds{}, e).Status)
}

func TestLeftovers(t *testing.T) {
	twin := Process{Pid: 42, Comm: "envoy", Exe: "/usr/bin/envoy", AllowedCPUs: []int{0, 1}}
	e := LeftoversEvidence{Looked: true, CPUs: []int{1}, Twins: []Process{twin}}
	r := Leftovers(Thresholds{}, e)
	require.Equal(t, StatusFail, r.Status)
	require.Equal(t, `"envoy" (pid 42) may run on CPU 0-1, executable /usr/bin/envoy`, r.Cause)
	e.Twins[0].AllowedCPUs = []int{0}
	require.Equal(t, StatusPass, Leftovers(Thresholds{}, e).Status)
	e.Twins[0].AllowedCPUs = nil
	require.Equal(t, StatusFail, Leftovers(Thresholds{}, e).Status, "unknown CPUs may be the proxy's")
	require.Equal(t, StatusCannotTell, Leftovers(Thresholds{}, LeftoversEvidence{CPUs: []int{1}}).Status)
	require.Equal(t, StatusCannotTell, Leftovers(Thresholds{}, LeftoversEvidence{Looked: true, Error: "x", CPUs: []int{1}}).Status)
}
