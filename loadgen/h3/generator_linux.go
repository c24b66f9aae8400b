package h3

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/tareperf/tare/loadgen"
)

// Generator sends HTTP/3 to its targets. Its methods may be called from any
// goroutine, and wait for each other.
type Generator struct {
	spec    loadgen.Spec // with defaults
	targets []*target

	use    sync.Mutex // held by the method that runs
	closed bool

	life    context.Context // of the connections
	end     context.CancelFunc
	keepers sync.WaitGroup

	mu    sync.Mutex // guards everything below, and the state of targets
	phase [2]phase
}

// phase is what is added up over all targets: 0 before the measured part of a
// window, 1 in it.
type phase struct {
	lateness    *hdrhistogram.Histogram
	inFlight    int64
	maxInFlight int64
}

// target is one address with its connections.
type target struct {
	loadgen.Target
	request *http.Request
	body    string
	conns   []*conn
	turn    int
	open    int
	change  chan struct{} // closed and renewed when open changes
	refusal *loadgen.ConnectError

	totals    connections // since the start
	atEnd     connections // of the last window
	atStart   connections // of this one
	handshake *hdrhistogram.Histogram

	counts   [2]loadgen.Counts // by phase
	active   [2]int64
	response *hdrhistogram.Histogram
	service  *hdrhistogram.Histogram
}

// connections are counts that grow through windows and the time between.
type connections struct {
	opened, closed, failed int64
	failedBy               loadgen.ConnectFailures
	tlsFailed              int64
	bytesOut, bytesIn      int64 // of connections that have ended
}

// conn is a slot for one connection after the other.
type conn struct {
	client  *http3.ClientConn // nil while it is down
	stats   func() (out, in int64)
	active  int
	answers int64
}

// New checks its arguments; it opens nothing but the files of Spec.TLS when it
// connects. The error is a *loadgen.InvalidError.
func New(s loadgen.Spec, targets []loadgen.Target) (*Generator, error) {
	s, err := resolve(s)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		return nil, refuse("Targets", "0 long", "1 or more")
	}
	g := &Generator{spec: s}
	for i, t := range targets {
		if host, port, err := net.SplitHostPort(t.Address); err != nil || host == "" || port == "" {
			return nil, refuse(fmt.Sprintf("Targets[%d].Address", i), t.Address, "host:port")
		}
		r, body, err := request(s, t)
		if err != nil {
			return nil, err
		}
		own := &target{Target: t, request: r, body: body, change: make(chan struct{}),
			response: newHistogram(), service: newHistogram(), handshake: newHistogram()}
		for range s.Connections {
			own.conns = append(own.conns, &conn{})
		}
		g.targets = append(g.targets, own)
	}
	return g, nil
}

// Connect opens all connections, at Spec.ConnectRate. Without a deadline in ctx
// it takes at most 30 s more than the rate asks for. The error is a
// *loadgen.ConnectError or, for a file of Spec.TLS, a *loadgen.InvalidError;
// no connection is open then.
func (g *Generator) Connect(ctx context.Context) error {
	g.use.Lock()
	defer g.use.Unlock()
	if g.closed {
		return fmt.Errorf("h3: connect: %w", loadgen.ErrClosed)
	}
	if g.life == nil {
		if err := g.start(ctx); err != nil {
			g.stop()
			return err
		}
	}
	for _, t := range g.targets {
		if err := g.await(ctx, t); err != nil {
			g.stop()
			return err
		}
	}
	return nil
}

// start lets a keeper begin for each connection.
func (g *Generator) start(ctx context.Context) error {
	g.life, g.end = context.WithCancel(context.Background())
	gap := time.Duration(float64(time.Second) / g.spec.ConnectRate)
	k := 0
	for _, t := range g.targets {
		config, err := tlsConfig(g.spec, t.Target)
		if err != nil {
			return err
		}
		address, err := resolveAddress(ctx, t.Address)
		if err != nil {
			return &loadgen.ConnectError{Class: loadgen.ConnectResolve, Target: t.Target, Want: g.spec.Connections, Err: err}
		}
		t.refusal = nil
		for _, c := range t.conns {
			wait := time.Duration(k) * gap
			k++
			g.keepers.Go(func() { g.keep(t, c, address, config, wait) })
		}
	}
	return nil
}

// connectGrace is how long connections may take beside what the rate asks for.
const connectGrace = 30 * time.Second

// await waits until all connections of a target are open, or the first attempt
// of one has failed.
func (g *Generator) await(ctx context.Context, t *target) error {
	limit := connectGrace + time.Duration(float64(len(g.targets)*g.spec.Connections)/g.spec.ConnectRate*float64(time.Second))
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		g.mu.Lock()
		open, change, refusal := t.open, t.change, t.refusal
		g.mu.Unlock()
		if open == len(t.conns) {
			return nil
		}
		if refusal != nil {
			return refusal
		}
		select {
		case <-change:
		case <-ctx.Done():
			return &loadgen.ConnectError{Class: loadgen.ConnectTimeout, Target: t.Target, Want: len(t.conns), Have: open, Err: context.Cause(ctx)}
		}
	}
}

// stop ends all connections.
func (g *Generator) stop() {
	if g.life != nil {
		g.end()
		g.keepers.Wait()
		g.life = nil
	}
}

// Close closes all connections. It waits for a window that runs: cancel its
// context first to end it early.
func (g *Generator) Close() error {
	g.use.Lock()
	defer g.use.Unlock()
	g.closed = true
	g.stop()
	return nil
}
