package smallproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/tareperf/tare/internal/smallserver"
)

// Proxy is a running proxy.
type Proxy struct {
	config    Config
	effective Effective
	listener  *net.TCPListener
	server    *http.Server
	reverse   *httputil.ReverseProxy
	transport *http.Transport
	log       *accessLog
	counts    counts
	served    chan error
	closed    func() error // once

	mu    sync.Mutex
	fresh map[*conn]struct{} // connections without a request yet
}

type connKey struct{}

// Start listens and proxies in this process until Close. A program of its own
// uses Main.
func Start(c Config) (*Proxy, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return start(c, smallserver.Runtime{Go: runtime.Version(), Workers: runtime.GOMAXPROCS(0)})
}

func start(c Config, r smallserver.Runtime) (*Proxy, error) {
	accessLog, err := openLog(c)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		_ = accessLog.close()
		return nil, fmt.Errorf("proxy: listen on %s: %w", c.Listen, err)
	}
	p := &Proxy{config: c, effective: effective(c, r), listener: l.(*net.TCPListener), log: accessLog,
		served: make(chan error, 1), fresh: map[*conn]struct{}{}}
	p.transport = p.newTransport()
	p.reverse = p.newReverse()
	p.server = &http.Server{
		Handler:     http.HandlerFunc(p.serve),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState:   p.connState,
		ErrorLog:    log.New(os.Stderr, Name+": ", 0),
	}
	p.server.RegisterOnShutdown(p.closeFresh)
	p.closed = sync.OnceValue(p.close)
	go func() { p.served <- p.server.Serve(listener{p.listener}) }()
	return p, nil
}

// newTransport is the pool of connections to the origin. Nothing of the
// environment (proxy settings) reaches it, and no connection ends for being idle.
func (p *Proxy) newTransport() *http.Transport {
	dialer := net.Dialer{Timeout: originTimeout}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				p.counts.add(func(s *Stats) { s.OriginConnectionsOpened++ })
			}
			return c, err
		},
		MaxIdleConnsPerHost:   maxOriginConnections,
		MaxConnsPerHost:       maxOriginConnections,
		ResponseHeaderTimeout: originTimeout,
		DisableCompression:    true,
		ReadBufferSize:        16 << 10, // an answer of a few KiB comes in one read
	}
}

func (p *Proxy) newReverse() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = "http"
			r.Out.URL.Host = p.config.Origin
			r.SetXForwarded()
			r.Out.Header.Del("Connection") // of an upgrade; the rest is gone already
			r.Out.Header.Del("Upgrade")
		},
		ErrorHandler: p.originFailed,
		ErrorLog:     log.New(os.Stderr, Name+": ", 0),
		BufferPool:   &buffers{pool: sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}},
	}
}

// originFailed answers when the origin did not.
func (p *Proxy) originFailed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		// The client left: the origin is not to blame, and nobody is there to be
		// answered. The end of the connection counts the request as aborted.
		panic(http.ErrAbortHandler)
	}
	p.counts.add(func(s *Stats) { s.UpstreamErrors++ })
	status := http.StatusBadGateway
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		status = http.StatusGatewayTimeout
	}
	w.WriteHeader(status)
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(connKey{}).(*conn)
	e := &c.exchange
	*e = exchange{
		open: true, start: time.Now(),
		method: r.Method, uri: r.RequestURI, protocol: r.Proto, host: r.Host,
		agent: r.Header.Get("User-Agent"), id: r.Header.Get("X-Request-Id"), received: r.ContentLength,
	}
	p.counts.add(func(s *Stats) { s.Requests++; s.Active++ })
	e.aborted = true // until known better: a broken answer leaves here by a panic
	record := &recorder{ResponseWriter: w, exchange: e}
	if r.Method == http.MethodConnect {
		record.WriteHeader(http.StatusNotImplemented)
	} else {
		p.reverse.ServeHTTP(record, r)
	}
	e.aborted = false
}

