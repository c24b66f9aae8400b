package loadgen

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

const (
	firstBackoff = int64(10 * time.Millisecond)
	lastBackoff  = int64(500 * time.Millisecond)
)

type connectFailure struct {
	target int
	errno  syscall.Errno
}

func (e *connectFailure) Error() string { return e.errno.Error() }
func (e *connectFailure) Unwrap() error { return e.errno }

var (
	errConnectDeadline = errors.New("the deadline passed")
	errInterrupted     = errors.New("interrupted")
)

// reopen opens at most one connection of each target that has one down and
// whose turn it is, and returns when the next turn is. One at a time keeps
// the arrivals that come due meanwhile from waiting for long.
func (w *worker) reopen(now int64) int64 {
	next := int64(never)
	for k := range w.targets {
		t := &w.targets[k]
		if t.downCount == 0 || !t.wanted {
			continue
		}
		if t.nextOpen <= now {
			w.open(t.takeDown(), now)
			if t.downCount == 0 {
				continue
			}
		}
		next = min(next, t.nextOpen)
	}
	return next
}

// open starts to connect a slot that is down.
func (w *worker) open(i int32, now int64) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	t.nextOpen = now + w.openInterval()
	fd, err := sys.ConnectStart(&t.address)
	if err == nil {
		const events = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
		if err = sys.EpollAdd(w.epfd, fd, events, i); err != nil {
			sys.SocketClose(fd)
		}
	}
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno) // both calls give nothing else
		w.openFailed(i, errno)
		return
	}
	c.fd, c.state, c.started, c.answers = fd, connConnecting, now, 0
	w.waitFor(i)
}

// openInterval shares the connect rate among workers and targets.
func (w *worker) openInterval() int64 {
	return int64(float64(time.Second) / w.spec.ConnectRate * float64(w.spec.Workers*len(w.targets)))
}

func (w *worker) connected(i int32) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	w.unlink(i)
	c.state = connIdle
	c.resp.reset(false)
	t.idle++
	t.open++
	t.counts.ConnectionsOpened++
	t.backoff = 0
}

func (w *worker) connectFailed(i int32, errno syscall.Errno) {
	c := &w.conns[i]
	w.unlink(i)
	sys.SocketClose(c.fd)
	c.state, c.fd = connDown, -1
	w.openFailed(i, errno)
}

func (w *worker) openFailed(i int32, errno syscall.Errno) {
	t := &w.targets[w.conns[i].target]
	t.counts.ConnectFailures++
	t.backoff = min(max(2*t.backoff, firstBackoff), lastBackoff)
	t.nextOpen = w.clock.now() + t.backoff
	t.putDown(i)
	if w.connectErr == nil && w.filling && t.wanted {
		w.connectErr = &connectFailure{int(w.conns[i].target), errno}
	}
}

func (t *workerTarget) putDown(i int32) {
	t.down[(t.downHead+t.downCount)%t.size] = i
	t.downCount++
}

func (t *workerTarget) takeDown() int32 {
	i := t.down[t.downHead]
	t.downHead = (t.downHead + 1) % t.size
	t.downCount--
	return i
}

// fill opens every connection of the job's targets that is not open, after
// it has seen what happened to the others while the worker slept. The first
// attempt that fails ends it.
func (w *worker) fill(j job) error {
	w.connectErr, w.filling = nil, true
	defer func() { w.filling = false }()
	for w.drainEvents() {
	}
	for k := range w.targets {
		w.targets[k].wanted = false
	}
	for _, k := range j.targets {
		t := &w.targets[k]
		t.wanted, t.backoff, t.nextOpen = true, 0, 0
	}
	for {
		now := w.clock.now()
		missing := -1
		for _, k := range j.targets {
			if w.targets[k].open < w.targets[k].size {
				missing = k
				break
			}
		}
		switch {
		case w.connectErr != nil:
			return w.connectErr
		case missing < 0:
			return nil
		case w.interrupted:
			return &fillStopped{missing, errInterrupted}
		case now >= j.deadline:
			return &fillStopped{missing, errConnectDeadline}
		}
		w.expire(now)
		w.poll(min(j.deadline, w.reopen(now), w.nextExpiry()), now)
	}
}

// fillStopped is the end of a fill for lack of time.
type fillStopped struct {
	target int
	err    error
}

func (e *fillStopped) Error() string { return e.err.Error() }
func (e *fillStopped) Unwrap() error { return e.err }

// drainEvents serves events that are there already; it tells whether there
// may be more.
func (w *worker) drainEvents() bool {
	n, errno := sys.EpollPoll(w.epfd, w.events)
	if errno != 0 {
		return false
	}
	for _, e := range w.events[:n] {
		switch {
		case e.Fd == wakeToken:
			w.interrupted = w.interrupt.Load()
		case e.Fd >= 0:
			w.handle(e.Fd, e.Events)
		}
	}
	return n == len(w.events)
}

// clear starts the statistics of a new window: what happened since the last
// one is kept apart.
func (w *worker) clear() {
	for k := range w.targets {
		t := &w.targets[k]
		if !t.wanted {
			continue // what happens to it is reported by its next window
		}
		t.counts = Counts{
			ConnectionsBefore:       t.counts.ConnectionsOpened - t.openedAtEnd,
			ConnectionsClosedBefore: t.counts.ConnectionsClosed - t.closedAtEnd,
		}
		t.openedAtEnd, t.closedAtEnd = 0, 0
		t.response.Reset()
		t.service.Reset()
	}
	lateness := w.stats.lateness
	lateness.Reset()
	w.stats = workerStats{lateness: lateness}
}

// closeAll closes every descriptor of the worker.
func (w *worker) closeAll() {
	for i := range w.conns {
		if w.conns[i].fd >= 0 {
			sys.SocketClose(w.conns[i].fd)
		}
	}
	for _, fd := range []int{w.epfd, w.wakefd, w.timerfd} {
		if fd >= 0 {
			sys.SocketClose(fd)
		}
	}
}

// resolveTarget finds the address of a target, once.
func resolveTarget(ctx context.Context, t Target, want int) (sys.SocketAddress, error) {
	a, err := lookup(ctx, t.Address)
	if err != nil {
		return sys.SocketAddress{}, &ConnectError{Class: ConnectResolve, Target: t, Want: want, Err: err}
	}
	return sys.NewSocketAddress(a), nil
}

// connectClass names what an errno of connect means.
func connectClass(errno syscall.Errno) ConnectClass {
	switch errno {
	case unix.ECONNREFUSED:
		return ConnectRefused
	case unix.EADDRNOTAVAIL:
		return ConnectPorts
	case unix.EMFILE, unix.ENFILE:
		return ConnectFiles
	case unix.ETIMEDOUT:
		return ConnectTimeout
	}
	return ConnectOther
}
