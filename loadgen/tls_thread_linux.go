package loadgen

import (
	"fmt"
	"runtime"
	"syscall"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

// serve is the thread, whose CPU time is its own while it lasts.
func (h *handshaker) serve() {
	defer close(h.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h.tid = unix.Gettid()
	close(h.ready)
	var orders []handshakeOrder
	for {
		h.mu.Lock()
		orders = append(orders[:0], h.orders...)
		h.orders = h.orders[:0]
		quit := h.quit
		h.mu.Unlock()
		for _, o := range orders {
			h.obey(o)
		}
		if quit {
			break
		}
		h.poll(h.letGo())
	}
	for _, s := range h.slots {
		h.giveUp(s)
	}
	h.closeDescriptors()
}

func (h *handshaker) obey(o handshakeOrder) {
	h.giveUp(h.slots[o.slot]) // that of a later order was canceled
	if o.fd < 0 {
		return
	}
	s := &shaking{handshakeOrder: o, socket: tlsSocket{fd: o.fd}, pool: &h.pools[h.targets[o.slot]], wakefd: h.wakefd}
	h.slots[o.slot] = s
	h.held = append(h.held, s)
}

// letGo begins the handshakes that are held and may begin. It returns when
// it is to be called again.
func (h *handshaker) letGo() int64 {
	const again = int64(10e6)
	still := h.held[:0]
	for _, s := range h.held {
		switch {
		case h.slots[s.slot] != s: // given up
		case h.resume && !s.pool.firstAlone(h.clock.now()):
			still = append(still, s)
		default:
			h.begin(s)
		}
	}
	clear(h.held[len(still):])
	h.held = still
	if len(still) > 0 {
		return h.clock.now() + again
	}
	return never
}

func (h *handshaker) begin(s *shaking) {
	s.begin(h.configs[h.targets[s.slot]].Clone(), h.resume)
	s.started = h.clock.now()
	const events = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	if err := sys.EpollAdd(h.epfd, s.fd, events, s.slot); err != nil {
		s.stop()
		h.finish(s, nil, err)
		return
	}
	h.advance(s)
}

// advance lets a handshake run until it has to wait or is over.
func (h *handshaker) advance(s *shaking) {
	if _, paused := s.next(); paused {
		return
	}
	_ = unix.EpollCtl(h.epfd, unix.EPOLL_CTL_DEL, s.fd, nil) // it was added, so this cannot fail
	if s.err != nil {
		h.finish(s, nil, s.err)
		return
	}
	conn, err := newTLSConn(s.std, &s.socket, &s.secrets, h.resume, h.sealed)
	if err == nil && (h.spoken == "h2") != (conn.protocol == "h2") {
		err = fmt.Errorf("the server chose protocol %q by ALPN, and %s is to be spoken: correct the protocol, or ALPN", conn.protocol, h.spoken)
	}
	h.finish(s, conn, err)
}

func (h *handshaker) finish(s *shaking, conn *tlsConn, err error) {
	h.slots[s.slot] = nil
	s.pool.handshakeEnded(h.clock.now())
	h.mu.Lock()
	h.ended = append(h.ended, handshakeEnd{s.handshakeOrder, conn, err, h.clock.now() - s.started})
	h.mu.Unlock()
	wake(h.notify)
}

// giveUp ends a handshake that nobody waits for, if there is one.
func (h *handshaker) giveUp(s *shaking) {
	if s == nil {
		return
	}
	if s.stop != nil {
		s.stop()
		s.pool.handshakeEnded(h.clock.now())
	}
	h.slots[s.slot] = nil
	sys.SocketClose(s.fd)
}

// poll serves what has happened, waiting for it up to the time until.
func (h *handshaker) poll(until int64) {
	wait := int64(-1)
	if until != never {
		wait = max(0, until-h.clock.now())
	}
	n, errno := sys.EpollWaitNanoseconds(h.epfd, h.events, wait)
	if errno == syscall.ENOSYS { // before Linux 5.11
		if wait >= 0 {
			wait = wait/1_000_000 + 1
		}
		n, errno = sys.EpollWaitMilliseconds(h.epfd, h.events, int(wait))
	}
	if errno != 0 { // EINTR
		return
	}
	for _, e := range h.events[:n] {
		if e.Fd == wakeToken {
			continue
		}
		if s := h.slots[e.Fd]; s != nil && s.next != nil {
			h.advance(s)
		}
	}
}
