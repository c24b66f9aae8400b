package procfs

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"strconv"
)

const cpuRoot = "devices/system/cpu"

func (fs FS) cpuList(name string) ([]int, error) {
	s, err := fs.ReadSys(filepath.Join(cpuRoot, name))
	if err != nil {
		return nil, err
	}
	return ParseCPUList(s)
}

// OnlineCPUs lists the CPUs that can run tasks now.
func (fs FS) OnlineCPUs() ([]int, error) { return fs.cpuList("online") }

// PossibleCPUs lists the CPUs that this boot could ever have.
func (fs FS) PossibleCPUs() ([]int, error) { return fs.cpuList("possible") }

// PresentCPUs lists the CPUs that are plugged in, online or not.
func (fs FS) PresentCPUs() ([]int, error) { return fs.cpuList("present") }

// IdleState is one idle state of one CPU.
type IdleState struct {
	Index                 int
	Name, Description     string
	LatencyMicroseconds   int64 // to leave it
	ResidencyMicroseconds int64 // that makes it worth while
	TimeMicroseconds      int64 // spent in it; the sleep in progress is not included
	Usage                 int64 // times entered
	Disabled              bool
}

// IdleDriver reads the names of the idle driver and governor; a host without a
// driver says "none".
func (fs FS) IdleDriver() (driver, governor string, err error) {
	dir := filepath.Join(cpuRoot, "cpuidle")
	driver, err = fs.ReadSys(filepath.Join(dir, "current_driver"))
	if errors.Is(err, iofs.ErrNotExist) {
		// A kernel without cpuidle has no directory for it where the CPUs are.
		if _, e := fs.OnlineCPUs(); e == nil {
			return "none", "none", nil
		}
	}
	if err != nil {
		return "", "", err
	}
	for _, name := range []string{"current_governor", "current_governor_ro"} {
		if governor, err = fs.ReadSys(filepath.Join(dir, name)); err == nil {
			break
		}
	}
	return driver, governor, err
}

// IdleStates reads the idle states of a CPU. No cpuidle directory wraps
// [ErrNotSupported].
func (fs FS) IdleStates(cpu int) ([]IdleState, error) {
	dir := fs.sys(cpuRoot, "cpu"+strconv.Itoa(cpu), "cpuidle")
	var states []IdleState
	for i := 0; ; i++ {
		d := filepath.Join(dir, "state"+strconv.Itoa(i))
		name, err := readTrim(filepath.Join(d, "name"))
		if errors.Is(err, iofs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		s := IdleState{Index: i, Name: name}
		s.Description, _ = readTrim(filepath.Join(d, "desc"))
		var disable int64
		for file, to := range map[string]*int64{
			"latency": &s.LatencyMicroseconds, "time": &s.TimeMicroseconds, "usage": &s.Usage, "disable": &disable,
		} {
			if *to, err = readInt(filepath.Join(d, file)); err != nil {
				return nil, err
			}
		}
		// residency came later than the others
		if s.ResidencyMicroseconds, err = readInt(filepath.Join(d, "residency")); err != nil && !errors.Is(err, iofs.ErrNotExist) {
			return nil, err
		}
		s.Disabled = disable != 0
		states = append(states, s)
	}
	if len(states) == 0 {
		return nil, fmt.Errorf("procfs: CPU %d has no idle states in cpuidle: %w", cpu, ErrNotSupported)
	}
	return states, nil
}

// Frequency is the policy of one CPU under cpufreq. Kilohertz as the kernel
// has them; 0 is never a valid frequency and means that the file is absent.
type Frequency struct {
	CPU                                int
	Driver, Governor, Preference       string // Preference: energy_performance_preference, empty where absent
	MinimumKilohertz, MaximumKilohertz int64  // the limits of scaling, not of the hardware
}

// Frequency reads the frequency policy of a CPU. No cpufreq directory wraps
// [ErrNotSupported].
func (fs FS) Frequency(cpu int) (Frequency, error) {
	dir := fs.sys(cpuRoot, "cpu"+strconv.Itoa(cpu), "cpufreq")
	f := Frequency{CPU: cpu}
	var err error
	if f.Governor, err = readTrim(filepath.Join(dir, "scaling_governor")); err != nil {
		if errors.Is(err, iofs.ErrNotExist) {
			return Frequency{}, fmt.Errorf("procfs: CPU %d has no cpufreq: %w", cpu, ErrNotSupported)
		}
		return Frequency{}, err
	}
	if f.Driver, err = readTrim(filepath.Join(dir, "scaling_driver")); err != nil {
		return Frequency{}, err
	}
	f.Preference, _ = readTrim(filepath.Join(dir, "energy_performance_preference"))
	f.MinimumKilohertz, _ = readInt(filepath.Join(dir, "scaling_min_freq"))
	f.MaximumKilohertz, _ = readInt(filepath.Join(dir, "scaling_max_freq"))
	return f, nil
}

// ThrottleCounts reads how often a CPU was slowed down for heat, by the name
// of the counter (core_throttle_count, package_throttle_count). A CPU without
// such counters wraps [ErrNotSupported].
func (fs FS) ThrottleCounts(cpu int) (map[string]int64, error) {
	files, err := filepath.Glob(fs.sys(cpuRoot, "cpu"+strconv.Itoa(cpu), "thermal_throttle", "*_throttle_count"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("procfs: CPU %d has no thermal throttle counters: %w", cpu, ErrNotSupported)
	}
	counts := map[string]int64{}
	for _, file := range files {
		n, err := readInt(file)
		if err != nil {
			return nil, err
		}
		counts[filepath.Base(file)] = n
	}
	return counts, nil
}
