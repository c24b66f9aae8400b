package loadgen

import (
	"crypto/tls"
	"fmt"
	"sync"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

// handshaker shakes hands for one worker, on a thread of its own: the public
// key operations of a handshake would make the worker late for hundreds of
// microseconds. It has an epoll instance and serves any number at a time; each
// is a coroutine that pauses where its socket has nothing.
//
// It holds a socket from start until the end of its handshake is taken.
type handshaker struct {
	tid     int
	epfd    int
	wakefd  int
	clock   monotonic
	spoken  string // the protocol that will be spoken, in the words of ALPN
	resume  bool
	targets []int32       // by the worker's connections
	configs []*tls.Config // by target
	pools   []sessionPool // by target
	events  []sys.EpollEvent
	slots   []*shaking // by the worker's connections
	held    []*shaking // wait for the first session of their target
	notify  int        // the worker's wakefd
	ready   chan struct{}
	done    chan struct{}

	// Of the worker's thread.
	generations []uint32 // by connection: a handshake of an older one is forgotten
	sealed      []byte   // where records are made
	taken       []handshakeEnd

	mu     sync.Mutex // guards what follows
	orders []handshakeOrder
	ended  []handshakeEnd
	quit   bool
}

// handshakeOrder begins a handshake, or cancels it: then fd is -1.
type handshakeOrder struct {
	slot       int32
	generation uint32
	fd         int
}

// handshakeEnd is how it went: conn, or err.
type handshakeEnd struct {
	handshakeOrder
	conn *tlsConn
	err  error
	took int64 // nanoseconds from the first byte sent to the last
}

// newHandshaker starts the thread for a worker, whose event descriptor becomes
// readable when there is something to take. An error of the spec's files is an
// *InvalidError.
func newHandshaker(w *worker) (*handshaker, error) {
	slots := len(w.conns)
	h := &handshaker{
		epfd: -1, wakefd: -1, clock: w.clock, spoken: spokenName(w.spec), resume: w.spec.TLS.Resume,
		pools:  make([]sessionPool, len(w.targets)),
		events: make([]sys.EpollEvent, 64), slots: make([]*shaking, slots), notify: w.wakefd,
		ready: make(chan struct{}), done: make(chan struct{}),
		generations: make([]uint32, slots), sealed: make([]byte, 0, maxPlaintext+recordExtra),
		taken: make([]handshakeEnd, 0, slots), ended: make([]handshakeEnd, 0, slots), orders: make([]handshakeOrder, 0, 2*slots),
	}
	for i := range w.conns {
		h.targets = append(h.targets, w.conns[i].target)
	}
	for _, t := range w.named {
		c, err := w.spec.TLS.config(w.spec.Host, t.Address, h.spoken)
		if err != nil {
			return nil, err
		}
		h.configs = append(h.configs, c)
	}
	if err := h.open(); err != nil {
		h.closeDescriptors()
		return nil, err
	}
	go h.serve()
	<-h.ready
	return h, nil
}

// spokenName is the protocol in the words of ALPN.
func spokenName(s Spec) string {
	if s.isH2() {
		return "h2"
	}
	return "http/1.1"
}

// handshakesDone takes over what the handshaker has finished.
func (w *worker) handshakesDone() {
	for _, e := range w.tls.take() {
		if e.err != nil {
			w.connectFailed(e.slot, &connectFailure{target: int(w.conns[e.slot].target), err: e.err})
		} else {
			w.secured(e.slot, e.fd, e.conn, e.took)
		}
	}
}

func (h *handshaker) open() (err error) {
	if h.epfd, err = sys.EpollCreate(); err != nil {
		h.epfd = -1
		return fmt.Errorf("epoll_create1: %w", err)
	}
	if h.wakefd, err = sys.EventFD(); err != nil {
		h.wakefd = -1
		return fmt.Errorf("eventfd: %w", err)
	}
	if err = sys.EpollAdd(h.epfd, h.wakefd, unix.EPOLLIN|unix.EPOLLET, wakeToken); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

func (h *handshaker) closeDescriptors() {
	for _, fd := range []int{h.epfd, h.wakefd} {
		if fd >= 0 {
			sys.SocketClose(fd)
		}
	}
}

// start begins the handshake of slot on a connected socket.
func (h *handshaker) start(slot int32, fd int) {
	h.generations[slot]++
	h.order(handshakeOrder{slot, h.generations[slot], fd})
}

// cancel forgets the handshake of slot.
func (h *handshaker) cancel(slot int32) {
	h.generations[slot]++
	h.order(handshakeOrder{slot: slot, fd: -1})
}

func (h *handshaker) order(o handshakeOrder) {
	h.mu.Lock()
	h.orders = append(h.orders, o)
	h.mu.Unlock()
	wake(h.wakefd)
}

// take returns what has ended, until the next call. The sockets of those
// that failed are closed.
func (h *handshaker) take() []handshakeEnd {
	clear(h.taken)
	h.taken = h.taken[:0]
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.ended {
		current := e.generation == h.generations[e.slot]
		if !current || e.err != nil {
			sys.SocketClose(e.fd)
		}
		if current {
			h.taken = append(h.taken, e)
		}
	}
	clear(h.ended)
	h.ended = h.ended[:0]
	return h.taken
}

// cpuNanoseconds is the CPU time of the thread so far.
func (h *handshaker) cpuNanoseconds() int64 {
	ns, _ := sys.ThreadCPUClock(h.tid) // fails for a thread that is gone only
	return ns
}

// stop gives up every handshake and ends the thread.
func (h *handshaker) stop() {
	h.mu.Lock()
	h.quit = true
	h.mu.Unlock()
	wake(h.wakefd)
	<-h.done
	for _, e := range h.ended {
		sys.SocketClose(e.fd)
	}
}

func wake(fd int) {
	_, _ = unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only when it is readable already
}
