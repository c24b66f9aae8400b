package loadgen

import (
	"syscall"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

// A wire is what a connection is written to and read from: the difference
// between plain and TLS is here and nowhere else.

// wireSend writes b. TLS takes all of it and keeps what the kernel does not
// take.
func (w *worker) wireSend(c *conn, b []byte) (int, syscall.Errno) {
	if c.tls != nil {
		return c.tls.send(b)
	}
	return sys.SocketSend(c.fd, b)
}

// wireReceive reads into the worker's buffer; more tells that another read
// may find something.
func (w *worker) wireReceive(c *conn) (n int, more bool, errno syscall.Errno) {
	if c.tls != nil {
		return c.tls.receive(w.buf)
	}
	n, errno = sys.SocketReceive(c.fd, w.buf)
	return n, n == len(w.buf), errno
}

// flush gives the kernel what it has not taken yet. Failures come back
// through the same ways as those of answers, so that each request has one
// end.
func (w *worker) flush(i int32) {
	c := &w.conns[i]
	if c.tls != nil && c.tls.pending() {
		switch errno := c.tls.flush(); errno {
		case 0:
		case unix.EAGAIN: // an event says when there is room
			return
		default:
			w.ended(i, errno)
			return
		}
	}
	for {
		out := w.output(c)
		if len(out) == 0 {
			return
		}
		n, errno := w.wireSend(c, out)
		switch errno {
		case 0:
			w.targets[c.target].counts.BytesOut += int64(n)
			if c.h2 != nil {
				c.h2.wrote(n)
			} else {
				c.h1.out = out[n:]
			}
			if c.tls != nil && c.tls.pending() {
				return
			}
		case unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			w.ended(i, errno)
			return
		}
	}
}

// output is what the protocol wants written next.
func (w *worker) output(c *conn) []byte {
	if c.h2 != nil {
		return c.h2.output()
	}
	return w.h1Output(c)
}

// markDirty remembers to flush a connection after this round, so that what a
// round adds to it goes out in one write.
func (w *worker) markDirty(i int32) {
	if c := &w.conns[i]; !c.dirty {
		c.dirty = true
		w.dirty = append(w.dirty, i) // within its capacity
	}
}

func (w *worker) flushDirty() {
	for k := 0; k < len(w.dirty); k++ {
		i := w.dirty[k]
		c := &w.conns[i]
		c.dirty = false
		if c.state >= connGreeting {
			w.flush(i)
		}
	}
	w.dirty = w.dirty[:0]
}

// countCipherBytes takes over what TLS has sent and received since it was
// asked last.
func (w *worker) countCipherBytes(c *conn) {
	if c.tls == nil {
		return
	}
	t := &w.targets[c.target]
	in, out := c.tls.wireIn(), c.tls.wireOut()
	t.counts.TLSBytesIn += in - c.cipherIn
	t.counts.TLSBytesOut += out - c.cipherOut
	c.cipherIn, c.cipherOut = in, out
}
