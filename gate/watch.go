package gate

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/tareperf/tare/internal/procfs"
)

// FS says where /proc and /sys are; the zero value is the live system.
type FS = procfs.FS

// WatchOptions say what a watch looks at.
type WatchOptions struct {
	// CPUs whose idle states and throttling are compared; default all that are
	// online. Busy time is always given for every CPU.
	CPUs []int
	// Own are processes of the rig. Their descendants, this process and its
	// descendants are the rig's too. They are listed with Own set and are never
	// named as foreign.
	Own []int
	// Twins are executables under test. Processes not of the rig whose
	// executable has the same base name go into HostEvidence.Twins. Default:
	// nobody is looked for.
	Twins []string
}

// Watch gathers [HostEvidence] over a window. It reads /proc and /sys once
// when it starts and once when it stops and does nothing in between; what the
// two readings took is in the evidence. The window lies inside both readings,
// so its busy times do not hold their cost, while the run times of processes
// reach a little beyond the window on both sides. The cost grows with the
// number of threads on the host, by about 15 µs each.
type Watch struct {
	fs    FS
	o     WatchOptions
	start border
}

// border is all that is read at one end of the window.
type border struct {
	busy     procfs.Busy
	tasks    map[int]*task
	idle     map[string]string
	idleErr  error
	steal    map[int]int64
	stealErr error
	throttle map[int]int64
	swap     int64 // pages; -1 unknown
	cost     time.Duration
	unread   int
}

// task is one process at a border.
type task struct {
	process procfs.Process
	threads []procfs.Thread
}

// StartWatch reads the first border. It fails only when the busy time of the
// CPUs cannot be read, or the processes cannot be listed.
func StartWatch(fs FS, o WatchOptions) (*Watch, error) {
	w := &Watch{fs: fs, o: o}
	if len(o.CPUs) == 0 {
		online, err := fs.OnlineCPUs()
		if err != nil {
			return nil, fmt.Errorf("gate: the online CPUs cannot be read: %w", err)
		}
		w.o.CPUs = online
	}
	// The clock of the window starts last, so that nothing of this reading is
	// inside it.
	begin := time.Now()
	b, err := w.readAll()
	if err != nil {
		return nil, err
	}
	if b.busy, err = fs.CPUBusy(); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	b.cost = time.Since(begin)
	w.start = b
	return w, nil
}

// Stop reads the second border and gives what happened since the first. A
// watch can be stopped more than once; each time gives the window up to then.
func (w *Watch) Stop() (HostEvidence, error) {
	begin := time.Now()
	busy, err := w.fs.CPUBusy()
	if err != nil {
		return HostEvidence{}, fmt.Errorf("gate: %w", err)
	}
	end, err := w.readAll()
	if err != nil {
		return HostEvidence{}, err
	}
	end.busy, end.cost = busy, time.Since(begin)

	e := HostEvidence{
		BusySource:            busy.Source,
		ResolutionNanoseconds: busy.ResolutionNanoseconds,
		StartNanoseconds:      w.start.busy.AtNanoseconds,
		EndNanoseconds:        busy.AtNanoseconds,
		CostStartNanoseconds:  w.start.cost.Nanoseconds(),
		CostEndNanoseconds:    end.cost.Nanoseconds(),
		UnreadableProcesses:   max(w.start.unread, end.unread),
		SwappedPages:          -1,
	}
	if e.BusyNanoseconds, e.WallNanoseconds, err = busy.Since(w.start.busy); err != nil {
		return HostEvidence{}, fmt.Errorf("gate: %w", err)
	}
	e.Processes = w.processes(end)
	if len(w.o.Twins) > 0 {
		e.Twins = w.twins(end)
	}
	e.IdleStart, e.IdleEnd = w.start.idle, end.idle
	if err := errors.Join(w.start.idleErr, end.idleErr); err != nil {
		e.IdleError = err.Error()
	}
	e.StealNanoseconds, err = stealSince(w.start, end)
	if err != nil {
		e.StealError = err.Error()
	}
	for _, cpu := range w.o.CPUs {
		before, ok1 := w.start.throttle[cpu]
		after, ok2 := end.throttle[cpu]
		if ok1 && ok2 {
			if e.ThrottleCounts == nil {
				e.ThrottleCounts = map[int]int64{}
			}
			e.ThrottleCounts[cpu] = after - before
		}
	}
	if w.start.swap >= 0 && end.swap >= w.start.swap {
		e.SwappedPages = end.swap - w.start.swap
	}
	return e, nil
}

func stealSince(start, end border) (map[int]int64, error) {
	if err := errors.Join(start.stealErr, end.stealErr); err != nil {
		return nil, err
	}
	steal := map[int]int64{}
	for cpu, now := range end.steal {
		before, ok := start.steal[cpu]
		if !ok {
			return nil, fmt.Errorf("CPU %d was not there at the start", cpu)
		}
		if now < before {
			return nil, fmt.Errorf("stolen time of CPU %d went back by %d ns", cpu, before-now)
		}
		steal[cpu] = now - before
	}
	return steal, nil
}

