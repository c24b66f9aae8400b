package loadgen

import (
	"syscall"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

type connState uint8

const (
	connDown        connState = iota
	connConnecting            // TCP
	connHandshaking           // TLS: the descriptor is with the handshaker
	connGreeting              // HTTP/2: until the peer's first SETTINGS
	connOpen
	connClosing // takes no new request, and is closed after its last one
)

// conn is a slot for one connection after the other. It is a wire (the plain
// socket, or TLS over it) and a protocol on the wire (HTTP/1.1, or HTTP/2).
type conn struct {
	state    connState
	ready    bool // in its target's ready set
	dirty    bool // in worker.dirty
	fd       int
	target   int32
	first    int32 // its requests are worker.requests[first : first+depth]
	freeSlot int32 // list of free ones, with HTTP/2
	active   int32 // requests on it
	limit    int32 // requests it may have on it
	life     int64 // requests it may still take
	lived    bool  // it is not the first in its slot
	answers  int64 // complete ones
	carried  int64 // answers in this window, on all connections of the slot
	tls      *tlsConn
	h2       *h2Conn // nil = HTTP/1.1
	h1       h1Conn

	cipherIn, cipherOut int64 // what is counted already of its TLS bytes
	before, after       int32 // list of ready connections
}

// handle serves the events of one connection.
func (w *worker) handle(i int32, events uint32) {
	c := &w.conns[i]
	if c.state == connConnecting {
		if events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) == 0 {
			return
		}
		if errno := sys.SocketError(c.fd); errno != 0 {
			w.connectFailed(i, &connectFailure{target: int(c.target), errno: errno})
			return
		}
		w.connected(i)
	}
	if events&unix.EPOLLOUT != 0 && c.state >= connGreeting {
		w.flush(i)
	}
	const over = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if events&(unix.EPOLLIN|over) != 0 && c.state >= connGreeting {
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
		n, more, errno := w.wireReceive(c)
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
		if c.h2 != nil {
			if err := c.h2.feed(w, i, w.buf[:n]); err != nil {
				w.broken(i, err)
				return
			}
			w.markDirty(i)
		} else if !w.h1Feed(i, w.buf[:n]) {
			return
		}
		if w.closedUntil != 0 {
			w.refill(t)
			if c.state == connDown {
				return
			}
		}
		if c.active == 0 && (c.state == connClosing || c.life == 0) {
			w.finish(i)
			return
		}
		if !more && !toTheEnd {
			return
		}
	}
}

// ended is the end of a connection from the other side: in order when errno
// is 0.
func (w *worker) ended(i int32, errno syscall.Errno) {
	c := &w.conns[i]
	if c.state == connGreeting { // it came to nothing
		if errno == 0 {
			errno = unix.ECONNRESET
		}
		w.connectFailed(i, &connectFailure{target: int(c.target), errno: errno})
		return
	}
	if c.active > 0 {
		if c.h2 != nil {
			c.h2.ended(w, i, errno)
		} else {
			w.h1Ended(i, errno)
		}
	}
	if c.state == connOpen { // one that is closing is counted already
		w.targets[c.target].counts.ConnectionsClosed++
	}
	w.close(i)
}

// broken is the end of an HTTP/2 connection on which the peer broke the
// protocol.
func (w *worker) broken(i int32, err error) {
	c := &w.conns[i]
	if c.state == connGreeting {
		w.connectFailed(i, &connectFailure{target: int(c.target), err: err})
		return
	}
	w.targets[c.target].counts.ProtocolErrors++
	if c.active > 0 {
		c.h2.ended(w, i, 0)
	}
	w.close(i)
}

// retire takes no new request to a connection, which is closed after its
// last one and replaced.
func (w *worker) retire(i int32) {
	c := &w.conns[i]
	switch c.state {
	case connOpen:
		c.state = connClosing
		w.targets[c.target].counts.ConnectionsClosed++
		w.refresh(i)
	case connGreeting: // the first SETTINGS never came
		c.limit = 0
	}
}

// finish closes a connection that has no request and shall have none:
// because the other side asked, or because its life is over.
func (w *worker) finish(i int32) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	if c.life == 0 && c.state == connOpen {
		t.counts.ConnectionsChurned++
		t.urgent++ // replaced at once
	}
	if c.h2 != nil {
		c.h2.farewell()
		w.flush(i)
		if c.state == connDown { // it was closed while it said so
			return
		}
	}
	w.close(i)
}

// close gives up a connection without requests; its slot waits to be opened
// again.
func (w *worker) close(i int32) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	w.closeWire(c)
	c.state, c.limit = connDown, 0
	w.refresh(i)
	t.open--
	t.putDown(i)
}

func (w *worker) closeWire(c *conn) {
	if c.tls != nil {
		c.tls.close()
		w.countCipherBytes(c)
		c.tls = nil
	}
	if c.fd >= 0 {
		sys.SocketClose(c.fd)
		c.fd = -1
	}
}

// setLimit says how many requests connection i may have on it.
func (w *worker) setLimit(i int32, n int64) {
	w.conns[i].limit = int32(min(max(n, 0), int64(w.depth)))
	w.refresh(i)
}

// refresh keeps the set of connections that can take a request.
func (w *worker) refresh(i int32) {
	c := &w.conns[i]
	can := c.state == connOpen && c.active < c.limit && c.life > 0
	if can == c.ready {
		return
	}
	c.ready = can
	t := &w.targets[c.target]
	if can {
		t.ready.add(w.conns, i)
	} else {
		t.ready.remove(w.conns, i)
	}
}
