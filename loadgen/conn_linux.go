package loadgen

import (
	"syscall"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

type connState uint8

const (
	connDown connState = iota
	connConnecting
	connIdle
	connBusy
)

// conn is a slot for one connection after the other.
type conn struct {
	state    connState
	resent   bool // its request was lost once before
	fd       int
	target   int32
	answers  int64 // complete ones on this connection
	unsent   int   // bytes of the request the kernel has not taken
	intended int64
	started  int64 // of the write, or of the connect
	resp     response

	older, newer int32 // waiting list
}

// send writes a request on an idle connection. Failures come back through
// the same ways as those of answers, so that each request has one end.
func (w *worker) send(i int32, intended, now int64, resent bool) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	c.state = connBusy
	t.idle--
	c.intended, c.started, c.resent = intended, now, resent
	c.unsent = len(t.request)
	c.resp.reset(w.spec.Method == "HEAD")
	w.waitFor(i)
	w.write(i)
}

// write gives the kernel what it has not taken yet of the request.
func (w *worker) write(i int32) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	for c.unsent > 0 {
		n, errno := sys.SocketSend(c.fd, t.request[len(t.request)-c.unsent:])
		switch errno {
		case 0:
			c.unsent -= n
			t.counts.BytesOut += int64(n)
		case unix.EINTR:
		case unix.EAGAIN: // an event says when there is room
			return
		default:
			w.ended(i, errno)
			return
		}
	}
}

// handle serves the events of one connection.
func (w *worker) handle(i int32, events uint32) {
	c := &w.conns[i]
	if c.state == connConnecting {
		if events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
			return
		}
		if errno := sys.SocketError(c.fd); errno != 0 {
			w.connectFailed(i, errno)
			return
		}
		w.connected(i)
	}
	if events&unix.EPOLLOUT != 0 && c.state == connBusy && c.unsent > 0 {
		w.write(i)
	}
	const over = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if events&(unix.EPOLLIN|over) != 0 && c.state >= connIdle {
		w.receive(i, events&over != 0)
	}
}

// receive reads until the socket has nothing. Events are edge-triggered, so
// a read that did not fill the buffer is the last, unless the end of the
// connection is known to be behind it.
func (w *worker) receive(i int32, toTheEnd bool) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	for {
		n, errno := sys.SocketReceive(c.fd, w.buf)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return
		case errno != 0 || n == 0:
			w.ended(i, errno)
			return
		}
		t.counts.BytesIn += int64(n)
		if c.state == connIdle {
			t.counts.Unsolicited++
			w.close(i)
			return
		}
		took, done, err := c.resp.feed(w.buf[:n])
		switch {
		case err != nil || done && took < n:
			w.fail(i, &t.counts.FailedBy.Framing)
			w.close(i)
			return
		case done:
			w.answered(i)
			if c.state == connDown {
				return
			}
		}
		if n < len(w.buf) && !toTheEnd {
			return
		}
	}
}

// answered judges a complete answer and frees its connection.
func (w *worker) answered(i int32) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	c.answers++
	switch {
	case c.resp.status != w.spec.Expect.Status:
		w.fail(i, &t.counts.FailedBy.Status)
	case w.spec.Expect.BodyBytes != 0 && c.resp.bodyBytes != w.spec.Expect.BodyBytes && !c.resp.noBody:
		w.fail(i, &t.counts.FailedBy.Body)
	default:
		now := w.clock.now()
		record(t.response, now-c.intended)
		record(t.service, now-c.started)
		t.counts.Completed++
		t.counts.BodyBytes += c.resp.bodyBytes
		w.settle(i)
	}
	if !c.resp.keepAlive {
		t.counts.ConnectionsClosed++
		w.close(i)
	} else if c.unsent > 0 { // answered before it was asked: nothing can follow
		w.close(i)
	}
}

// ended is the end of a connection from the other side: in order when errno
// is 0.
func (w *worker) ended(i int32, errno syscall.Errno) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	if c.state == connBusy {
		switch {
		case errno == 0 && c.resp.end() == nil:
			w.answered(i) // closes
			return
		case c.resp.started() || c.answers == 0:
			w.fail(i, &t.counts.FailedBy.Closed)
		case c.resent:
			w.fail(i, &t.counts.FailedBy.Lost)
		default:
			w.lost = append(w.lost, lostRequest{c.target, c.intended}) // within its capacity
			w.unlink(i)
			c.state = connIdle
			t.idle++
		}
	}
	t.counts.ConnectionsClosed++
	w.close(i)
}

// resendLost writes each lost request once more, on a connection that was
// still open after all events of this round.
func (w *worker) resendLost() {
	for k := 0; k < len(w.lost); k++ {
		r := w.lost[k]
		t := &w.targets[r.target]
		i := t.pick(w.conns)
		if i < 0 {
			t.counts.Failed++
			t.counts.FailedBy.Lost++
			t.inFlight--
			w.inFlight--
			continue
		}
		t.counts.Resent++
		w.send(i, r.intended, w.clock.now(), true)
	}
	w.lost = w.lost[:0]
}

// fail ends the request of a busy connection as failed in one class.
func (w *worker) fail(i int32, class *int64) {
	*class++
	w.targets[w.conns[i].target].counts.Failed++
	w.settle(i)
}

// settle makes a busy connection idle: its request has ended.
func (w *worker) settle(i int32) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	w.unlink(i)
	c.state = connIdle
	t.idle++
	t.inFlight--
	w.inFlight--
}

// close gives up an idle connection; its slot waits to be opened again.
func (w *worker) close(i int32) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	sys.SocketClose(c.fd)
	c.state, c.fd = connDown, -1
	t.idle--
	t.open--
	t.putDown(i)
}

// expire fails what has waited for longer than the time-out.
func (w *worker) expire(now int64) {
	for w.oldest >= 0 && w.conns[w.oldest].started+int64(w.spec.Timeout) <= now {
		i := w.oldest
		if c := &w.conns[i]; c.state == connConnecting {
			w.connectFailed(i, unix.ETIMEDOUT)
		} else {
			w.fail(i, &w.targets[c.target].counts.FailedBy.Timeout)
			w.close(i)
		}
	}
}

func (w *worker) nextExpiry() int64 {
	if w.oldest < 0 {
		return never
	}
	return w.conns[w.oldest].started + int64(w.spec.Timeout)
}

const never = 1<<63 - 1

// abandon counts what is unanswered at the end of a window and closes its
// connections, so that no late answer reaches the next window.
func (w *worker) abandon() {
	for i := range w.conns {
		if c := &w.conns[i]; c.state == connBusy {
			w.targets[c.target].counts.InFlightAtEnd++
			w.settle(int32(i))
			w.close(int32(i))
		}
	}
}

func (w *worker) waitFor(i int32) {
	c := &w.conns[i]
	c.older, c.newer = w.newest, -1
	if w.newest >= 0 {
		w.conns[w.newest].newer = i
	} else {
		w.oldest = i
	}
	w.newest = i
}

func (w *worker) unlink(i int32) {
	c := &w.conns[i]
	if c.older >= 0 {
		w.conns[c.older].newer = c.newer
	} else {
		w.oldest = c.newer
	}
	if c.newer >= 0 {
		w.conns[c.newer].older = c.older
	} else {
		w.newest = c.older
	}
}
