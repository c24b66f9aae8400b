package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/pinning"
)

// Judge says what was seen means. It is a pure function.
func Judge(m Machine) Report {
	var r Report
	for _, facts := range [][]Fact{
		m.system(), m.cpus(), m.pmu(), m.virtual(), m.placement(), m.frequency(), m.idle(), m.memory(), m.work(), m.kernel(), m.programs(),
	} {
		r.Facts = append(r.Facts, facts...)
	}
	r.conclude()
	return r
}

func unknown(id string, err error, meaning, fix string) Fact {
	return Fact{id, fmt.Sprintf("unknown (%v)", err), Note, meaning, fix}
}

func (m Machine) system() []Fact {
	if m.System != "linux" {
		return []Fact{{"system", m.System, Stop, "Measuring needs Linux. Statistics, records and reports work here.", "measure on Linux, amd64 or arm64"}}
	}
	f := Fact{"system", "linux " + m.Host.Kernel, Fine, "", ""}
	if m.HostErr != nil {
		return []Fact{f, unknown("host", m.HostErr, "The conditions of a number cannot be published.", "mount /proc and /sys")}
	}
	return []Fact{f}
}

func (m Machine) cpus() []Fact {
	if m.System != "linux" {
		return nil
	}
	value := fmt.Sprintf("%d online (%s), %d usable by this process (%s)", m.Topology.Online.Len(), m.Topology.Online, m.Topology.Allowed.Len(), m.Topology.Allowed)
	var few *pinning.TooFewCPUsError
	switch {
	case errors.As(m.PlanErr, &few):
		return []Fact{{"cpus", value, Stop, "The proxy under test must not share its CPU with what loads it.", "give this machine, container or cpuset two CPUs or more"}}
	case m.PlanErr != nil:
		return []Fact{{"cpus", fmt.Sprintf("unknown (%v)", m.PlanErr), Stop, "Without the CPUs nothing can be placed.", "mount /proc and /sys"}}
	}
	f := Fact{"cpus", fmt.Sprintf("%s: proxy on %s, load generator on %s, origin on %s", value, m.Plan.Proxy, m.Plan.Generator, m.Plan.Origin), Fine, "", ""}
	if len(m.Plan.GaveUp) > 0 {
		f.Weight = Note
		f.Meaning = "The plan had to give something up: " + strings.Join(m.Plan.GaveUp, "; ") + "."
	}
	facts := []Fact{f}
	if m.Plan.Proxy.Len() == 1 {
		facts = append(facts, Fact{"workers", "1 CPU for the proxy", Note, "Rows about several workers (spread of load, balancing of connections, surplus workers) cannot be priced here.", "use a machine with 8 physical cores or more for those"})
	}
	switch m.Host.SMT {
	case "on":
		if m.Plan.IdleSiblings.Len() == 0 {
			facts = append(facts, Fact{"smt", "on", Note, "Two CPUs share one core and one of them is busy with the load.", "echo off > /sys/devices/system/cpu/smt/control, or use more cores"})
		} else {
			facts = append(facts, Fact{"smt", fmt.Sprintf("on; siblings %s are left idle", m.Plan.IdleSiblings), Fine, "", ""})
		}
	case "":
		facts = append(facts, unknown("smt", errors.New(orReason(m.Host.Unknown["smt"])), "Whether two CPUs share a core is not known; in a virtual machine the host decides.", ""))
	default:
		facts = append(facts, Fact{"smt", m.Host.SMT, Fine, "", ""})
	}
	return facts
}

func orReason(s string) string {
	if s == "" {
		return "the kernel does not say"
	}
	return s
}

func (m Machine) pmu() []Fact {
	if m.System != "linux" {
		return nil
	}
	var facts []Fact
	switch {
	case m.CyclesErr == nil:
		facts = append(facts, Fact{"pmu", "present", Fine, "", ""})
	case errors.Is(m.CyclesErr, counters.ErrNotSupported):
		facts = append(facts, Fact{"pmu", "absent", Weaker,
			"No hardware counters: " + m.CyclesErr.Error() + ". Costs are CPU time, which moves with the clock rate of the machine, and have no split into user and kernel.",
			`ask for Metric: counters.CPUTime, or measure on bare metal or with a virtual PMU`})
	default:
		facts = append(facts, Fact{"pmu", "not usable", Weaker, "Hardware counters cannot be used: " + m.CyclesErr.Error() + ".", "do as the error says, or ask for Metric: counters.CPUTime"})
	}
	if m.CPUTimeErr != nil {
		facts = append(facts, Fact{"cpu_time", fmt.Sprintf("not usable (%v)", m.CPUTimeErr), Stop, "The CPU time of a process cannot be read: there is nothing to charge.", "look for a seccomp filter on clock_gettime"})
	}
	if m.Host.NMIWatchdog == "1" && m.CyclesErr == nil {
		facts = append(facts, Fact{"nmi_watchdog", "on", Note, "It takes one hardware counter on every CPU.", "sysctl kernel.nmi_watchdog=0"})
	}
	return facts
}