// connState is called by the goroutine that serves the connection. Idle follows
// the flush of an answer's last byte, Closed ends everything else: here, and not
// in the handler, an answer is known to have been written.
func (p *Proxy) connState(nc net.Conn, state http.ConnState) {
	c := nc.(*conn)
	switch state {
	case http.StateNew:
		p.setFresh(c, true)
		p.counts.add(func(s *Stats) { s.ConnectionsOpened++ })
	case http.StateActive:
		p.setFresh(c, false)
	case http.StateIdle:
		p.end(c)
	case http.StateClosed:
		p.setFresh(c, false)
		p.end(c)
		p.counts.add(func(s *Stats) { s.ConnectionsClosed++ })
	}
}

func (p *Proxy) end(c *conn) {
	e := &c.exchange
	if !e.open {
		return
	}
	e.open = false
	if c.writeFailed.Load() {
		e.aborted = true
	}
	if e.status == 0 && !e.aborted {
		e.status = http.StatusOK // what net/http sends for a handler that says nothing
	}
	if p.config.AccessLog != LogOff {
		p.log.add(makeLine(e, c.peer, p.config.Origin, time.Now()))
	}
	p.counts.end(e.status, !e.aborted)
}

// Address is the host:port that serves.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Stats are the counters of this moment.
func (p *Proxy) Stats() Stats {
	p.counts.mu.Lock()
	s := p.counts.s
	p.counts.mu.Unlock()
	p.log.fill(&s)
	s.Config = p.effective
	return s
}

// Close stops to accept, lets requests that are under way be answered within two
// seconds, closes every connection and writes the rest of the log. The error says
// when log lines were lost. A second Close says the same as the first.
func (p *Proxy) Close() error { return p.closed() }

func (p *Proxy) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), endWithin)
	defer cancel()
	if p.server.Shutdown(ctx) != nil {
		_ = p.server.Close()
		p.awaitRest()
	}
	p.transport.CloseIdleConnections()
	err := p.log.close()
	if served := <-p.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(fmt.Errorf("proxy: serve: %w", served), err)
	}
	return err
}

// setFresh keeps account of connections without a request yet. Only the first
// request of a connection takes the lock.
func (p *Proxy) setFresh(c *conn, fresh bool) {
	if c.fresh == fresh {
		return
	}
	c.fresh = fresh
	p.mu.Lock()
	defer p.mu.Unlock()
	if fresh {
		p.fresh[c] = struct{}{}
	} else {
		delete(p.fresh, c)
	}
}

// closeFresh closes the connections that never sent a request: Shutdown would wait
// seconds for one.
func (p *Proxy) closeFresh() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.fresh {
		_ = c.Close()
	}
}

// awaitRest gives the handlers whose connections were cut a moment to note it, so
// that their lines are in the log.
func (p *Proxy) awaitRest() {
	for range 50 {
		if p.Stats().Active == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// buffers is a httputil.BufferPool: without one each request costs a buffer.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte  { return *b.pool.Get().(*[]byte) }
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

// Main is the whole proxy program: it serves until ctx or stdin ends or a SIGTERM
// comes, and reports on stdout as package smallserver says. An error to start is
// also in the ready line. Main changes settings of the whole process: it must be
// the only thing the process does.
func Main(ctx context.Context, c Config, stdin io.Reader, stdout io.Writer) error {
	ctx, release := smallserver.Until(ctx, stdin)
	defer release()
	ready := false
	err := run(ctx, c, stdout, &ready)
	if err != nil && !ready {
		_ = smallserver.WriteReady(stdout, smallserver.Ready{Server: Name, Error: err.Error()})
	}
	return err
}

func run(ctx context.Context, c Config, stdout io.Writer, ready *bool) (err error) {
	c, err = c.withDefaults()
	if err != nil {
		return err
	}
	settings, keep := smallserver.Tune(c.Workers)
	defer runtime.KeepAlive(keep)
	p, err := start(c, settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	admin, err := smallserver.ServeAdmin(c.AdminListen, Name, func() any { return p.Stats() }, p.effective)
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := smallserver.WriteReady(stdout, smallserver.Ready{Server: Name, Address: p.Address(), AdminAddress: admin.Address()}); err != nil {
		return err
	}
	*ready = true
	select {
	case <-ctx.Done():
		return nil
	case served := <-p.served:
		p.served <- served
		return fmt.Errorf("proxy: serve: %w", served)
	}
}
