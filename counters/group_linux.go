package counters

import (
	"errors"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/sys"
)

// group is an open perf event group. It is the only owner of its descriptors.
type group struct {
	pid      int
	fds      []int // leader first; nil once closed
	ids      []uint64
	events   []Event
	children bool // inheritance could not be limited to threads
}

// openGroup opens the events of a metric on the thread tid (0 is the calling
// one) and everything it will create. The group is disabled.
func openGroup(m Metric, tid int) (*group, error) {
	g, err := openEvents(tid, groupSpec(m, inheritThreads))
	if errors.Is(err, unix.EINVAL) {
		// Either a kernel before 5.13, or something that fails again.
		if old, oldErr := openEvents(tid, groupSpec(m, inheritAll)); oldErr == nil {
			old.children = true
			return old, nil
		}
	}
	return g, err
}

// openEvents opens all events as one group or none. Its errors are OpenErrors
// without a hint.
func openEvents(tid int, events []eventSpec) (*group, error) {
	g := &group{pid: tid}
	leader := -1
	for _, e := range events {
		attr := e.attr
		fd, err := sys.PerfEventOpen(&attr, tid, -1, leader)
		if errors.Is(err, unix.EMFILE) {
			if raised, _ := sys.RaiseFileLimit(); raised {
				fd, err = sys.PerfEventOpen(&attr, tid, -1, leader)
			}
		}
		var id uint64
		if err == nil {
			g.fds = append(g.fds, fd)
			id, err = sys.PerfEventID(fd)
		}
		if err != nil {
			g.close()
			var errno syscall.Errno
			errors.As(err, &errno)
			return nil, &OpenError{Event: e.name, Pid: tid, Errno: errno}
		}
		if leader == -1 {
			leader = fd
		}
		g.ids = append(g.ids, id)
		g.events = append(g.events, e.name)
	}
	return g, nil
}

func (g *group) enable() error { return sys.PerfEventEnable(g.fds[0]) }

// read reads all counts in one system call and checks that they are the ones
// that were opened.
func (g *group) read() (*Group, error) {
	raw, err := sys.PerfEventReadGroup(g.fds[0], len(g.fds))
	return g.decode(raw, err)
}

func (g *group) decode(raw sys.PerfGroup, err error) (*Group, error) {
	switch {
	case errors.Is(err, io.EOF):
		return nil, &EndOfFileError{g.pid}
	case errors.Is(err, sys.ErrPerfFormat), errors.Is(err, unix.ECHILD), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EBADF):
		return nil, &GroupChangedError{Pid: g.pid, Want: g.ids, Cause: err}
	case err != nil:
		return nil, err
	}
	out := &Group{
		EnabledNanoseconds: raw.EnabledNanoseconds,
		RunningNanoseconds: raw.RunningNanoseconds,
		Counts:             make([]Count, len(raw.Values)),
	}
	same := len(raw.Values) == len(g.ids)
	for i, v := range raw.Values {
		out.Counts[i] = Count{ID: v.ID, Value: v.Value}
		if same = same && v.ID == g.ids[i]; same {
			out.Counts[i].Event = g.events[i]
		}
	}
	if !same {
		return nil, &GroupChangedError{Pid: g.pid, Want: g.ids, Got: out.ids()}
	}
	return out, nil
}

// close closes each descriptor once, members before their leader.
func (g *group) close() error {
	var errs []error
	for i := len(g.fds) - 1; i >= 0; i-- {
		errs = append(errs, sys.Close(g.fds[i]))
	}
	g.fds = nil
	return errors.Join(errs...)
}