// readAll reads everything of a border but the busy time.
func (w *Watch) readAll() (border, error) {
	b := border{tasks: map[int]*task{}, steal: map[int]int64{}, throttle: map[int]int64{}, swap: -1}
	b.idle, b.idleErr = idleSettings(w.fs, w.o.CPUs)
	times, err := w.fs.CPUTimes()
	b.stealErr = err
	for _, t := range times {
		b.steal[t.CPU] = t.StealNanoseconds
	}
	for _, cpu := range w.o.CPUs {
		if counts, err := w.fs.ThrottleCounts(cpu); err == nil {
			for _, n := range counts {
				b.throttle[cpu] += n
			}
		}
	}
	if swap, err := w.fs.Swap(); err == nil {
		b.swap = swap.InPages + swap.OutPages
	}
	pids, err := w.fs.Processes()
	if err != nil {
		return border{}, fmt.Errorf("gate: processes cannot be listed: %w", err)
	}
	for _, pid := range pids {
		p, err := w.fs.Process(pid)
		if err != nil {
			continue // ended
		}
		t := &task{process: p}
		if t.threads, err = w.fs.ThreadRuns(pid); err != nil && w.exists(pid) {
			b.unread++
		}
		b.tasks[pid] = t
	}
	return b, nil
}

func (w *Watch) exists(pid int) bool {
	p, err := w.fs.Process(pid)
	return err == nil && p.State != 'Z' && p.State != 'X'
}

// processes are those that ran between the borders, loudest first.
func (w *Watch) processes(end border) []Process {
	own := w.ownPids(end)
	list := []Process{}
	for pid, t := range end.tasks {
		p := w.describe(t, own[pid])
		before := map[int]procfs.Thread{}
		if old := w.start.tasks[pid]; old != nil && old.process.StartTicks == t.process.StartTicks {
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

func (w *Watch) describe(t *task, own bool) Process {
	p := t.process
	return Process{
		Pid: p.Pid, Comm: p.Comm, Exe: p.Exe, Own: own, State: string(p.State), OnCPU: map[int]int64{},
		Kernel: p.Exe == "" && (p.Pid == 2 || p.PPid == 2), // 2 is kthreadd
	}
}

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
		p := t.process
		name := path.Base(strings.TrimSuffix(p.Exe, " (deleted)"))
		if p.Exe == "" {
			name = p.Comm // not readable, or a kernel thread: which is never called so by accident
		}
		if own[pid] || p.State == 'Z' || p.State == 'X' || !(wanted[name] || p.Exe == "" && wantedShort(wanted, name)) {
			continue
		}
		twin := w.describe(t, false)
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
	root := map[int]bool{selfPid(): true}
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

func idleSettings(fs FS, cpus []int) (map[string]string, error) {
	settings := map[string]string{}
	driver, governor, err := fs.IdleDriver()
	if err != nil {
		return nil, err
	}
	settings["driver"], settings["governor"] = driver, governor
	for _, cpu := range cpus {
		states, err := fs.IdleStates(cpu)
		if errors.Is(err, procfs.ErrNotSupported) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, s := range states {
			key := fmt.Sprintf("cpu%d/state%d", cpu, s.Index)
			settings[key] = fmt.Sprintf("%s latency %d residency %d disabled %t", s.Name, s.LatencyMicroseconds, s.ResidencyMicroseconds, s.Disabled)
		}
	}
	return settings, nil
}

// IdleStatesEvidence is the part of the evidence that the gate [IdleStates]
// reads.
func (e HostEvidence) IdleStatesEvidence() IdleStatesEvidence {
	return IdleStatesEvidence{Start: e.IdleStart, End: e.IdleEnd, Error: e.IdleError}
}

// LookAtOrigin reads the process of an origin. The caller asks it a request
// and sets Answered, and Error when it did not answer.
func LookAtOrigin(fs FS, name string, pid int) OriginEvidence {
	e := OriginEvidence{Name: name, Pid: pid}
	p, err := fs.Process(pid)
	if err != nil {
		_, alive := fs.Processes()
		e.Gone = alive == nil && isGone(err)
		e.Error = err.Error()
		return e
	}
	e.Comm, e.State, e.LastCPU = p.Comm, string(p.State), p.LastCPU
	return e
}

// ThreadRun is the run time of one thread at one moment.
type ThreadRun struct {
	Tid            int
	Comm           string
	RunNanoseconds int64
}

// ThreadRuns reads the run time of every thread of a process whose name begins
// with prefix (all threads when it is empty).
func ThreadRuns(fs FS, pid int, prefix string) ([]ThreadRun, error) {
	threads, err := fs.ThreadRuns(pid)
	if err != nil {
		return nil, fmt.Errorf("gate: threads of process %d: %w", pid, err)
	}
	var runs []ThreadRun
	for _, th := range threads {
		if strings.HasPrefix(th.Comm, prefix) {
			runs = append(runs, ThreadRun{Tid: th.Tid, Comm: th.Comm, RunNanoseconds: th.RunNanoseconds})
		}
	}
	return runs, nil
}

// WorkersSince gives the evidence of the gate [Spread] from two readings of
// the worker threads. A worker that came or went in the window is an error.
func WorkersSince(start, end []ThreadRun) ([]WorkerTime, error) {
	before := map[int]ThreadRun{}
	for _, t := range start {
		before[t.Tid] = t
	}
	if len(start) != len(end) {
		return nil, fmt.Errorf("gate: %d workers at the start of the window and %d at its end", len(start), len(end))
	}
	var workers []WorkerTime
	for _, t := range end {
		old, ok := before[t.Tid]
		if !ok || t.RunNanoseconds < old.RunNanoseconds {
			return nil, fmt.Errorf("gate: worker %q (tid %d) is not the one that was there at the start", t.Comm, t.Tid)
		}
		workers = append(workers, WorkerTime{Name: t.Comm + " (tid " + strconv.Itoa(t.Tid) + ")", RunNanoseconds: t.RunNanoseconds - old.RunNanoseconds})
	}
	return workers, nil
}

func union(a, b []int) []int {
	u := append(slices.Clone(a), b...)
	slices.Sort(u)
	return slices.Compact(u)
}
