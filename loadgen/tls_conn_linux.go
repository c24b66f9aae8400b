package loadgen

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"syscall"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

// tlsConn is a connection whose handshake is over. Its methods look like the
// calls on a socket, and belong to one worker.
//
// Records are protected by our own keys where the suite is AES-GCM: always for
// what is sent, and for what is received from the first answer on. Until then
// crypto/tls reads, because only it can make a session of the tickets that
// TLS 1.3 sends behind the handshake.
type tlsConn struct {
	socket   *tlsSocket
	std      *tls.Conn // nil once nothing is read through it any more
	own      bool      // this suite is ours
	in, out  recordKeys
	sealed   []byte  // where records are made, shared
	partial  []byte  // the beginning of a record that has not come whole
	skip     int     // bytes of a handshake message that is being passed over
	message  [5]byte // the beginning of one that has not come whole
	have     int     // of message
	end      syscall.Errno
	over     bool // nothing more will be received, because of end
	protocol string
	resumed  bool
	version  uint16
	suite    uint16
}

// newTLSConn takes over a connection from crypto/tls, whose secrets are known.
// sealed is memory for a record, which all connections of a worker share.
func newTLSConn(std *tls.Conn, socket *tlsSocket, secrets *tlsSecrets, resume bool, sealed []byte) (*tlsConn, error) {
	state := std.ConnectionState()
	c := &tlsConn{
		socket: socket, std: std, protocol: state.NegotiatedProtocol, resumed: state.DidResume,
		version: state.Version, suite: state.CipherSuite, sealed: sealed,
	}
	socket.pause = nil
	socket.records, socket.wrote = 0, false
	suite, ours := recordSuites[state.CipherSuite]
	if !ours || socket.left != 0 {
		return c, nil
	}
	var err error
	switch state.Version {
	case tls.VersionTLS13:
		if c.out, err = trafficKeys(suite, secrets.client); err == nil {
			c.in, err = trafficKeys(suite, secrets.server)
		}
		c.own = true
	case tls.VersionTLS12:
		client, server := helloRandom(socket.firstOut[:]), helloRandom(socket.firstIn[:])
		if client == nil || server == nil || secrets.master == nil {
			return c, nil
		}
		c.out, c.in, err = masterKeys(suite, secrets.master, client, server)
		c.own, resume = true, false // its ticket came with the handshake
	}
	if err != nil {
		return nil, err
	}
	if c.own && !resume {
		c.takeOver()
	}
	return c, nil
}

// takeOver ends the reading through crypto/tls.
func (c *tlsConn) takeOver() {
	c.in.seq += c.socket.records
	c.partial, c.socket.in = c.socket.in, nil
	c.std = nil
}

// send takes all of b, unless there is an errno. What the socket has no room
// for is pending.
func (c *tlsConn) send(b []byte) (n int, errno syscall.Errno) {
	if !c.own {
		n, err := c.std.Write(b)
		return n, errnoOf(err)
	}
	for n < len(b) {
		part := b[n:min(n+maxPlaintext, len(b))]
		if errno = c.write(recordApplication, part); errno != 0 {
			return n, errno
		}
		n += len(part)
	}
	return n, 0
}

func (c *tlsConn) write(t recordType, b []byte) syscall.Errno {
	return errnoOf(c.socket.send(c.out.seal(c.sealed[:0], t, b)))
}

// pending tells whether flush is to be called when the socket has room.
func (c *tlsConn) pending() bool { return len(c.socket.unsent) > 0 }

// wireIn and wireOut are the bytes on the wire so far, with the handshake.
func (c *tlsConn) wireIn() int64  { return c.socket.bytesIn }
func (c *tlsConn) wireOut() int64 { return c.socket.bytesOut }

func (c *tlsConn) flush() syscall.Errno { return errnoOf(c.socket.flush()) }

// receive puts what was sent to us into buf, which has at least maxRecord
// bytes. EAGAIN says that the socket has nothing now, though it may have had
// records without text; 0 bytes without an errno is the end in order. more
// tells that it may have more.
func (c *tlsConn) receive(buf []byte) (n int, more bool, errno syscall.Errno) {
	if c.std != nil {
		return c.receiveStd(buf)
	}
	for {
		if c.over {
			return 0, false, c.end
		}
		have := copy(buf, c.partial)
		got, errno := 0, syscall.Errno(0)
		if len(c.partial) == 0 || !wholeRecord(c.partial) { // it is whole right behind a take-over
			got, errno = sys.SocketReceive(c.socket.fd, buf[have:])
		}
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return 0, false, errno
		case got == 0 && !wholeRecord(c.partial):
			return 0, false, unix.ECONNRESET // an end that is not announced
		}
		c.socket.bytesIn += int64(got)
		more = have+got == len(buf) || got == 0
		n = c.open(buf[:have+got])
		if n > 0 {
			return n, more || c.over, 0
		}
		if !c.over && !more {
			return 0, false, unix.EAGAIN
		}
	}
}