func (m Machine) virtual() []Fact {
	if m.System != "linux" || m.HostErr != nil {
		return nil
	}
	if m.Host.Virtualisation == "none" {
		return []Fact{{"virtual", "no sign of it", Fine, "", ""}}
	}
	facts := []Fact{{"virtual", m.Host.Virtualisation, Note,
		"A virtual machine: others share its CPUs, and idle states and clock rate are the host's. Pairs in the same minutes (duet) cancel most of that, absolute costs keep it.",
		"measure on bare metal for a published price"}}
	f := Fact{ID: "steal", Weight: Fine}
	switch {
	case m.WatchErr != nil:
		f = unknown("steal", m.WatchErr, "How much time the hypervisor takes is not known.", "")
	case m.Watch.StealError != "":
		f = unknown("steal", errors.New(m.Watch.StealError), "How much time the hypervisor takes is not known.", "")
	default:
		worst, where := 0.0, 0
		for _, cpu := range m.Plan.Proxy.Union(m.Plan.Generator).CPUs() {
			if share := float64(m.Watch.StealNanoseconds[cpu]) / float64(max(m.Watch.WallNanoseconds, 1)); share > worst {
				worst, where = share, cpu
			}
		}
		f.Value = fmt.Sprintf("%.1f%% of CPU %d, in steps of 1%%", 100*worst, where)
		if worst >= 0.02 {
			f.Weight, f.Meaning = Note, "The hypervisor gave this CPU to others while we looked."
			f.Fix = "use a machine with dedicated CPUs"
		}
	}
	return append(facts, f)
}

func (m Machine) placement() []Fact {
	if m.System != "linux" {
		return nil
	}
	layout := Fact{"cgroup", m.Host.CgroupLayout, Fine, "", ""}
	if m.Host.CgroupLayout == "" {
		layout = unknown("cgroup", errors.New(orReason(m.Host.Unknown["cgroup_layout"])), "Cgroups cannot be found: processes are placed by affinity.", "mount the cgroup file system")
	}
	facts := []Fact{layout}
	switch {
	case m.PlanErr != nil:
	case m.PlacementErr != nil:
		facts = append(facts, Fact{"placement", fmt.Sprintf("not possible (%v)", m.PlacementErr), Stop, "Processes cannot be held on their CPUs.", "do as the error says"})
	case m.Placement == pinning.MethodAffinity:
		facts = append(facts, Fact{"placement", "affinity", Note, "Cpusets cannot be made here. Affinity is set and checked for every thread, but a program that sets its own leaves its place, and is then refused.", "run as root, or hand this user a cgroup with the cpuset controller"})
	default:
		facts = append(facts, Fact{"placement", m.Placement, Fine, "", ""})
	}
	switch {
	case m.QuotaErr != nil:
		facts = append(facts, unknown("quota", m.QuotaErr, "Whether this process may use its CPUs all the time is not known.", ""))
	case m.Quota.CPUs > 0:
		facts = append(facts, Fact{"quota", fmt.Sprintf("%.2f CPUs by %s", m.Quota.CPUs, m.Quota.Cgroup), Note, "A quota stops every process in it for the rest of a period when it is used up: costs and latencies then measure the quota.", "lift the quota, or take Guaranteed whole CPUs"})
	default:
		facts = append(facts, Fact{"quota", "none", Fine, "", ""})
	}
	return facts
}

func (m Machine) frequency() []Fact {
	if m.System != "linux" || m.HostErr != nil {
		return nil
	}
	if m.Host.FrequencyDriver == "none" {
		return []Fact{{"frequency", "no control here", Note, "The clock rate is not this system's to see or set: CPU time moves with it.", ""}}
	}
	f := Fact{"frequency", fmt.Sprintf("%s, governor %s, turbo %s", m.Host.FrequencyDriver, strings.Join(m.Host.Governors, " and "), m.Host.Turbo), Fine, "", ""}
	switch {
	case len(m.Host.Governors) != 1 || m.Host.Governors[0] != "performance":
		f.Weight, f.Meaning, f.Fix = Note, "The clock rate follows the load, so arms of different cost may run at different rates.", "cpupower frequency-set -g performance"
	case m.Host.Turbo == "on":
		f.Weight, f.Meaning, f.Fix = Note, "Turbo gives a CPU a clock rate by what its neighbours do.", "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > /sys/devices/system/cpu/cpufreq/boost"
	}
	return []Fact{f}
}

func (m Machine) idle() []Fact {
	if m.System != "linux" || m.HostErr != nil {
		return nil
	}
	value := m.Host.IdleDriver
	if m.Host.IdleGovernor != "" {
		value += ", governor " + m.Host.IdleGovernor
	}
	if len(m.Host.IdleStates) > 0 {
		value += ", states " + strings.Join(m.Host.IdleStates, " ")
	}
	f := Fact{"idle_driver", value, Fine, "", ""}
	switch {
	case m.Host.IdleDriver == "":
		f = unknown("idle_driver", errors.New(orReason(m.Host.Unknown["idle_driver"])), "What a sleeping CPU does is not known; it moves the cost of a request that wakes it.", "")
	case m.Host.IdleDriver == "none" || m.Host.IdleDriver == "haltpoll" || m.Host.Virtualisation != "none":
		f.Weight, f.Meaning = Note, "Real idle states are the host's and cannot be seen here: rows about them cannot be priced."
	}
	return []Fact{f}
}

