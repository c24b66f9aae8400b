package gate

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/tareperf/tare/internal/procfs"
)

// HostEvidence is what the host did over a window: gathered by [StartWatch],
// or filled by another harness.
type HostEvidence struct {
	BusySource            string            `json:"busy_source"`            // where Busy comes from
	ResolutionNanoseconds int64             `json:"resolution_nanoseconds"` // each Busy is right to plus or minus this
	BusyNanoseconds       map[int]int64     `json:"busy_nanoseconds"`       // by CPU, from all causes
	WallNanoseconds       int64             `json:"wall_nanoseconds"`       // length of the window
	StartNanoseconds      int64             `json:"start_nanoseconds"`      // CLOCK_MONOTONIC
	EndNanoseconds        int64             `json:"end_nanoseconds"`        // CLOCK_MONOTONIC
	Processes             []Process         `json:"processes"`              // everything that ran, most first
	Twins                 []Process         `json:"twins,omitempty"`        // see WatchOptions.Twins
	TwinsError            string            `json:"twins_error,omitempty"`  // twins could not be looked for
	IdleStart             map[string]string `json:"idle_start,omitempty"`   // settings of the idle states; at least "driver"
	IdleEnd               map[string]string `json:"idle_end,omitempty"`
	IdleError             string            `json:"idle_error,omitempty"`
	StealNanoseconds      map[int]int64     `json:"steal_nanoseconds,omitempty"` // by CPU, in ticks of 10 ms; nil with StealError when unreadable
	StealError            string            `json:"steal_error,omitempty"`
	ThrottleCounts        map[int]int64     `json:"throttle_counts,omitempty"` // slowed down for heat, by CPU; nil where the host has no such counters
	SwappedPages          int64             `json:"swapped_pages"`             // in and out; -1 is unknown
	CostStartNanoseconds  int64             `json:"cost_start_nanoseconds"`    // how long the reading took before the window
	CostEndNanoseconds    int64             `json:"cost_end_nanoseconds"`      // and after it
	UnreadableProcesses   int               `json:"unreadable_processes,omitempty"`
}

// Process is a process that ran in a window.
type Process struct {
	Pid            int           `json:"pid"`
	Comm           string        `json:"comm"`
	Exe            string        `json:"exe,omitempty"` // empty for kernel threads and where it may not be read
	Kernel         bool          `json:"kernel,omitempty"`
	Own            bool          `json:"own,omitempty"` // of the rig
	State          string        `json:"state,omitempty"`
	RunNanoseconds int64         `json:"run_nanoseconds"` // of all its threads, in the window
	OnCPU          map[int]int64 `json:"on_cpu"`          // RunNanoseconds by the CPU on which each thread was last seen
	AllowedCPUs    []int         `json:"allowed_cpus"`    // of all its threads together
	// OverNanoseconds is the time between the two readings of this process,
	// which holds the window and is longer than it. 0: the window.
	OverNanoseconds int64 `json:"over_nanoseconds,omitempty"`
}

// inWindow is the part of a run time that falls into the window, if it was
// spread evenly between the readings of the process.
func (p Process) inWindow(ns, wall int64) int64 {
	if p.OverNanoseconds <= wall {
		return ns
	}
	return int64(float64(ns) * (float64(wall) / float64(p.OverNanoseconds)))
}

// on is the run time of threads that were last seen on these CPUs.
func (p Process) on(cpus []int) int64 {
	var sum int64
	for cpu, ns := range p.OnCPU {
		if slices.Contains(cpus, cpu) {
			sum += ns
		}
	}
	return sum
}

// mayRunOn reports whether a thread may run on one of these CPUs; a process
// whose CPUs are unknown may.
func (p Process) mayRunOn(cpus []int) bool {
	if len(p.AllowedCPUs) == 0 {
		return true
	}
	return slices.ContainsFunc(p.AllowedCPUs, func(cpu int) bool { return slices.Contains(cpus, cpu) })
}

func (p Process) touches(cpus []int) bool { return p.on(cpus) > 0 || p.mayRunOn(cpus) }

// bound reports whether all its threads can run on these CPUs only.
func (p Process) bound(cpus []int) bool {
	return len(p.AllowedCPUs) > 0 && !slices.ContainsFunc(p.AllowedCPUs, func(cpu int) bool { return !slices.Contains(cpus, cpu) })
}

func (p Process) name() string {
	if p.Kernel {
		return fmt.Sprintf("kernel thread %q (pid %d)", p.Comm, p.Pid)
	}
	return fmt.Sprintf("%q (pid %d)", p.Comm, p.Pid)
}

func (e HostEvidence) busyOn(cpus []int) (int64, error) {
	if len(cpus) == 0 {
		return 0, fmt.Errorf("no CPUs were named")
	}
	if e.WallNanoseconds <= 0 {
		return 0, fmt.Errorf("the window has no length (%d ns)", e.WallNanoseconds)
	}
	var sum int64
	for _, cpu := range cpus {
		ns, ok := e.BusyNanoseconds[cpu]
		if !ok {
			return 0, fmt.Errorf("the busy time of CPU %d is unknown", cpu)
		}
		sum += ns
	}
	return sum, nil
}

// likelyOn estimates how long a process ran on some CPUs within the window: the
// time of threads last seen there, less if they may run elsewhere as well,
// since only the last CPU is known.
func (p Process) likelyOn(cpus []int, wall int64) int64 {
	here := p.inWindow(p.on(cpus), wall)
	if n := len(p.AllowedCPUs); n > 0 {
		allowed := 0
		for _, cpu := range p.AllowedCPUs {
			if slices.Contains(cpus, cpu) {
				allowed++
			}
		}
		here = here * int64(max(allowed, 1)) / int64(n)
	}
	return here
}

// topNames names the n processes that most likely ran most on some CPUs, those
// that were seen there before those that only may run there. It sorts ps in
// place.
func topNames(ps []Process, cpus []int, wall int64, n int) string {
	sort.SliceStable(ps, func(i, j int) bool {
		a, b := ps[i].likelyOn(cpus, wall), ps[j].likelyOn(cpus, wall)
		if a != b {
			return a > b
		}
		return ps[i].RunNanoseconds > ps[j].RunNanoseconds
	})
	var names []string
	for _, p := range ps {
		if len(names) == n || p.RunNanoseconds <= 0 {
			break
		}
		ran := fmt.Sprintf("%s ran %s of the window", p.name(), percent(float64(p.inWindow(p.RunNanoseconds, wall))/float64(wall)))
		var seen []int
		for cpu, ns := range p.OnCPU {
			if ns > 0 && slices.Contains(cpus, cpu) {
				seen = append(seen, cpu)
			}
		}
		switch {
		case len(seen) == 0:
			ran += fmt.Sprintf(", last seen on another CPU but allowed on CPU %s", cpuList(p.AllowedCPUs))
		case p.bound(cpus):
			ran += " on CPU " + cpuList(seen)
		default:
			ran += fmt.Sprintf(", last seen on CPU %s and allowed on CPU %s", cpuList(seen), cpuList(p.AllowedCPUs))
		}
		names = append(names, ran)
	}
	return strings.Join(names, "; ")
}

func cpuList(cpus []int) string { return procfs.FormatCPUList(cpus) }
