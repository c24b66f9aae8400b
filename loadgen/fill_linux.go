package loadgen

import (
	"errors"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/tareperf/tare/internal/sys"
)

var (
	errConnectDeadline = errors.New("the deadline passed")
	errInterrupted     = errors.New("interrupted")
)

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
			w.woken()
		case e.Fd >= 0:
			w.handle(e.Fd, e.Events)
		}
	}
	w.flushDirty()
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
			ConnectionsBefore:       t.counts.ConnectionsOpened - t.atEnd.ConnectionsOpened,
			ConnectionsClosedBefore: t.counts.ConnectionsClosed - t.atEnd.ConnectionsClosed,
			HandshakesFullBefore:    t.counts.HandshakesFull - t.atEnd.HandshakesFull,
			HandshakesResumedBefore: t.counts.HandshakesResumed - t.atEnd.HandshakesResumed,
		}
		t.atEnd, t.warm = Counts{}, Counts{}
		for _, h := range []*hdrhistogram.Histogram{t.response, t.service, t.queued, t.handshake} {
			if h != nil {
				h.Reset()
			}
		}
	}
	for i := range w.conns {
		w.conns[i].carried = 0
	}
	lateness := w.stats.lateness
	lateness.Reset()
	w.stats = workerStats{lateness: lateness}
}

// closeAll closes every descriptor of the worker.
func (w *worker) closeAll() {
	if w.tls != nil {
		w.tls.stop()
	}
	for i := range w.conns {
		w.closeWire(&w.conns[i])
	}
	for _, fd := range []int{w.epfd, w.wakefd, w.timerfd} {
		if fd >= 0 {
			sys.SocketClose(fd)
		}
	}
}
