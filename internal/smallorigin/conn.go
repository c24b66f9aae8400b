package smallorigin

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// readBuffer is the size of a connection's first buffer, in bytes: any ordinary
// head fits.
const readBuffer = 16 << 10

// lingerFor bounds how long a connection that we end is read until the peer ends
// it too. Closing with unread bytes would reset it, and the reset could overtake
// the answer.
const lingerFor = time.Second

// serve answers the requests of one connection until it ends, and reports
// whether it was the peer that ended it.
func (o *Origin) serve(c net.Conn) (byPeer bool) {
	var (
		f          framer
		buf        = make([]byte, readBuffer)
		start, end int // buf[start:end] is read and not consumed
		begun      bool
	)
	defer func() {
		if begun {
			o.counts.add(func(s *Stats) { s.Active--; s.Aborted++ })
		}
	}()
	for {
		used, ev, r := f.next(buf[start:end])
		start += used
		if r != nil {
			o.refuse(c, r, begun)
			return false
		}
		switch ev {
		case gotHead:
			begun = true
			o.counts.add(func(s *Stats) { s.Requests++; s.Active++ })
			if f.head.wants100 && start == end {
				if _, err := io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
					return true
				}
			}
		case gotBody:
			closing := f.head.close || o.ending.Load()
			if err := o.write(c, f.head, closing); err != nil {
				return true
			}
			begun = false
			o.counts.add(func(s *Stats) { s.Active--; s.Completed++ })
			if closing {
				linger(c)
				return false
			}
		case needMore:
			if start == end {
				start, end = 0, 0
				// Between requests is where the end of the origin ends a connection.
				if o.ending.Load() && !begun && !f.midRequest() {
					return false
				}
			} else if end == len(buf) {
				buf, end = makeRoom(buf, start, end), end-start
				start = 0
			}
			n, err := c.Read(buf[end:])
			end += n
			if n == 0 && err != nil {
				return !o.ending.Load() || errors.Is(err, io.EOF)
			}
		}
	}
}

// makeRoom moves what is left of a full buffer to its front, or to the front of
// one twice as large when nothing was consumed. The framer's limits bound it.
func makeRoom(buf []byte, start, end int) []byte {
	to := buf
	if start == 0 {
		to = make([]byte, 2*len(buf))
	}
	copy(to, buf[start:end])
	return to
}

func (o *Origin) write(c net.Conn, h head, closing bool) error {
	a := o.answers.at(time.Now())
	if closing {
		a = a.closing()
	}
	_, err := c.Write(a.to(h))
	return err
}

func (o *Origin) refuse(c net.Conn, r *refusal, begun bool) {
	if !begun {
		o.counts.add(func(s *Stats) { s.Malformed++ })
	}
	body := r.why + "\n"
	_, err := fmt.Fprintf(c, "HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", r.status, len(body), body)
	if err == nil {
		linger(c)
	}
}

func linger(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		// Errors are the expected end: the peer closed, or the time is over.
		_ = c.SetReadDeadline(time.Now().Add(lingerFor))
		_, _ = io.Copy(io.Discard, c)
	}
}
