package pinning

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/sys"
)

// Placement is a plan in force. Its methods may be called from several
// goroutines.
type Placement struct {
	plan   Plan
	fs     FS
	method string
	lost   []string

	mu      sync.Mutex
	sets    map[Role]string // directory of each role's cpuset; nil for affinity
	ledger  Ledger
	placed  map[int]*origin // by pid
	harness *origin         // nil when left alone
	closed  bool
}

// origin is where a process was before it was placed.
type origin struct {
	pid        int
	startTicks uint64
	masks      map[int]thread // by tid
	main       []int          // affinity of the main thread
	cgroup     string         // directory of its cpuset; empty for affinity
}

type thread struct {
	startTicks uint64
	cpus       []int
}

// Apply puts a plan in force: it makes the cpusets where it may, and keeps
// this process on the harness's CPUs. On an error everything is as before.
func Apply(p Plan, o ApplyOptions) (_ *Placement, err error) {
	if p.Proxy.Len() == 0 || p.Harness.Len() == 0 {
		return nil, fmt.Errorf("pinning: the plan has CPUs %q for the proxy and %q for the harness; make one with Topology.Plan", p.Proxy, p.Harness)
	}
	pl := &Placement{plan: p, fs: o.FS, method: MethodAffinity, ledger: o.Ledger, placed: map[int]*origin{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, pl.Close())
		}
	}()
	if o.AffinityOnly {
		pl.lost = append(pl.lost, "cpusets were not wanted: a program can move its own threads")
	} else if err := pl.makeSets(); err != nil {
		pl.lost = append(pl.lost, fmt.Sprintf("no cpusets, so a program can move its own threads: %v", err))
	}
	if !o.LeaveHarness {
		if err := pl.confineHarness(); err != nil {
			return nil, err
		}
	}
	return pl, nil
}

// Method is how processes are placed: "cpuset v1", "cpuset v2" or "affinity".
func (p *Placement) Method() string { return p.method }

// Lost says in sentences what this process was not allowed to do.
func (p *Placement) Lost() []string { return append([]string(nil), p.lost...) }

// Place puts every thread of a process on its role's CPUs and verifies it.
// Threads that are born meanwhile are caught; children are not placed, but
// inherit.
func (p *Placement) Place(r Role, pid int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("pinning: the placement is closed")
	}
	want := p.plan.For(r)
	if want.Len() == 0 {
		return fmt.Errorf("pinning: the plan has no CPUs for role %q", r)
	}
	if pid == os.Getpid() {
		return fmt.Errorf("pinning: process %d is the harness itself; Apply places it", pid)
	}
	was, err := p.remember(pid)
	if err != nil {
		return fmt.Errorf("pinning: place %s (pid %d): %w", r, pid, err)
	}
	if first, again := p.placed[pid]; !again || first.startTicks != was.startTicks {
		p.placed[pid] = was
	}
	if dir := p.sets[r]; dir != "" {
		if err := writeFile(dir+"/cgroup.procs", fmt.Sprint(pid)); err != nil {
			return fmt.Errorf("pinning: place %s (pid %d): %w", r, pid, err)
		}
	}
	if err := p.setAffinity(pid, want.CPUs()); err != nil {
		return fmt.Errorf("pinning: place %s (pid %d) on CPUs %s: %w", r, pid, want, err)
	}
	return p.verify(r, pid, want)
}

// Verify reads back where every thread of a process may run. A thread that may
// run elsewhere than planned gives a [*MovedError]; a process that is gone
// gives an error for which errors.Is(err, fs.ErrNotExist) holds.
func (p *Placement) Verify(r Role, pid int) error {
	want := p.plan.For(r)
	if want.Len() == 0 {
		return fmt.Errorf("pinning: the plan has no CPUs for role %q", r)
	}
	return p.verify(r, pid, want)
}

// VerifyHarness is Verify for this process.
func (p *Placement) VerifyHarness() error {
	p.mu.Lock()
	left := p.harness == nil
	p.mu.Unlock()
	if left {
		return errors.New("pinning: the harness was left where it was")
	}
	return p.verify("harness", os.Getpid(), p.plan.Harness)
}

func (p *Placement) verify(r Role, pid int, want CPUSet) error {
	threads, err := p.fs.Threads(pid)
	if err != nil {
		return fmt.Errorf("pinning: verify %s (pid %d): %w", r, pid, err)
	}
	moved := &MovedError{Role: r, Pid: pid, Want: want}
	for _, t := range threads {
		if t.State == 'Z' || t.State == 'X' {
			continue
		}
		if allowed := NewCPUSet(t.AllowedCPUs...); !allowed.Equal(want) {
			moved.Threads = append(moved.Threads, MovedThread{Tid: t.Tid, Comm: t.Comm, Allowed: allowed, LastCPU: t.LastCPU})
		}
	}
	if len(moved.Threads) > 0 {
		return moved
	}
	return nil
}

