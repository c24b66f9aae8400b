package doctor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/pinning"
)

// metal is a tuned machine of sixteen cores that lacks nothing.
func metal() Machine {
	var topology pinning.Topology
	busy := map[int]int64{}
	for id := range 16 {
		busy[id] = 0
		topology.CPUs = append(topology.CPUs, pinning.CPU{ID: id, Core: id, Siblings: pinning.NewCPUSet(id)})
		topology.Online = topology.Online.Union(pinning.NewCPUSet(id))
	}
	topology.Allowed = topology.Online
	plan, err := topology.Plan(pinning.Wish{})
	if err != nil {
		panic(err)
	}
	return Machine{
		System: "linux", Root: true, Topology: topology, Plan: plan, Placement: pinning.MethodCPUSetV2,
		Host: pinning.Host{
			Kernel: "6.12.0", Virtualisation: "none", SMT: "off", FrequencyDriver: "intel_pstate", Governors: []string{"performance"}, Turbo: "off",
			IdleDriver: "intel_idle", IdleGovernor: "menu", ClockSource: "tsc", ASLR: "2", NUMABalancing: "0", NMIWatchdog: "0", CgroupLayout: "v2",
			MemoryBytes: 64 << 30, Accounting: map[string]string{"CONFIG_HZ": "250"}, OnlineCPUs: topology.Online, AllowedCPUs: topology.Allowed,
		},
		Watch: gate.HostEvidence{
			BusySource: "cpuidle", ResolutionNanoseconds: 1, WallNanoseconds: 1e9, EndNanoseconds: 1e9,
			BusyNanoseconds: busy, StealNanoseconds: map[int]int64{},
		},
	}
}

func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Machine)
		exit   int
		weighs string // the fact that decides
	}{
		"nothing lacks":        {func(*Machine) {}, 0, ""},
		"no counters":          {func(m *Machine) { m.CyclesErr = fmt.Errorf("probe: %w", counters.ErrNotSupported) }, 1, "pmu"},
		"counters forbidden":   {func(m *Machine) { m.CyclesErr = errors.New("kernel.perf_event_paranoid is 3") }, 1, "pmu"},
		"one CPU":              {func(m *Machine) { m.PlanErr = &pinning.TooFewCPUsError{Need: 2, Have: 1} }, 2, "cpus"},
		"CPUs unknown":         {func(m *Machine) { m.PlanErr = errors.New("no /sys") }, 2, "cpus"},
		"no CPU clock":         {func(m *Machine) { m.CPUTimeErr = errors.New("EPERM") }, 2, "cpu_time"},
		"cannot be placed":     {func(m *Machine) { m.PlacementErr = errors.New("EPERM") }, 2, "placement"},
		"not Linux":            {func(m *Machine) { *m = Machine{System: "darwin"} }, 2, "system"},
		"stop beats weaker":    {func(m *Machine) { m.CyclesErr = counters.ErrNotSupported; m.PlanErr = &pinning.TooFewCPUsError{} }, 2, "cpus"},
		"by affinity is noted": {func(m *Machine) { m.Placement = pinning.MethodAffinity }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := metal()
			c.change(&m)
			r := Judge(m)
			require.Equal(t, c.exit, r.Exit, "%+v", r.Facts)
			if c.weighs != "" {
				f, ok := r.Fact(c.weighs)
				require.True(t, ok)
				require.Equal(t, map[int]Weight{1: Weaker, 2: Stop}[c.exit], f.Weight)
				require.NotEmpty(t, f.Meaning)
				require.NotEmpty(t, f.Fix)
			}
		})
	}
}

// What is not known must be said, never passed over as fine.
func TestUnknownIsNeverFine(t *testing.T) {
	m := metal()
	gone := errors.New("no such file")
	m.WatchErr, m.QuotaErr, m.SwapErr = gone, gone, gone
	m.Host.CgroupLayout, m.Host.IdleDriver, m.Host.SMT = "", "", ""
	m.Host.Unknown = map[string]string{"accounting": "no such file"}
	m.Host.Virtualisation = "KVM"
	r := Judge(m)
	blind := metal()
	blind.Watch.BusyNanoseconds = nil
	for _, report := range []Report{r, Judge(blind)} {
		f, _ := report.Fact("other_work")
		require.Equal(t, Note, f.Weight)
		require.Contains(t, f.Value, "unknown")
	}
	for _, id := range []string{"quota", "swap", "cgroup", "idle_driver", "smt", "accounting", "steal"} {
		f, ok := r.Fact(id)
		require.True(t, ok, id)
		require.Equal(t, Note, f.Weight, id)
		require.Contains(t, f.Value, "unknown", id)
	}
}

func TestNotesOfAnUntunedMachine(t *testing.T) {
	m := metal()
	m.Host.Governors, m.Host.NMIWatchdog, m.Host.ASLR, m.Host.NUMABalancing = []string{"powersave"}, "1", "0", "1"
	m.Host.Virtualisation, m.Host.ClockSource = "KVM", "hpet"
	m.Watch.StealNanoseconds = map[int]int64{m.Plan.Proxy.CPUs()[0]: 50e6}
	m.Watch.BusyNanoseconds[m.Plan.Proxy.CPUs()[0]] = 300e6
	m.Quota, m.SwapBytes = Quota{Cgroup: "/sys/fs/cgroup/pod", CPUs: 1.5}, 1<<30
	r := Judge(m)
	require.Equal(t, 0, r.Exit)
	for id, value := range map[string]string{
		"frequency": "powersave", "nmi_watchdog": "on", "aslr": "0", "numa_balancing": "on", "virtual": "KVM", "clock_source": "hpet",
		"steal": "5.0%", "other_work": "7.5%", "quota": "1.50 CPUs", "swap": "1.0 GiB",
	} {
		f, ok := r.Fact(id)
		require.True(t, ok, id)
		require.Equal(t, Note, f.Weight, id)
		require.Contains(t, f.Value, value, id)
	}
	var b strings.Builder
	require.NoError(t, r.WriteText(&b))
	require.Contains(t, b.String(), "This machine can measure.")
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.HasPrefix(line, " ") { // texts are folded, values are not
			require.LessOrEqual(t, len(line), 96, "%q", line)
		}
	}
}

// The live machine: what it says agrees with what this process sees by other
// ways.
func TestExamineThisMachine(t *testing.T) {
	m, err := Examine(context.Background(), Options{Look: 200 * time.Millisecond})
	require.NoError(t, err)
	r := Judge(m)
	if runtime.GOOS != "linux" {
		require.Equal(t, 2, r.Exit)
		return
	}
	for _, id := range []string{"pmu", "virtual", "cpus", "idle_driver", "cgroup"} {
		f, ok := r.Fact(id)
		require.True(t, ok, id)
		require.NotEmpty(t, f.Value, id)
	}
	cpus, _ := r.Fact("cpus")
	require.Contains(t, cpus.Value, fmt.Sprintf("%d usable", runtime.NumCPU()))
	pmu, _ := r.Fact("pmu")
	require.Equal(t, counters.Probe(counters.Cycles) == nil, pmu.Weight == Fine)
}

func TestExamineIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Examine(ctx, Options{Look: time.Hour})
	require.ErrorIs(t, err, context.Canceled)
}
