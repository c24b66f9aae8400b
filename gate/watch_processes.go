package gate

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/tareperf/tare/internal/procfs"
)

// processes are those that ran between the borders, loudest first.
func (w *Watch) processes(end border) []Process {
	own := w.ownPids(end)
	list := []Process{}
	for pid, t := range end.tasks {
		p := describe(t, own[pid])
		before := map[int]procfs.Thread{}
		if old := w.start.tasks[pid]; old != nil && old.process.StartTicks == t.process.StartTicks {
			p.OverNanoseconds = t.at.Sub(old.at).Nanoseconds()
			for _, th := range old.threads {
				before[th.Tid] = th
			}
		}
		for _, th := range t.threads {
			ran := th.RunNanoseconds
			if old, ok := before[th.Tid]; ok && old.StartTicks == th.StartTicks {
				ran -= old.RunNanoseconds
			}
			if ran <= 0 {
				continue
			}
			p.RunNanoseconds += ran
			p.OnCPU[th.LastCPU] += ran
			if cpus, err := w.fs.AllowedCPUs(th.Tid); err == nil {
				p.AllowedCPUs = union(p.AllowedCPUs, cpus)
			}
		}
		if p.RunNanoseconds > 0 {
			p.Exe = w.fs.Exe(pid)
			p.Kernel = p.Exe == "" && kernelThread(t)
			list = append(list, p)
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].RunNanoseconds != list[j].RunNanoseconds {
			return list[i].RunNanoseconds > list[j].RunNanoseconds
		}
		return list[i].Pid < list[j].Pid
	})
	return list
}

func describe(t *task, own bool) Process {
	p := t.process
	return Process{Pid: p.Pid, Comm: p.Comm, Own: own, State: string(p.State), OnCPU: map[int]int64{}}
}

// kernelThread reports whether kthreadd, which is always process 2, made it.
func kernelThread(t *task) bool { return t.process.Pid == 2 || t.process.PPid == 2 }

// twins are the foreign processes at either border whose executable is called
// like one under test, wherever it lies: a copy left by an earlier build or
// installation has another path.
func (w *Watch) twins(end border) []Process {
	wanted := map[string]bool{}
	for _, exe := range w.o.Twins {
		wanted[filepath.Base(exe)] = true
	}
	var found []Process
	own := w.ownPids(end)
	for _, pid := range sortedPids(end.tasks) {
		t := end.tasks[pid]
		if own[pid] || kernelThread(t) || t.process.State == 'Z' || t.process.State == 'X' {
			continue
		}
		exe := w.fs.Exe(pid)
		name := path.Base(strings.TrimSuffix(exe, " (deleted)"))
		if exe == "" {
			name = t.process.Comm // another user's: all that can be known
		}
		if !wanted[name] && !(exe == "" && wantedShort(wanted, name)) {
			continue
		}
		twin := describe(t, false)
		twin.Exe = exe
		for _, th := range t.threads {
			if cpus, err := w.fs.AllowedCPUs(th.Tid); err == nil {
				twin.AllowedCPUs = union(twin.AllowedCPUs, cpus)
			}
		}
		found = append(found, twin)
	}
	return found
}

// wantedShort compares with the 15 bytes that the kernel keeps of a name.
func wantedShort(wanted map[string]bool, comm string) bool {
	for name := range wanted {
		if len(name) > 15 && name[:15] == comm {
			return true
		}
	}
	return false
}

// ownPids are the rig's processes at the second border.
func (w *Watch) ownPids(end border) map[int]bool {
	root := map[int]bool{os.Getpid(): true}
	for _, pid := range w.o.Own {
		root[pid] = true
	}
	own := map[int]bool{}
	for pid, t := range end.tasks {
		// A chain of parents is finite; the bound guards against a torn view.
		for at, steps := t, 0; at != nil && steps < 1000; steps++ {
			if root[at.process.Pid] {
				own[pid] = true
				break
			}
			at = end.tasks[at.process.PPid]
		}
	}
	return own
}

func union(a, b []int) []int {
	u := append(slices.Clone(a), b...)
	slices.Sort(u)
	return slices.Compact(u)
}

func sortedPids(tasks map[int]*task) []int {
	pids := make([]int, 0, len(tasks))
	for pid := range tasks {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}
