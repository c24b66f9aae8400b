package smallorigin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tareperf/tare/internal/smallserver"
)

// endWithin bounds the orderly end: what is not answered by then is cut off.
const endWithin = 2 * time.Second

// Origin is a running origin.
type Origin struct {
	config   Config
	listener net.Listener
	answers  answers
	counts   counts
	ending   atomic.Bool
	done     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// Start listens and serves in this process until Close. A program of its own
// uses Main.
func Start(c Config) (*Origin, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("origin: listen on %s: %w", c.Listen, err)
	}
	o := &Origin{config: c, listener: listener, answers: answers{bodySize: c.BodySize}, conns: map[net.Conn]struct{}{}}
	o.done.Add(1)
	go o.accept()
	return o, nil
}

// Address is the host:port that serves.
func (o *Origin) Address() string { return o.listener.Addr().String() }

// Stats are the counters of this moment.
func (o *Origin) Stats() Stats { return o.counts.snapshot() }

// Close stops to accept, lets requests that are under way be answered within
// two seconds, closes every connection and returns when all are closed.
func (o *Origin) Close() error {
	o.ending.Store(true)
	err := o.listener.Close()
	o.each(func(c net.Conn) { _ = c.SetReadDeadline(time.Now()) }) // wakes those that wait for a request
	cut := time.AfterFunc(endWithin, func() { o.each(func(c net.Conn) { _ = c.Close() }) })
	defer cut.Stop()
	o.done.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (o *Origin) each(do func(net.Conn)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.conns {
		do(c)
	}
}

func (o *Origin) accept() {
	defer o.done.Done()
	for {
		c, err := o.listener.Accept()
		if err != nil {
			if o.ending.Load() {
				return
			}
			// Out of descriptors or the like: it may pass, and what did not come
			// through is seen by the client.
			time.Sleep(10 * time.Millisecond)
			continue
		}
		o.mu.Lock()
		o.conns[c] = struct{}{}
		o.mu.Unlock()
		if o.ending.Load() { // Close may have gone through the connections before
			_ = c.SetReadDeadline(time.Now())
		}
		o.counts.add(func(s *Stats) { s.ConnectionsOpened++; s.ConnectionsActive++ })
		o.done.Add(1)
		go func() {
			defer o.done.Done()
			byPeer := o.serve(c)
			_ = c.Close()
			o.mu.Lock()
			delete(o.conns, c)
			o.mu.Unlock()
			o.counts.add(func(s *Stats) {
				s.ConnectionsActive--
				if byPeer {
					s.ConnectionsClosedByPeer++
				} else {
					s.ConnectionsClosedByOrigin++
				}
			})
		}()
	}
}

// Effective is the answer to /config.
type Effective struct {
	Config  Config              `json:"config"`
	Runtime smallserver.Runtime `json:"runtime"`
}

// Main is the whole origin program: it serves until ctx or stdin ends or a
// SIGTERM comes, and reports on stdout as package smallserver says. The error is
// also in the ready line when the origin could not start. Main changes settings
// of the whole process: it must be the only thing the process does.
func Main(ctx context.Context, c Config, stdin io.Reader, stdout io.Writer) error {
	ctx, release := smallserver.Until(ctx, stdin)
	defer release()
	err := run(ctx, c, stdout)
	if err != nil {
		_ = smallserver.WriteReady(stdout, smallserver.Ready{Server: Name, Error: err.Error()})
	}
	return err
}

func run(ctx context.Context, c Config, stdout io.Writer) error {
	c, err := c.withDefaults()
	if err != nil {
		return err
	}
	settings, keep := smallserver.Tune(c.Workers)
	o, err := Start(c)
	if err != nil {
		return err
	}
	defer o.Close()
	admin, err := smallserver.ServeAdmin(c.AdminListen, Name,
		func() any { return o.Stats() }, Effective{Config: c, Runtime: settings})
	if err != nil {
		return err
	}
	defer admin.Close()
	ready := smallserver.Ready{Server: Name, Address: o.Address(), AdminAddress: admin.Address()}
	if err := smallserver.WriteReady(stdout, ready); err != nil {
		return err
	}
	<-ctx.Done()
	runtime.KeepAlive(keep)
	return nil
}
