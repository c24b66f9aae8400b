package gate

import (
	"errors"
	"fmt"
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
// number of processes and threads on the host, by some 20 µs each on a CPU that
// is free for it; HostEvidence has what it was.
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
	at      time.Time // after the threads were read
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
	delta, err := busy.Since(w.start.busy)
	if err != nil {
		return HostEvidence{}, fmt.Errorf("gate: %w", err)
	}

	e := HostEvidence{
		BusySource:            delta.Source,
		ResolutionNanoseconds: delta.ResolutionNanoseconds,
		BusyNanoseconds:       delta.Nanoseconds,
		WallNanoseconds:       delta.WallNanoseconds,
		StartNanoseconds:      w.start.busy.AtNanoseconds,
		EndNanoseconds:        busy.AtNanoseconds,
		CostStartNanoseconds:  w.start.cost.Nanoseconds(),
		CostEndNanoseconds:    end.cost.Nanoseconds(),
		UnreadableProcesses:   max(w.start.unread, end.unread),
		SwappedPages:          -1,
	}
	e.Processes = w.processes(end)
	if len(w.o.Twins) > 0 {
		e.Twins = w.twins(end)
		if end.tasks[1] == nil { // everybody may see it, unless /proc hides others
			e.TwinsError = "processes of other users are hidden from this one (/proc is mounted with hidepid)"
		}
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
		p, err := w.fs.ProcessStat(pid)
		if err != nil {
			continue // ended
		}
		t := &task{process: p}
		if p.Threads == 1 {
			var only procfs.Thread
			if only, err = w.fs.OnlyThread(p); err == nil {
				t.threads = []procfs.Thread{only}
			}
		} else {
			t.threads, err = w.fs.ThreadRuns(pid)
		}
		if err != nil && w.exists(pid) {
			b.unread++
		}
		t.at = time.Now()
		b.tasks[pid] = t
	}
	return b, nil
}

func (w *Watch) exists(pid int) bool {
	p, err := w.fs.ProcessStat(pid)
	return err == nil && p.State != 'Z' && p.State != 'X'
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