// setAffinity sets the mask of every thread and looks again until no thread is
// new: a thread inherits the mask of the one that made it.
func (p *Placement) setAffinity(pid int, cpus []int) error {
	done := map[int]uint64{}
	for range 100 {
		threads, err := p.fs.ThreadRuns(pid)
		if err != nil {
			return err
		}
		fresh := false
		for _, t := range threads {
			if done[t.Tid] == t.StartTicks && t.StartTicks != 0 {
				continue
			}
			fresh = true
			if err := sys.SetAffinity(t.Tid, cpus); err != nil && !errors.Is(err, unix.ESRCH) {
				if errors.Is(err, unix.EINVAL) {
					return fmt.Errorf("thread %d: none of these CPUs is online and in the thread's cpuset: %w", t.Tid, err)
				}
				return fmt.Errorf("thread %d: %w", t.Tid, err)
			}
			done[t.Tid] = t.StartTicks
		}
		if !fresh {
			return nil
		}
	}
	return errors.New("it makes threads faster than they can be placed; place it while it is held")
}

// remember records where a process is.
func (p *Placement) remember(pid int) (*origin, error) {
	process, err := p.fs.Process(pid)
	if err != nil {
		return nil, err
	}
	threads, err := p.fs.Threads(pid)
	if err != nil {
		return nil, err
	}
	o := &origin{pid: pid, startTicks: process.StartTicks, masks: map[int]thread{}}
	for _, t := range threads {
		o.masks[t.Tid] = thread{t.StartTicks, t.AllowedCPUs}
		if t.Tid == pid {
			o.main = t.AllowedCPUs
		}
	}
	if o.main == nil {
		o.main = threads[0].AllowedCPUs
	}
	if p.sets != nil {
		if o.cgroup, err = p.cgroupOf(pid); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// putBack restores where a process was; one that is gone needs nothing.
func (p *Placement) putBack(o *origin) error {
	process, err := p.fs.Process(o.pid)
	if errors.Is(err, iofs.ErrNotExist) || err == nil && (process.StartTicks != o.startTicks || process.State == 'Z' || process.State == 'X') {
		return nil
	}
	if err != nil {
		return err
	}
	if o.cgroup != "" {
		if err := writeFile(o.cgroup+"/cgroup.procs", fmt.Sprint(o.pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	done := map[int]uint64{}
	for range 100 {
		threads, err := p.fs.ThreadRuns(o.pid)
		if err != nil {
			if errors.Is(err, iofs.ErrNotExist) {
				return nil
			}
			return err
		}
		fresh := false
		for _, t := range threads {
			if done[t.Tid] == t.StartTicks && t.StartTicks != 0 {
				continue
			}
			fresh = true
			cpus := o.main // what a new thread would have inherited
			if was, ok := o.masks[t.Tid]; ok && was.startTicks == t.StartTicks {
				cpus = was.cpus
			}
			if err := sys.SetAffinity(t.Tid, cpus); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("thread %d: %w", t.Tid, err)
			}
			done[t.Tid] = t.StartTicks
		}
		if !fresh {
			return nil
		}
	}
	return nil
}

func (p *Placement) confineHarness() error {
	pid := os.Getpid()
	was, err := p.remember(pid)
	if err != nil {
		return fmt.Errorf("pinning: the harness: %w", err)
	}
	was.cgroup = "" // it stays in its cpuset
	p.harness = was
	if err := p.setAffinity(pid, p.plan.Harness.CPUs()); err != nil {
		return fmt.Errorf("pinning: the harness (pid %d) on CPUs %s: %w", pid, p.plan.Harness, err)
	}
	return p.verify("harness", pid, p.plan.Harness)
}

// Close puts every process that is still there back where it was, this one
// too, and removes the cpusets. It can be called again; what failed is tried
// again.
func (p *Placement) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	var errs []error
	for pid, o := range p.placed {
		if err := p.putBack(o); err != nil {
			errs = append(errs, fmt.Errorf("pinning: process %d was not put back: %w", pid, err))
			continue
		}
		delete(p.placed, pid)
	}
	if p.harness != nil {
		if err := p.putBack(p.harness); err != nil {
			errs = append(errs, fmt.Errorf("pinning: the harness was not put back: %w", err))
		} else {
			p.harness = nil
		}
	}
	errs = append(errs, p.removeSets())
	return errors.Join(errs...)
}
