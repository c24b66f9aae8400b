package counters

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

// Counter counts one process from before its first instruction. Its methods
// may be called from several goroutines. Close it; nothing else does.
type Counter struct {
	pid           int
	metric        Metric
	start         uint64
	fs            procfs.FS
	accounting    accounting
	ridersMissing string
	children      bool

	mu     sync.Mutex
	group  *group // nil where riders are missing
	closed bool
}

// OpenHeld attaches a counter to a process that does not run and has exactly
// one thread, as when it is held at exec. All later threads inherit it. The
// counter runs when OpenHeld returns; the caller then lets the process go.
//
// With CPUTime a perf group that the kernel refuses is no error: readings then
// say in RidersMissing why it is not there. With Cycles it is one, an
// OpenError. A process that runs meanwhile is a NotHeldError.
func OpenHeld(pid int, o Options) (*Counter, error) {
	metric, err := o.metric()
	if err != nil {
		return nil, err
	}
	c := &Counter{pid: pid, metric: metric}
	c.accounting = readAccounting(c.fs, "/boot")
	before, err := c.held()
	if err != nil {
		return nil, err
	}
	c.start = before.start
	if err := c.attach(); err != nil {
		return nil, err
	}
	after, err := c.held()
	if err == nil {
		err = before.check(pid, after)
	}
	if err == nil {
		_, err = c.Read() // what cannot be read now is better known now
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// attach opens and enables the group, or leaves none and notes why.
func (c *Counter) attach() error {
	g, err := openGroup(c.metric, c.pid)
	if err == nil {
		if err = g.enable(); err == nil {
			c.group, c.children = g, g.children
			return nil
		}
		err = errors.Join(err, g.close())
	}
	err = explain(err, c.fs, c.metric)
	if errors.Is(err, unix.ESRCH) {
		return &GoneError{c.pid, err}
	}
	if c.metric != CPUTime {
		return err
	}
	c.ridersMissing = err.Error()
	return nil
}

// hold is what shows that a process did not run: it had one thread and its CPU
// clock stood still. The state alone would not show it, a sleeper may wake.
type hold struct {
	start uint64
	state byte
	cpu   int64
}

func (c *Counter) held() (hold, error) {
	p, _, err := readProcess(c.fs, c.pid)
	if err != nil {
		return hold{}, err
	}
	if p.Threads != 1 {
		return hold{}, &NotHeldError{Pid: c.pid, State: string(p.State), Threads: p.Threads}
	}
	cpu, err := sys.ProcessCPUClock(c.pid)
	if err != nil {
		return hold{}, &GoneError{c.pid, err}
	}
	return hold{p.StartTicks, p.State, cpu}, nil
}

func (before hold) check(pid int, after hold) error {
	if after.start != before.start {
		return &RecycledError{pid, before.start, after.start}
	}
	if after.cpu != before.cpu {
		return &NotHeldError{pid, string(after.state), 1, after.cpu - before.cpu}
	}
	return nil
}

const (
	// readTries bounds how often Read repeats to get the process clock and the
	// group close together, which fails when the reader loses its CPU between.
	readTries = 8
	// closeEnough ends that: reading a group of a hundred threads takes less.
	closeEnough = 100_000
	// tornTries and tornPause bound how long Read waits for a thread that is
	// being born or is ending: the kernel adds or removes its events one by
	// one, and meanwhile refuses to sum the group (ECHILD). The thread may have
	// lost its CPU just then.
	tornTries = 500
	tornPause = time.Millisecond
)

// Read takes an absolute reading. Only differences mean something: Since.
func (c *Counter) Read() (Reading, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return Reading{}, fmt.Errorf("read the counter of pid %d: %w", c.pid, os.ErrClosed)
	}
	r := Reading{Metric: c.metric, Pid: c.pid, RidersMissing: c.ridersMissing, ChildrenCounted: c.children}
	if err := c.identify(&r); err != nil {
		return Reading{}, err
	}
	for try, torn := 0, 0; try < readTries; {
		next := r
		err := c.counts(&next)
		if errors.Is(err, unix.ECHILD) && torn < tornTries {
			torn++
			time.Sleep(tornPause)
			continue
		}
		if err != nil {
			return Reading{}, err
		}
		if try == 0 || next.CPUSkewNanoseconds < r.CPUSkewNanoseconds {
			r = next
		}
		if r.CPUSkewNanoseconds < closeEnough {
			break
		}
		try++
	}
	if err := c.allowances(&r); err != nil {
		return Reading{}, err
	}
	// Identity last as well: the counts above are of the process named here.
	after := Reading{}
	if err := c.identify(&after); err != nil {
		return Reading{}, err
	}
	if after.Program != r.Program {
		return Reading{}, &ExecError{c.pid, r.Program, after.Program}
	}
	return r, nil
}

// allowances fills in what the clocks of this reading may differ by.
func (c *Counter) allowances(r *Reading) error {
	cpus, err := c.fs.AllowedCPUs(c.pid)
	if err != nil {
		return gone(c.pid, err)
	}
	p, _, err := readProcess(c.fs, c.pid)
	if err != nil {
		return err
	}
	r.CPULagNanoseconds = int64(min(p.Threads, len(cpus))) * c.accounting.tickNanoseconds
	if c.group == nil {
		return nil
	}
	r.Outside, err = outside(c.fs, cpus, c.accounting.interruptsApart)
	return err
}

func (c *Counter) counts(r *Reading) (err error) {
	if r.AtNanoseconds, err = sys.MonotonicNanoseconds(); err != nil {
		return err
	}
	if r.CPUNanoseconds, err = sys.ProcessCPUClock(c.pid); err != nil {
		return &GoneError{c.pid, err}
	}
	if c.group == nil {
		return nil
	}
	if r.Group, err = c.group.read(); err != nil {
		return err
	}
	after, err := sys.ProcessCPUClock(c.pid)
	if err != nil {
		return &GoneError{c.pid, err}
	}
	if r.CPUSkewNanoseconds = after - r.CPUNanoseconds; r.CPUSkewNanoseconds < 0 {
		return &BackwardsError{c.pid, "the process CPU clock", uint64(r.CPUNanoseconds), uint64(after)}
	}
	return nil
}

// identify fills in which process and program this is, and fails when it is
// not the one that was opened or has ended.
func (c *Counter) identify(r *Reading) error {
	p, stack, err := readProcess(c.fs, c.pid)
	if err != nil {
		return err
	}
	if p.StartTicks != c.start {
		return &RecycledError{c.pid, c.start, p.StartTicks}
	}
	r.StartTicks = p.StartTicks
	if r.Program, err = program(c.fs, c.pid); err != nil {
		return err
	}
	r.Program.StackStart = stack
	return nil
}

// Close closes every descriptor, once; later calls do nothing.
func (c *Counter) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	if c.group == nil {
		return nil
	}
	if err := c.group.close(); err != nil {
		return fmt.Errorf("close the counter of pid %d: %w", c.pid, err)
	}
	return nil
}

func gone(pid int, err error) error {
	if errors.Is(err, iofs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return &GoneError{pid, err}
	}
	return err
}
