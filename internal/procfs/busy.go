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
	SourceCPUAcct = "cpuacct"
	SourceCPUIdle = "cpuidle"
	SourceStat    = "/proc/stat"
)

// Busy is a reading of how long each CPU has been busy. Only the difference
// of two readings of the same source means anything.
type Busy struct {
	Source                string        // one of the Source constants
	ResolutionNanoseconds int64         // a difference is right to plus or minus this
	Nanoseconds           map[int]int64 // by CPU
	AtNanoseconds         int64         // CLOCK_MONOTONIC at the reading
}

// Since gives busy nanoseconds by CPU and the wall time between two readings.
// It refuses readings of different sources, CPUs that came or went, and a
// count that went back by more than the resolution; within the resolution a
// negative difference is given as it is.
func (b Busy) Since(prev Busy) (busy map[int]int64, wallNanoseconds int64, err error) {
	if b.Source != prev.Source {
		return nil, 0, fmt.Errorf("procfs: busy time was read from %s and then from %s", prev.Source, b.Source)
	}
	wallNanoseconds = b.AtNanoseconds - prev.AtNanoseconds
	if wallNanoseconds <= 0 {
		return nil, 0, fmt.Errorf("procfs: no time passed between two readings of busy time (%d ns)", wallNanoseconds)
	}
	if len(b.Nanoseconds) != len(prev.Nanoseconds) {
		return nil, 0, fmt.Errorf("procfs: the host had %d CPUs at the first reading and %d at the second", len(prev.Nanoseconds), len(b.Nanoseconds))
	}
	busy = make(map[int]int64, len(b.Nanoseconds))
	for cpu, now := range b.Nanoseconds {
		before, ok := prev.Nanoseconds[cpu]
		if !ok {
			return nil, 0, fmt.Errorf("procfs: CPU %d was not there at the first reading", cpu)
		}
		if now-before < -b.ResolutionNanoseconds {
			return nil, 0, fmt.Errorf("procfs: busy time of CPU %d in %s went back by %d ns", cpu, b.Source, before-now)
		}
		busy[cpu] = now - before
	}
	return busy, wallNanoseconds, nil
}

// CPUBusy reads how long each CPU has been busy since some fixed time, from
// the best source that the host has (see the package comment).
func (fs FS) CPUBusy() (Busy, error) {
	var reasons []error
	for _, read := range []func() (Busy, error){fs.busyFromCPUAcct, fs.busyFromCPUIdle, fs.busyFromStat} {
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
