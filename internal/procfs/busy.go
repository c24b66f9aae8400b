package procfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Sources of [Busy], best first.
const (
	SourceCPUAcct   = "cpuacct"
	SourceCPUIdle   = "cpuidle"
	SourceSchedstat = "/proc/schedstat"
	SourceStat      = "/proc/stat"
)

// Busy is a reading of how long each CPU has been busy. Only the difference
// of two readings of the same source means anything.
type Busy struct {
	Source                string        // one of the Source constants
	ResolutionNanoseconds int64         // a difference is right to plus or minus this
	Nanoseconds           map[int]int64 // by CPU
	AtNanoseconds         int64         // CLOCK_MONOTONIC at the reading

	check *Busy // a coarse source without lag, for a fine one that may lag
}

// BusyDelta is how long each CPU was busy between two readings.
type BusyDelta struct {
	Source                string        // of these numbers
	ResolutionNanoseconds int64         // each is right to plus or minus this
	Nanoseconds           map[int]int64 // by CPU; may be negative within the resolution
	WallNanoseconds       int64         // between the readings
}

// Since gives the difference of two readings. It refuses readings of different
// sources, CPUs that came or went, and a count that went back by more than the
// resolution.
func (b Busy) Since(prev Busy) (BusyDelta, error) {
	d, err := b.since(prev)
	if err != nil || b.check == nil || prev.check == nil {
		return d, err
	}
	coarse, err := b.check.since(*prev.check)
	if err != nil {
		return BusyDelta{}, err
	}
	for cpu, fine := range d.Nanoseconds {
		other, ok := coarse.Nanoseconds[cpu]
		if off := fine - other; !ok || off > 2*coarse.ResolutionNanoseconds || off < -2*coarse.ResolutionNanoseconds {
			return coarse, nil // the fine source lagged
		}
	}
	return d, nil
}

func (b Busy) since(prev Busy) (BusyDelta, error) {
	if b.Source != prev.Source {
		return BusyDelta{}, fmt.Errorf("procfs: busy time was read from %s and then from %s", prev.Source, b.Source)
	}
	d := BusyDelta{
		Source: b.Source, ResolutionNanoseconds: b.ResolutionNanoseconds, WallNanoseconds: b.AtNanoseconds - prev.AtNanoseconds,
		Nanoseconds: make(map[int]int64, len(b.Nanoseconds)),
	}
	if d.WallNanoseconds <= 0 {
		return BusyDelta{}, fmt.Errorf("procfs: no time passed between two readings of busy time (%d ns)", d.WallNanoseconds)
	}
	if len(b.Nanoseconds) != len(prev.Nanoseconds) {
		return BusyDelta{}, fmt.Errorf("procfs: the host had %d CPUs at the first reading and %d at the second", len(prev.Nanoseconds), len(b.Nanoseconds))
	}
	for cpu, now := range b.Nanoseconds {
		before, ok := prev.Nanoseconds[cpu]
		if !ok {
			return BusyDelta{}, fmt.Errorf("procfs: CPU %d was not there at the first reading", cpu)
		}
		if now-before < -b.ResolutionNanoseconds {
			return BusyDelta{}, fmt.Errorf("procfs: busy time of CPU %d in %s went back by %d ns", cpu, b.Source, before-now)
		}
		d.Nanoseconds[cpu] = now - before
	}
	return d, nil
}

// CPUBusy reads how long each CPU has been busy since some fixed time, from
// the best source that the host has (see the package comment).
func (fs FS) CPUBusy() (Busy, error) {
	var reasons []error
	for _, read := range []func() (Busy, error){fs.busyFromCPUAcct, fs.busyFromCPUIdle, fs.busyFromSchedstat, fs.busyFromStat} {
		b, err := read()
		if err == nil {
			return b, nil
		}
		reasons = append(reasons, err)
	}
	return Busy{}, fmt.Errorf("procfs: busy time of CPUs cannot be read: %w", errors.Join(reasons...))
}

// cpuacctRoot finds the root directory of a v1 hierarchy with cpuacct. The
// file release_agent exists only in the true root, so it tells the root from
// the top of a cgroup namespace, which looks like one in mountinfo.
func (fs FS) cpuacctRoot() (string, error) {
	mounts, err := fs.SelfMounts()
	if err != nil {
		return "", err
	}
	for _, m := range mounts {
		if m.FSType != "cgroup" || !m.Has("cpuacct") || m.Root != "/" {
			continue
		}
		dir, err := fs.Resolve(m.MountPoint)
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "release_agent")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("procfs: no root of a cgroup v1 hierarchy with cpuacct is mounted: %w", ErrNotSupported)
}

func (fs FS) busyFromCPUAcct() (Busy, error) {
	dir, err := fs.cpuacctRoot()
	if err != nil {
		return Busy{}, err
	}
	// The file has one number for each possible CPU, in their order.
	possible, err := fs.PossibleCPUs()
	if err != nil {
		return Busy{}, err
	}
	text, err := readTrim(filepath.Join(dir, "cpuacct.usage_percpu"))
	if err != nil {
		return Busy{}, err
	}
	at, err := monotonicNanoseconds()
	if err != nil {
		return Busy{}, err
	}
	usage, err := ParseUsagePerCPU(text, possible)
	if err != nil {
		return Busy{}, err
	}
	return Busy{Source: SourceCPUAcct, ResolutionNanoseconds: 1, Nanoseconds: usage, AtNanoseconds: at}, nil
}