func (m Machine) memory() []Fact {
	if m.System != "linux" {
		return nil
	}
	var facts []Fact
	if m.Host.MemoryBytes > 0 {
		f := Fact{"memory", fmt.Sprintf("%.1f GiB", float64(m.Host.MemoryBytes)/(1<<30)), Fine, "", ""}
		if m.Host.MemoryBytes < 2<<30 {
			f.Weight, f.Meaning, f.Fix = Note, "Two proxies, an origin and a generator want about 1 GiB.", "use a machine with 2 GiB or more"
		}
		facts = append(facts, f)
	}
	switch {
	case m.SwapErr != nil:
		facts = append(facts, unknown("swap", m.SwapErr, "Whether memory can be swapped is not known.", ""))
	case m.SwapBytes > 0:
		facts = append(facts, Fact{"swap", fmt.Sprintf("%.1f GiB", float64(m.SwapBytes)/(1<<30)), Note, "A proxy that is swapped out pays for coming back.", "swapoff -a"})
	default:
		facts = append(facts, Fact{"swap", "none", Fine, "", ""})
	}
	if n := m.Host.NUMABalancing; n == "1" {
		facts = append(facts, Fact{"numa_balancing", "on", Note, "The kernel moves pages between nodes while a window runs.", "sysctl kernel.numa_balancing=0"})
	}
	return facts
}

func (m Machine) work() []Fact {
	if m.System != "linux" {
		return nil
	}
	if m.WatchErr != nil {
		return []Fact{unknown("other_work", m.WatchErr, "What else runs here is not known; each window will look again.", "")}
	}
	res := gate.ForeignBefore(gate.Thresholds{}, gate.ForeignEvidence{CPUs: m.Plan.Proxy.Union(m.Plan.IdleSiblings).CPUs(), Host: m.Watch})
	f := Fact{"other_work", res.Got, Fine, "", ""}
	switch res.Status {
	case gate.StatusPass:
	case gate.StatusCannotTell:
		f = unknown("other_work", errors.New(res.Cause), "What else runs here is not known; each window will look again.", res.Fix)
	default:
		f.Weight = Note
		f.Meaning = fmt.Sprintf("The proxy's CPUs are not free (%s, wanted %s): %s. A run waits for quiet and refuses to begin without it.", res.Status, res.Want, res.Cause)
		f.Fix = res.Fix
	}
	return []Fact{f}
}

func (m Machine) kernel() []Fact {
	if m.System != "linux" || m.HostErr != nil {
		return nil
	}
	var facts []Fact
	if why, ok := m.Host.Unknown["accounting"]; ok {
		facts = append(facts, unknown("accounting", errors.New(why), "What the CPU time of a process includes (interrupts, stolen time) is not known.", "make /boot/config-RELEASE or /proc/config.gz readable"))
	} else {
		var on []string
		for _, name := range []string{"CONFIG_IRQ_TIME_ACCOUNTING", "CONFIG_PARAVIRT_TIME_ACCOUNTING", "CONFIG_VIRT_CPU_ACCOUNTING_GEN"} {
			if m.Host.Accounting[name] == "y" {
				on = append(on, strings.ToLower(strings.TrimPrefix(name, "CONFIG_")))
			}
		}
		on = append(on, "HZ "+m.Host.Accounting["CONFIG_HZ"])
		facts = append(facts, Fact{"accounting", strings.Join(on, ", "), Fine, "", ""})
	}
	if c := m.Host.ClockSource; c != "" {
		f := Fact{"clock_source", c, Fine, "", ""}
		if c == "hpet" || c == "acpi_pm" || c == "jiffies" {
			f.Weight, f.Meaning, f.Fix = Note, "Reading this clock is a slow access: programs that look at the time a lot pay for it.", "find out from dmesg why the kernel gave up tsc"
		}
		facts = append(facts, f)
	}
	if a := m.Host.ASLR; a != "" && a != "2" {
		facts = append(facts, Fact{"aslr", a, Note, "Every start gets the same layout of memory, so its luck is the same in each: restarts cannot average it out.", "sysctl kernel.randomize_va_space=2"})
	}
	return facts
}

func (m Machine) programs() []Fact {
	var facts []Fact
	if m.EnvoyErr != nil {
		facts = append(facts, Fact{"envoy", "not found", Note, "Experiments on Envoy need one; those on the embedded proxy do not.", m.EnvoyErr.Error()})
	} else {
		facts = append(facts, Fact{"envoy", fmt.Sprintf("%s (%s)", m.Envoy.Release, m.Envoy.Path), Fine, "", ""})
	}
	if m.NginxErr != nil {
		facts = append(facts, Fact{"nginx", "not found", Note, "Experiments with nginx as the origin need one; the embedded origin does not.", m.NginxErr.Error()})
	} else {
		facts = append(facts, Fact{"nginx", fmt.Sprintf("%s (%s)", m.Nginx.Version, m.Nginx.Path), Fine, "", ""})
	}
	return facts
}