func wholeRecord(b []byte) bool {
	return len(b) >= recordHeader && len(b) >= recordHeader+int(binary.BigEndian.Uint16(b[3:]))
}

// open replaces the records in b by their text and keeps what is no whole
// record for the next time.
func (c *tlsConn) open(b []byte) (n int) {
	rest := b
	for !c.over && wholeRecord(rest) {
		size := recordHeader + int(binary.BigEndian.Uint16(rest[3:]))
		t, plain, err := c.in.open(rest[:size])
		rest = rest[size:]
		switch {
		case err != nil:
			c.fail()
		case t == recordApplication && c.skip == 0 && c.have == 0:
			n += copy(b[n:], plain) // what is written lies before what is read next
		case t == recordAlert:
			c.alert(plain)
		case t == recordHandshake:
			c.handshake(plain)
		default:
			c.fail()
		}
	}
	if len(rest) >= recordHeader && recordHeader+int(binary.BigEndian.Uint16(rest[3:])) > maxRecord {
		c.fail()
	}
	c.partial = append(c.partial[:0], rest...)
	return n
}

// fail ends the connection for what the peer did.
func (c *tlsConn) fail() { c.over, c.end = true, unix.EPROTO }

func (c *tlsConn) alert(b []byte) {
	const warning, closeNotify, userCanceled = 1, 0, 90
	switch {
	case len(b) != 2:
		c.fail()
	case b[1] == closeNotify:
		c.over = true
	case b[1] == userCanceled, !c.in.tls13 && b[0] == warning:
	default:
		c.fail()
	}
}

// handshake serves the messages that may come behind a handshake. Tickets
// behind the first answer are passed over.
func (c *tlsConn) handshake(b []byte) {
	const helloRequest, ticket, keyUpdate = 0, 4, 24
	for len(b) > 0 && !c.over {
		if c.skip > 0 {
			n := min(c.skip, len(b))
			c.skip -= n
			b = b[n:]
			continue
		}
		c.message[c.have] = b[0]
		c.have++
		b = b[1:]
		m, size := c.message, int(c.message[1])<<16|int(binary.BigEndian.Uint16(c.message[2:]))
		switch {
		case c.have < 4:
		case c.have == 5 && len(b) == 0: // nothing may follow under the old key
			c.have = 0
			c.updateKeys(m[4] == 1)
		case c.have == 5:
			c.fail()
		case c.in.tls13 && m[0] == ticket, !c.in.tls13 && m[0] == helloRequest:
			c.have, c.skip = 0, size
		case c.in.tls13 && m[0] == keyUpdate && size == 1:
		default:
			c.fail()
		}
	}
}

func (c *tlsConn) updateKeys(answer bool) {
	err := c.in.update()
	if err == nil && answer {
		if errno := c.write(recordHandshake, []byte{24, 0, 0, 1, 0}); errno != 0 {
			err = errno
		} else {
			err = c.out.update()
		}
	}
	if err != nil {
		c.fail()
	}
}

// receiveStd reads through crypto/tls.
func (c *tlsConn) receiveStd(buf []byte) (n int, more bool, errno syscall.Errno) {
	n, err := c.std.Read(buf)
	switch {
	case n > 0:
		more = c.socket.full || len(c.socket.in) > 0 || n == len(buf)
		if c.own {
			c.takeOver()
		}
		return n, more, 0
	case errors.Is(err, errAgain):
		if c.own && c.socket.wrote { // it answered something, and our keys know nothing of it
			return 0, false, unix.EPROTO
		}
		return 0, false, unix.EAGAIN
	case err == io.EOF && !c.socket.over:
		return 0, false, 0
	case err == io.EOF:
		return 0, false, unix.ECONNRESET
	}
	return 0, false, errnoOf(err)
}

// close announces the end, as far as there is room. It does not close the
// socket.
func (c *tlsConn) close() {
	if c.pending() {
		return // it would not be a whole record
	}
	if c.own {
		_ = c.write(recordAlert, []byte{1, 0})
	} else {
		_ = c.std.CloseWrite()
	}
}

// errnoOf is the errno in err, EPROTO for every other error.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EPROTO
}
