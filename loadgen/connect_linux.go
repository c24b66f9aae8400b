package loadgen

import (
	"context"
	"errors"
	"math"
	"syscall"
	"time"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

const (
	firstBackoff = int64(10 * time.Millisecond)
	lastBackoff  = int64(500 * time.Millisecond)

	errnoTimeout = unix.ETIMEDOUT
	endlessLife  = math.MaxInt64
)

// connectFailure is an attempt to connect that failed: by errno, or by an
// error of the handshake or the first frames.
type connectFailure struct {
	target int
	errno  syscall.Errno
	err    error
	class  ConnectClass
}

func (e *connectFailure) cause() error {
	if e.err != nil {
		return e.err
	}
	return e.errno
}

func (e *connectFailure) Error() string { return e.cause().Error() }
func (e *connectFailure) Unwrap() error { return e.cause() }

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
		if t.urgent > 0 && t.backoff == 0 {
			t.urgent--
			w.open(t.takeDown(), now)
		} else if t.nextOpen <= now {
			t.nextOpen = now + w.openInterval()
			w.open(t.takeDown(), now)
		}
		switch {
		case t.downCount == 0:
			t.urgent = 0
		case t.urgent > 0 && t.backoff == 0:
			next = now
		default:
			next = min(next, t.nextOpen)
		}
	}
	return next
}

// open starts to connect a slot that is down.
func (w *worker) open(i int32, now int64) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	fd, err := sys.ConnectStart(&t.address)
	if err == nil {
		if err = w.watch(fd, i); err != nil {
			sys.SocketClose(fd)
		}
	}
	t.opening++
	c.fd, c.state, c.answers = -1, connConnecting, 0
	w.requests[c.first].started = now
	w.waitFor(c.first)
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno) // both calls give nothing else
		w.connectFailed(i, &connectFailure{target: int(c.target), errno: errno})
		return
	}
	c.fd = fd
}

func (w *worker) watch(fd int, i int32) error {
	return sys.EpollAdd(w.epfd, fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET, i)
}

// openInterval shares the connect rate among workers and targets.
func (w *worker) openInterval() int64 {
	return int64(float64(time.Second) / w.spec.ConnectRate * float64(w.spec.Workers*len(w.targets)))
}

// connected goes on from a TCP connection.
func (w *worker) connected(i int32) {
	c := &w.conns[i]
	if w.tls == nil {
		w.wired(i)
		return
	}
	fd := c.fd
	if err := sys.EpollDelete(w.epfd, fd); err != nil {
		w.connectFailed(i, &connectFailure{target: int(c.target), err: err})
		return
	}
	c.state, c.fd = connHandshaking, -1
	w.tls.start(i, fd)
}

// secured goes on from a TLS handshake that took so long.
func (w *worker) secured(i int32, fd int, conn *tlsConn, took int64) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	c.fd, c.tls, c.cipherIn, c.cipherOut = fd, conn, 0, 0
	if err := w.watch(fd, i); err != nil {
		w.connectFailed(i, &connectFailure{target: int(c.target), err: err})
		return
	}
	if conn.resumed {
		t.counts.HandshakesResumed++
	} else {
		t.counts.HandshakesFull++
	}
	record(t.handshake, took)
	if w.isH2() && conn.protocol != "h2" {
		w.connectFailed(i, &connectFailure{target: int(c.target), err: errNoH2, class: ConnectTLS})
		return
	}
	w.wired(i)
	if c.state >= connGreeting { // what came with the end of the handshake makes no event
		w.receive(i, false)
	}
}

var errNoH2 = errors.New("the server did not agree to h2 (ALPN): set Spec.Protocol to http/1.1, or enable HTTP/2 there")

// wired starts the protocol on a wire.
func (w *worker) wired(i int32) {
	c := &w.conns[i]
	if c.h2 == nil {
		w.h1Start(c)
		w.opened(i)
		return
	}
	c.state = connGreeting
	c.h2.start(w, i)
	w.markDirty(i)
}

// opened makes a connection ready for requests.
func (w *worker) opened(i int32) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	w.unlink(c.first)
	c.state = connOpen
	w.clearSlots(c)
	c.life = w.life(i)
	t.opening--
	t.open++
	t.counts.ConnectionsOpened++
	t.backoff = 0
	w.refresh(i)
}

// life is how many requests a new connection may take. Where churn is spread,
// the first lives of the connections of a target differ by equal steps.
func (w *worker) life(i int32) int64 {
	c := &w.conns[i]
	n := int64(w.spec.Churn.Requests)
	switch {
	case n == 0:
		return endlessLife
	case w.spec.Churn.Together || c.lived:
		return n
	}
	c.lived = true
	t := &w.targets[c.target]
	k := int64(i-t.first)*int64(w.spec.Workers) + int64(w.id)
	return n - k*n/int64(w.spec.Connections)
}

func (w *worker) connectFailed(i int32, f *connectFailure) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	w.unlink(c.first)
	if c.state == connHandshaking && f.errno == errnoTimeout {
		w.tls.cancel(i)
	}
	if c.state == connHandshaking && c.tls == nil {
		t.counts.HandshakesFailed++
		if f.class == "" {
			f.class = ConnectTLS
		}
	}
	if f.class == "" {
		f.class = connectClass(f.errno)
	}
	w.closeWire(c)
	c.state, c.limit = connDown, 0
	t.opening--
	t.counts.ConnectFailures++
	*t.counts.ConnectFailuresBy.of(f.class)++
	t.backoff = min(max(2*t.backoff, firstBackoff), lastBackoff)
	t.nextOpen = w.clock.now() + t.backoff
	t.putDown(i)
	if w.connectErr == nil && w.filling && t.wanted {
		w.connectErr = f
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
