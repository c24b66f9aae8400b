package loadgen

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

// tlsSocket is a non-blocking socket as a net.Conn for crypto/tls.
//
// It never hands out bytes of more than one record in one Read, so that what
// crypto/tls has read is known to the record, and what it has not read can be
// taken over.
type tlsSocket struct {
	fd int
	// pause suspends the handshake until something has happened to the socket;
	// false: it is to be given up. It is nil after the handshake: then a Read
	// that finds nothing returns errAgain, upon which a tls.Conn keeps what it
	// has and may be called again.
	pause func() bool

	in   []byte // received and not handed out yet
	left int    // bytes of the current record that are not handed out yet
	over bool   // the peer's end has come
	full bool   // the last receive took as much as it could: there may be more
	// The first bytes each way, with the hello and its random.
	firstIn, firstOut   [helloRandomEnd]byte
	firstRead, firstPut int

	records uint64 // whose first bytes were handed out
	wrote   bool   // since it was last set to false
	unsent  []byte // what the kernel did not take after the handshake

	bytesIn, bytesOut int64
}

// errAgain is a net.Error which says that the socket has nothing now.
var errAgain net.Error = againError{}

type againError struct{}

func (againError) Error() string   { return "nothing to read now" }
func (againError) Timeout() bool   { return true }
func (againError) Temporary() bool { return true }

var errHandshakeStopped = errors.New("the handshake was given up")

// Read is of net.Conn.
func (s *tlsSocket) Read(p []byte) (int, error) {
	for {
		if s.left == 0 && len(s.in) >= recordHeader {
			s.left = recordHeader + int(binary.BigEndian.Uint16(s.in[3:]))
			s.records++
		}
		if s.left > 0 && len(s.in) > 0 {
			n := copy(p[:min(len(p), s.left)], s.in)
			s.in = s.in[n:]
			s.left -= n
			return n, nil
		}
		if err := s.receive(); err != nil {
			return 0, err
		}
	}
}

// receive waits for bytes and appends them to in.
func (s *tlsSocket) receive() error {
	const room = 4 << 10
	s.in = slices.Grow(s.in, room)
	for {
		n, errno := sys.SocketReceive(s.fd, s.in[len(s.in):cap(s.in)])
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			if s.pause == nil {
				return errAgain
			}
			if !s.pause() {
				return errHandshakeStopped
			}
		case errno != 0:
			return errno
		case n == 0:
			s.over = true
			return io.EOF
		default:
			s.full = n == cap(s.in)-len(s.in)
			s.in = s.in[:len(s.in)+n]
			s.bytesIn += int64(n)
			s.firstRead += copy(s.firstIn[s.firstRead:], s.in[len(s.in)-n:])
			return nil
		}
	}
}

const helloRandomEnd = recordHeader + 4 + 2 + 32

// helloRandom is the random of the hello in the first bytes of one side; nil
// when they are something else.
func helloRandom(first []byte) []byte {
	const clientHello, serverHello = 1, 2
	if kind := first[recordHeader]; first[0] != recordHandshake || kind != clientHello && kind != serverHello {
		return nil
	}
	return first[helloRandomEnd-32:]
}

// Write is of net.Conn. After the handshake it takes all of p and keeps what
// the kernel does not take.
func (s *tlsSocket) Write(p []byte) (int, error) {
	s.wrote = true
	s.firstPut += copy(s.firstOut[s.firstPut:], p)
	for rest := p; ; {
		if s.pause == nil {
			if err := s.send(rest); err != nil {
				return 0, err
			}
			return len(p), nil
		}
		n, errno := sys.SocketSend(s.fd, rest)
		switch errno {
		case 0:
			s.bytesOut += int64(n)
			if rest = rest[n:]; len(rest) == 0 {
				return len(p), nil
			}
		case unix.EINTR:
		case unix.EAGAIN:
			if !s.pause() {
				return 0, errHandshakeStopped
			}
		default:
			return 0, errno
		}
	}
}

// send gives b to the kernel behind what is unsent.
func (s *tlsSocket) send(b []byte) error {
	if len(s.unsent) > 0 {
		s.unsent = append(s.unsent, b...)
		return s.flush()
	}
	for len(b) > 0 {
		n, errno := sys.SocketSend(s.fd, b)
		switch errno {
		case 0:
			b = b[n:]
			s.bytesOut += int64(n)
		case unix.EINTR:
		case unix.EAGAIN: // an event says when there is room
			s.unsent = append(s.unsent[:0], b...)
			return nil
		default:
			return errno
		}
	}
	return nil
}

// flush sends what is unsent, as far as there is room.
func (s *tlsSocket) flush() error {
	for len(s.unsent) > 0 {
		n, errno := sys.SocketSend(s.fd, s.unsent)
		switch errno {
		case 0:
			s.bytesOut += int64(n)
			s.unsent = s.unsent[:copy(s.unsent, s.unsent[n:])]
		case unix.EINTR:
		case unix.EAGAIN:
			return nil
		default:
			return errno
		}
	}
	return nil
}

// Close is of net.Conn. The descriptor is the worker's to close.
func (s *tlsSocket) Close() error { return nil }

// LocalAddr is of net.Conn.
func (s *tlsSocket) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr is of net.Conn.
func (s *tlsSocket) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline is of net.Conn; the worker watches the time.
func (s *tlsSocket) SetDeadline(time.Time) error { return nil }

// SetReadDeadline is of net.Conn.
func (s *tlsSocket) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline is of net.Conn.
func (s *tlsSocket) SetWriteDeadline(time.Time) error { return nil }