// ParseUsagePerCPU reads the content of cpuacct.usage_percpu: nanoseconds, one
// number for each possible CPU.
func ParseUsagePerCPU(s string, possible []int) (map[int]int64, error) {
	fields := strings.Fields(s)
	if len(fields) != len(possible) || len(fields) == 0 {
		return nil, fmt.Errorf("procfs: cpuacct.usage_percpu has %d numbers for %d possible CPUs", len(fields), len(possible))
	}
	usage := make(map[int]int64, len(fields))
	for i, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("procfs: cpuacct.usage_percpu: %q is not a count of nanoseconds", clip(field))
		}
		usage[possible[i]] = n
	}
	return usage, nil
}

func (fs FS) busyFromCPUIdle() (Busy, error) {
	online, err := fs.OnlineCPUs()
	if err != nil {
		return Busy{}, err
	}
	b := Busy{Source: SourceCPUIdle, ResolutionNanoseconds: cpuIdleResolutionNanoseconds, Nanoseconds: map[int]int64{}}
	for _, cpu := range online {
		if fs.live() {
			if err := wakeCPU(cpu); err != nil {
				return Busy{}, fmt.Errorf("procfs: CPU %d cannot be woken to complete its idle times: %w", cpu, err)
			}
		}
		states, err := fs.IdleStates(cpu)
		if err != nil {
			return Busy{}, err
		}
		var idle int64
		for _, s := range states {
			idle += s.TimeMicroseconds * 1000
		}
		at, err := monotonicNanoseconds()
		if err != nil {
			return Busy{}, err
		}
		b.Nanoseconds[cpu] = at - idle
		b.AtNanoseconds = at
	}
	if len(b.Nanoseconds) == 0 {
		return Busy{}, fmt.Errorf("procfs: no CPU is online")
	}
	return b, nil
}

// cpuIdleResolutionNanoseconds covers the sleep between waking a CPU and
// reading its states, and the reading of many CPUs one after the other.
const cpuIdleResolutionNanoseconds = 1_000_000

func (fs FS) busyFromSchedstat() (Busy, error) {
	text, err := os.ReadFile(fs.proc("schedstat"))
	if err != nil {
		return Busy{}, err
	}
	at, err := monotonicNanoseconds()
	if err != nil {
		return Busy{}, err
	}
	ran, err := ParseRunTimes(string(text))
	if err != nil {
		return Busy{}, err
	}
	check, err := fs.busyFromStat()
	if err != nil {
		return Busy{}, err
	}
	return Busy{Source: SourceSchedstat, ResolutionNanoseconds: 1, Nanoseconds: ran, AtNanoseconds: at, check: &check}, nil
}

// ParseRunTimes reads from the content of /proc/schedstat (versions 15 to 17)
// the nanoseconds that tasks ran on each CPU.
func ParseRunTimes(s string) (map[int]int64, error) {
	var version string
	ran := map[int]int64{}
	for _, line := range strings.Split(s, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[0] == "version" {
			version = fields[1]
		}
		name, ok := strings.CutPrefix(line, "cpu")
		if !ok {
			continue
		}
		if version != "15" && version != "16" && version != "17" {
			return nil, fmt.Errorf("procfs: /proc/schedstat has version %q, which this reader does not know: %w", version, ErrNotSupported)
		}
		if len(fields) != 10 {
			return nil, fmt.Errorf("procfs: /proc/schedstat: line %q has %d columns, want 10", clip(line), len(fields))
		}
		cpu, err := parseCPU(strings.Fields(name)[0], -1)
		if err != nil {
			return nil, fmt.Errorf("procfs: /proc/schedstat: line %q: %w", clip(line), err)
		}
		ns, err := strconv.ParseInt(fields[7], 10, 64)
		if err != nil || ns < 0 {
			return nil, fmt.Errorf("procfs: /proc/schedstat: line %q: %q is not a count of nanoseconds", clip(line), fields[7])
		}
		ran[cpu] = ns
	}
	if len(ran) == 0 {
		return nil, fmt.Errorf("procfs: /proc/schedstat has no cpuN line")
	}
	return ran, nil
}

func (fs FS) busyFromStat() (Busy, error) {
	times, err := fs.CPUTimes()
	if err != nil {
		return Busy{}, err
	}
	at, err := monotonicNanoseconds()
	if err != nil {
		return Busy{}, err
	}
	// Two columns, each cut to a tick.
	b := Busy{Source: SourceStat, ResolutionNanoseconds: 2 * TickNanoseconds, Nanoseconds: map[int]int64{}, AtNanoseconds: at}
	for _, t := range times {
		b.Nanoseconds[t.CPU] = at - t.IdleNanoseconds - t.IOWaitNanoseconds
	}
	return b, nil
}
