package procfs

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"strconv"
	"strings"
)

// CPUModel is what /proc/cpuinfo says of the first CPU. Arm kernels have no
// model name; Model is then "implementer 0x41 part 0xd0c" from their numbers.
type CPUModel struct {
	Model      string
	Microcode  string // empty where the kernel does not say
	Hypervisor bool   // the x86 hypervisor flag: false on arm64 does not exclude one
}

// CPUModel reads the model of the CPUs.
func (fs FS) CPUModel() (CPUModel, error) {
	b, err := os.ReadFile(fs.proc("cpuinfo"))
	if err != nil {
		return CPUModel{}, err
	}
	return ParseCPUInfo(string(b))
}

// ParseCPUInfo reads the content of /proc/cpuinfo.
func ParseCPUInfo(s string) (CPUModel, error) {
	values := map[string]string{}
	for _, line := range strings.Split(s, "\n") {
		key, value, ok := strings.Cut(line, ":")
		key = strings.TrimSpace(key)
		if _, seen := values[key]; ok && !seen {
			values[key] = strings.TrimSpace(value)
		}
	}
	m := CPUModel{Model: values["model name"], Microcode: values["microcode"]}
	for _, flag := range strings.Fields(values["flags"]) {
		m.Hypervisor = m.Hypervisor || flag == "hypervisor"
	}
	if m.Model == "" && values["CPU part"] != "" {
		m.Model = fmt.Sprintf("implementer %s part %s", values["CPU implementer"], values["CPU part"])
	}
	if m.Model == "" {
		return CPUModel{}, fmt.Errorf("procfs: cpuinfo names no model")
	}
	return m, nil
}

// MemoryTotalBytes reads the memory of the host.
func (fs FS) MemoryTotalBytes() (int64, error) { return fs.meminfo("MemTotal") }

// SwapTotalBytes reads how much space there is to swap memory to.
func (fs FS) SwapTotalBytes() (int64, error) { return fs.meminfo("SwapTotal") }

func (fs FS) meminfo(name string) (int64, error) {
	b, err := os.ReadFile(fs.proc("meminfo"))
	if err != nil {
		return 0, err
	}
	m, err := ParseMeminfo(string(b))
	if err != nil {
		return 0, err
	}
	bytes, ok := m[name]
	if !ok {
		return 0, fmt.Errorf("procfs: meminfo has no %s", name)
	}
	return bytes, nil
}

// ParseMeminfo reads the content of /proc/meminfo: bytes for lines in kB,
// plain numbers for the others.
func ParseMeminfo(s string) (map[string]int64, error) {
	m := map[string]int64{}
	for _, line := range strings.Split(s, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if !ok || len(fields) == 0 {
			return nil, fmt.Errorf("procfs: meminfo line %q is not name: value", clip(line))
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("procfs: meminfo line %q has no number", clip(line))
		}
		if len(fields) > 1 && fields[1] == "kB" {
			if n < 0 || n > 1<<62/1024 {
				return nil, fmt.Errorf("procfs: meminfo line %q is out of range", clip(line))
			}
			n *= 1024
		}
		m[strings.TrimSpace(key)] = n
	}
	return m, nil
}

// Swap counts the pages swapped in and out since boot.
type Swap struct{ InPages, OutPages int64 }

// Swap reads pswpin and pswpout. A kernel without swap wraps [ErrNotSupported].
func (fs FS) Swap() (Swap, error) {
	b, err := os.ReadFile(fs.proc("vmstat"))
	if err != nil {
		return Swap{}, err
	}
	return ParseSwap(string(b))
}

// ParseSwap reads the content of /proc/vmstat.
func ParseSwap(s string) (Swap, error) {
	var swap Swap
	found := 0
	for _, line := range strings.Split(s, "\n") {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		var to *int64
		switch fields[0] {
		case "pswpin":
			to = &swap.InPages
		case "pswpout":
			to = &swap.OutPages
		default:
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return Swap{}, fmt.Errorf("procfs: vmstat line %q has no number", clip(line))
		}
		*to = n
		found++
	}
	if found != 2 {
		return Swap{}, fmt.Errorf("procfs: vmstat has no pswpin and pswpout: %w", ErrNotSupported)
	}
	return swap, nil
}

// Pressure is one resource's stall time since boot.
type Pressure struct {
	SomeMicroseconds int64 // some task waited
	FullMicroseconds int64 // all tasks waited; 0 where the kernel has no such line
}

// Pressure reads /proc/pressure/RESOURCE (cpu, memory, io). A kernel without
// pressure information wraps [ErrNotSupported].
func (fs FS) Pressure(resource string) (Pressure, error) {
	b, err := os.ReadFile(fs.proc("pressure", resource))
	if errors.Is(err, iofs.ErrNotExist) {
		return Pressure{}, fmt.Errorf("procfs: no pressure information: %w", ErrNotSupported)
	}
	if err != nil {
		return Pressure{}, err
	}
	return ParsePressure(string(b))
}

// ParsePressure reads the content of a pressure file.
func ParsePressure(s string) (Pressure, error) {
	var p Pressure
	some := false
	for _, line := range strings.Split(s, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		var to *int64
		switch fields[0] {
		case "some":
			to, some = &p.SomeMicroseconds, true
		case "full":
			to = &p.FullMicroseconds
		default:
			continue
		}
		total, ok := strings.CutPrefix(fields[len(fields)-1], "total=")
		n, err := strconv.ParseInt(total, 10, 64)
		if !ok || err != nil || n < 0 {
			return Pressure{}, fmt.Errorf("procfs: pressure line %q has no total", clip(line))
		}
		*to = n
	}
	if !some {
		return Pressure{}, fmt.Errorf("procfs: pressure %q has no line of some", clip(s))
	}
	return p, nil
}
