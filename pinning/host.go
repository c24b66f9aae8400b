package pinning

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Host is the conditions of a machine that a number has to be published with.
// What could not be read is empty and its reason is in Unknown, by the name of
// the JSON field; "none" and "off" are answers.
type Host struct {
	CPUModel        string            `json:"cpu_model"`
	Microcode       string            `json:"microcode"`
	Architecture    string            `json:"architecture"`
	Kernel          string            `json:"kernel"`         // release
	KernelVersion   string            `json:"kernel_version"` // build
	BootID          string            `json:"boot_id"`
	Virtualisation  string            `json:"virtualisation"` // "none" or what gives it away
	OnlineCPUs      CPUSet            `json:"online_cpus"`
	AllowedCPUs     CPUSet            `json:"allowed_cpus"`
	SMT             string            `json:"smt"`              // smt/control: on, off, forceoff, notsupported
	FrequencyDriver string            `json:"frequency_driver"` // "none" without cpufreq
	Governors       []string          `json:"governors"`        // all that are in use
	Turbo           string            `json:"turbo"`            // on, off, or "none" where the host has no switch
	IdleDriver      string            `json:"idle_driver"`
	IdleGovernor    string            `json:"idle_governor"`
	IdleStates      []string          `json:"idle_states"` // of the first CPU; those that are disabled say so
	ClockSource     string            `json:"clock_source"`
	Mitigations     map[string]string `json:"mitigations"` // by vulnerability
	CommandLine     string            `json:"command_line"`
	Isolated        string            `json:"isolated"`   // CPU list of isolcpus
	NoHzFull        string            `json:"nohz_full"`  // CPU list
	Accounting      map[string]string `json:"accounting"` // the kernel's options of time accounting
	HugePages       string            `json:"huge_pages"` // transparent_hugepage/enabled
	ASLR            string            `json:"aslr"`       // randomize_va_space
	NUMABalancing   string            `json:"numa_balancing"`
	NMIWatchdog     string            `json:"nmi_watchdog"`
	PerfParanoid    string            `json:"perf_event_paranoid"`
	CgroupLayout    string            `json:"cgroup_layout"` // v1, v2, hybrid or none
	MemoryBytes     int64             `json:"memory_bytes"`
	Unknown         map[string]string `json:"unknown,omitempty"`
}

// accountingOptions are the kernel's build options that decide what the CPU
// time of a process includes.
var accountingOptions = []string{
	"CONFIG_HZ", "CONFIG_NO_HZ_FULL", "CONFIG_NO_HZ_IDLE", "CONFIG_TICK_CPU_ACCOUNTING", "CONFIG_VIRT_CPU_ACCOUNTING_GEN",
	"CONFIG_IRQ_TIME_ACCOUNTING", "CONFIG_PARAVIRT_TIME_ACCOUNTING", "CONFIG_SCHEDSTATS", "CONFIG_PREEMPT", "CONFIG_PREEMPT_DYNAMIC",
}

// ReadHost reads the conditions. It fails only when the topology cannot be
// read; everything else that is missing is in Unknown.
func ReadHost(fs FS) (Host, error) {
	t, err := ReadTopology(fs)
	if err != nil {
		return Host{}, err
	}
	h := Host{Architecture: runtime.GOARCH, OnlineCPUs: t.Online, AllowedCPUs: t.Allowed, Unknown: map[string]string{}}
	note := func(field string, err error) {
		if err != nil {
			h.Unknown[field] = err.Error()
		}
	}
	model, err := fs.CPUModel()
	note("cpu_model", err)
	h.CPUModel, h.Microcode = model.Model, model.Microcode
	if h.Microcode == "" && err == nil {
		h.Unknown["microcode"] = "cpuinfo does not say"
	}
	for _, f := range []struct {
		field string
		to    *string
		read  func(string) (string, error)
		path  string
	}{
		{"kernel", &h.Kernel, fs.ReadProc, "sys/kernel/osrelease"},
		{"kernel_version", &h.KernelVersion, fs.ReadProc, "sys/kernel/version"},
		{"boot_id", &h.BootID, fs.ReadProc, "sys/kernel/random/boot_id"},
		{"smt", &h.SMT, fs.ReadSys, "devices/system/cpu/smt/control"},
		{"clock_source", &h.ClockSource, fs.ReadSys, "devices/system/clocksource/clocksource0/current_clocksource"},
		{"command_line", &h.CommandLine, fs.ReadProc, "cmdline"},
		{"isolated", &h.Isolated, fs.ReadSys, "devices/system/cpu/isolated"},
		{"nohz_full", &h.NoHzFull, fs.ReadSys, "devices/system/cpu/nohz_full"},
		{"huge_pages", &h.HugePages, fs.ReadSys, "kernel/mm/transparent_hugepage/enabled"},
		{"aslr", &h.ASLR, fs.ReadProc, "sys/kernel/randomize_va_space"},
		{"numa_balancing", &h.NUMABalancing, fs.ReadProc, "sys/kernel/numa_balancing"},
		{"nmi_watchdog", &h.NMIWatchdog, fs.ReadProc, "sys/kernel/nmi_watchdog"},
		{"perf_event_paranoid", &h.PerfParanoid, fs.ReadProc, "sys/kernel/perf_event_paranoid"},
	} {
		*f.to, err = f.read(f.path)
		note(f.field, err)
	}
	h.IdleDriver, h.IdleGovernor, err = fs.IdleDriver()
	note("idle_driver", err)
	h.readFrequency(fs, t)
	if len(t.CPUs) > 0 {
		states, _ := fs.IdleStates(t.CPUs[0].ID) // none without a driver, which is said already
		for _, s := range states {
			name := s.Name
			if s.Disabled {
				name += " (disabled)"
			}
			h.IdleStates = append(h.IdleStates, name)
		}
	}
	h.Virtualisation = virtualisation(fs, model.Hypervisor)
	h.Mitigations, err = readDir(fs, "devices/system/cpu/vulnerabilities")
	note("mitigations", err)
	h.Accounting, err = accounting(fs, h.Kernel)
	note("accounting", err)
	h.CgroupLayout, err = cgroupLayout(fs)
	note("cgroup_layout", err)
	h.MemoryBytes, err = fs.MemoryTotalBytes()
	note("memory_bytes", err)
	return h, nil
}

