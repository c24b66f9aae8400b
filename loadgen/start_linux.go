package loadgen

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

// start makes the workers, their descriptors and all memory that a window
// will use.
func (g *Generator) start(ctx context.Context) error {
	if err := g.checkFileLimit(); err != nil {
		return err
	}
	clock, err := newMonotonic()
	if err != nil {
		return fmt.Errorf("loadgen: monotonic clock: %w", err)
	}
	g.clock = clock
	addresses := make([]sys.SocketAddress, len(g.targets))
	for i, t := range g.targets {
		if addresses[i], err = resolveTarget(ctx, t, g.spec.Connections); err != nil {
			return err
		}
	}
	for id := range g.spec.Workers {
		w := newWorker(id, g.spec, g.clock, g.targets, addresses)
		w.progress = &g.progress[id]
		if g.ownProcess {
			w.holdBelow = holdBelow
		}
		g.workers = append(g.workers, w)
		err := w.openDescriptors()
		go w.serve() // also when it failed: its end closes what is open
		if err != nil {
			return fmt.Errorf("loadgen: worker %d: %w", id, err)
		}
	}
	return nil
}

func newWorker(id int, s Spec, clock monotonic, targets []Target, addresses []sys.SocketAddress) *worker {
	w := &worker{
		id: id, epfd: -1, wakefd: -1, timerfd: -1, oldest: -1, newest: -1,
		clock: clock, spec: s,
		events:  make([]sys.EpollEvent, 256),
		buf:     make([]byte, 64<<10),
		jobs:    make(chan job),
		results: make(chan error),
		targets: make([]workerTarget, len(targets)),
		named:   targets,
	}
	w.stats.lateness = newHistogram()
	// Connections c of a target with c ≡ id modulo the number of workers.
	share := int32((s.Connections - id + s.Workers - 1) / s.Workers)
	w.depth = int32(s.depth())
	w.conns = make([]conn, int(share)*len(targets))
	w.requests = make([]request, len(w.conns)*s.depth())
	w.dirty = make([]int32, 0, len(w.conns))
	for r := range w.requests {
		w.requests[r] = request{conn: int32(r / s.depth()), older: -1, newer: -1}
	}
	sets := max(s.Generated.Sets, 1)
	for k := range w.targets {
		t := &w.targets[k]
		*t = workerTarget{
			address: addresses[k], set: -1, requests: make([][]byte, sets),
			first: int32(k) * share, size: share, down: make([]int32, share),
			ready:    newReadySet(s.Reuse, int32(k)*share, share),
			lost:     newRing[lostRequest](int(share * w.depth)),
			queue:    newRing[int64](int(w.part(int64(s.Queue)))),
			response: newHistogram(), service: newHistogram(),
		}
		if s.Queue > 0 {
			t.queued = newHistogram()
		}
		if s.TLS != nil {
			t.handshake = newHistogram()
		}
		if !s.isH2() {
			for i := range t.requests {
				t.requests[i] = requestBytes(s, targets[k], i)
			}
			t.block = bytes.Repeat(t.requests[0], s.Pipeline)
		}
		if s.isH2() {
			t.h2 = newH2Options(s, targets[k])
		}
		for i := t.first; i < t.first+share; i++ {
			w.conns[i] = conn{target: int32(k), fd: -1, first: i * w.depth, before: -1, after: -1}
			if s.isH2() {
				w.conns[i].h2 = newH2Conn(w, i)
			}
			t.putDown(i)
		}
	}
	return w
}

func (w *worker) openDescriptors() error {
	var err error
	if w.epfd, err = sys.EpollCreate(); err != nil {
		w.epfd = -1
		return fmt.Errorf("epoll_create1: %w", err)
	}
	if w.wakefd, err = sys.EventFD(); err != nil {
		w.wakefd = -1
		return fmt.Errorf("eventfd: %w", err)
	}
	if err = sys.EpollAdd(w.epfd, w.wakefd, unix.EPOLLIN|unix.EPOLLET, wakeToken); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	if w.spec.TLS != nil {
		if w.tls, err = newHandshaker(w); err != nil {
			return err
		}
	}
	if _, errno := sys.EpollWaitNanoseconds(w.epfd, w.events, 0); errno != unix.ENOSYS {
		return nil
	}
	if w.timerfd, err = sys.TimerFD(); err != nil {
		w.timerfd = -1
		return fmt.Errorf("timerfd: %w", err)
	}
	if err = sys.EpollAdd(w.epfd, w.timerfd, unix.EPOLLIN|unix.EPOLLET, timerToken); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// stop ends the workers, which close everything they hold.
func (g *Generator) stop() {
	for _, w := range g.workers {
		close(w.jobs)
	}
	for _, w := range g.workers {
		<-w.results
	}
	g.workers = nil
}

// checkFileLimit refuses connections that the limit of open files cannot
// hold, before the first is opened.
func (g *Generator) checkFileLimit() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("loadgen: limit of open files: %w", err)
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("loadgen: open files of this process: %w", err)
	}
	const perWorker, spare = 6, 16 // epoll, event and timer descriptors, twice with TLS
	connections := len(g.targets) * g.spec.Connections
	need := uint64(len(open) + connections + perWorker*g.spec.Workers + spare)
	if need <= limit.Cur {
		return nil
	}
	return &ConnectError{Class: ConnectFiles, Target: g.targets[0], Want: g.spec.Connections,
		Err: fmt.Errorf("%d connections in all need a limit of %d open files, and it is %d: %w", connections, need, limit.Cur, unix.EMFILE)}
}

// lookup finds the first address of host:port.
func lookup(ctx context.Context, address string) (netip.AddrPort, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return netip.AddrPortFrom(ip, uint16(port)), nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	for _, ip := range ips { // as most servers on this host listen on IPv4
		if ip = ip.Unmap(); ip.Is4() {
			return netip.AddrPortFrom(ip, uint16(port)), nil
		}
	}
	return netip.AddrPortFrom(ips[0], uint16(port)), nil
}