func (h *Host) readFrequency(fs FS, t Topology) {
	h.FrequencyDriver, h.Turbo = "none", "none"
	for _, c := range t.CPUs {
		f, err := fs.Frequency(c.ID)
		if err != nil {
			continue
		}
		h.FrequencyDriver = f.Driver
		if !slices.Contains(h.Governors, f.Governor) {
			h.Governors = append(h.Governors, f.Governor)
		}
	}
	slices.Sort(h.Governors)
	if s, err := fs.ReadSys("devices/system/cpu/intel_pstate/no_turbo"); err == nil {
		h.Turbo = map[string]string{"0": "on", "1": "off"}[s]
	} else if s, err := fs.ReadSys("devices/system/cpu/cpufreq/boost"); err == nil {
		h.Turbo = map[string]string{"1": "on", "0": "off"}[s]
	}
}

// virtualisation says what gives a virtual machine away; "none" is what this
// process can see, not proof.
func virtualisation(fs FS, flag bool) string {
	var signs []string
	if s, err := fs.ReadSys("hypervisor/type"); err == nil && s != "" {
		signs = append(signs, s)
	}
	for _, name := range []string{"sys_vendor", "product_name"} {
		s, err := fs.ReadSys("class/dmi/id/" + name)
		for _, known := range []string{"KVM", "QEMU", "VMware", "VirtualBox", "Virtual Machine", "Xen", "Amazon EC2", "Google Compute Engine", "Firecracker", "Bochs", "Parallels", "OpenStack"} {
			if err == nil && strings.Contains(s, known) && !slices.Contains(signs, s) {
				signs = append(signs, s)
			}
		}
	}
	if flag {
		signs = append(signs, "hypervisor flag")
	}
	if len(signs) == 0 {
		return "none"
	}
	return strings.Join(signs, ", ")
}

func readDir(fs FS, path string) (map[string]string, error) {
	dir, err := fs.Resolve("/sys/" + path)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for _, e := range entries {
		if s, err := fs.ReadSys(filepath.Join(path, e.Name())); err == nil {
			m[e.Name()] = s
		}
	}
	return m, nil
}

// accounting finds the build options of the running kernel.
func accounting(fs FS, release string) (map[string]string, error) {
	var text []byte
	if path, err := fs.Resolve("/proc/config.gz"); err == nil {
		if packed, err := os.ReadFile(path); err == nil {
			r, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				return nil, err
			}
			if text, err = io.ReadAll(r); err != nil {
				return nil, err
			}
		}
	}
	if text == nil {
		path, err := fs.Resolve("/boot/config-" + release)
		if err != nil {
			return nil, err
		}
		if text, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("neither /proc/config.gz nor %s can be read", path)
		}
	}
	m := map[string]string{}
	for _, name := range accountingOptions {
		m[name] = "n"
	}
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && slices.Contains(accountingOptions, name) {
			m[name] = strings.TrimSpace(value)
		}
	}
	return m, nil
}

func cgroupLayout(fs FS) (string, error) {
	mounts, err := fs.SelfMounts()
	if err != nil {
		return "", err
	}
	v1, v2 := false, false
	for _, m := range mounts {
		v2 = v2 || m.FSType == "cgroup2"
		for _, o := range m.SuperOptions { // a named hierarchy has no controller
			v1 = v1 || m.FSType == "cgroup" && slices.Contains([]string{"cpu", "cpuset", "cpuacct", "memory"}, o)
		}
	}
	switch {
	case v1 && v2:
		return "hybrid", nil
	case v1:
		return "v1", nil
	case v2:
		return "v2", nil
	}
	return "none", nil
}
