package loadgen

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"
)

// openStreams watches a client that opens streams: it counts those that are
// open, and answers each after a while.
type openStreams struct {
	mu            sync.Mutex
	p             *h2Peer
	open, highest int
}

func (o *openStreams) serve(delay time.Duration) {
	for {
		stream, ok := o.p.request()
		if !ok {
			return
		}
		o.mu.Lock()
		o.open++
		o.highest = max(o.highest, o.open)
		o.mu.Unlock()
		time.AfterFunc(delay, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.open--
			o.p.answer(stream)
		})
	}
}

// set changes the limit; take returns the highest number of open streams
// since it was asked last.
func (o *openStreams) set(limit uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.p.greet(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: limit})
}

func (o *openStreams) take() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	highest := o.highest
	o.highest = o.open
	return highest
}

func (o *openStreams) now() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open
}

// The server's limit of streams holds from the first request on, and as it
// changes (nodejs/undici#5134, dotnet/runtime#40249): what it has no room for
// is overflow.
func TestReportUndici5134MaxConcurrentStreams(t *testing.T) {
	var o openStreams
	s := newH2Script(t, func(p *h2Peer, _ int) {
		o.p = p
		o.set(1)
		o.serve(20 * time.Millisecond)
	})
	g := connected(t, h2cSpec(1, 10), s.target())
	window := Window{Rate: 500, Duration: 300 * time.Millisecond}
	for _, limit := range []uint32{1, 4, 2, 0, 50} {
		if limit != 1 {
			o.set(limit)
			time.Sleep(50 * time.Millisecond) // until it is known
		}
		o.take()
		c := runH2(t, g, window)
		highest := o.take()
		t.Logf("limit %d: at most %d open, %d sent, %d overflow", limit, highest, c.Sent, c.Overflow)
		require.LessOrEqual(t, highest, min(int(limit), 10))
		require.Equal(t, c.Sent, c.Completed)
		require.Equal(t, c.Overflow, c.OverflowBusy)
		require.EqualValues(t, 150, c.Scheduled)
		require.Equal(t, limit == 0, c.Sent == 0)
	}
	require.EqualValues(t, 1, s.accepted.Load())
}

// The limit may shrink while streams are open: none is opened until there is
// room again.
func TestH2LimitShrinksMidRun(t *testing.T) {
	var o openStreams
	s := newH2Script(t, func(p *h2Peer, _ int) {
		o.p = p
		o.set(8)
		o.serve(30 * time.Millisecond)
	})
	g := connected(t, h2cSpec(1, 8), s.target())
	after := 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(200 * time.Millisecond)
		o.set(2)
		for o.now() > 2 { // until the old ones have ended
			time.Sleep(5 * time.Millisecond)
		}
		o.take()
		time.Sleep(200 * time.Millisecond)
		after = o.take()
	}()
	c := runH2(t, g, Window{Rate: 1000, Duration: 600 * time.Millisecond})
	<-done
	require.LessOrEqual(t, after, 2)
	require.Positive(t, after)
	require.EqualValues(t, 8, c.MaxInFlight)
	require.Equal(t, c.Sent, c.Completed)
}

// No stream is opened before the server's first SETTINGS; a server that has
// none is a connect error, and so is one that speaks HTTP/1.
func TestH2WaitsForTheFirstSettings(t *testing.T) {
	var early atomic.Bool
	s := newH2Script(t, func(p *h2Peer, _ int) {
		p.ReadFrame() // SETTINGS
		p.ReadFrame() // WINDOW_UPDATE
		p.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := p.ReadFrame(); !errors.Is(err, os.ErrDeadlineExceeded) {
			early.Store(true)
		}
		p.conn.SetReadDeadline(time.Time{})
		p.greet(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
		p.serve()
	})
	g := connected(t, h2cSpec(2, 4), s.target())
	c := runH2(t, g, Window{Rate: 100, Duration: 100 * time.Millisecond})
	require.EqualValues(t, 10, c.Completed+c.OverflowBusy)
	require.False(t, early.Load())

	connect := func(play func(*script, net.Conn, *bufio.Reader, int)) error {
		s := newScript(t, play)
		spec := h2cSpec(2, 4)
		spec.Timeout = 200 * time.Millisecond
		g, err := New(spec, []Target{s.target()})
		require.NoError(t, err)
		defer g.Close()
		return g.Connect(context.Background())
	}
	requireConnectError(t, connect(func(_ *script, _ net.Conn, in *bufio.Reader, _ int) { io.Copy(io.Discard, in) }), ConnectTimeout, unix.ETIMEDOUT)
	err := connect(func(_ *script, c net.Conn, in *bufio.Reader, _ int) {
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		io.Copy(io.Discard, in)
	})
	requireConnectError(t, err, ConnectOther, errH2NotSpoken)
	require.ErrorContains(t, err, "does not speak HTTP/2")
	requireConnectError(t, connect(func(*script, net.Conn, *bufio.Reader, int) {}), ConnectOther, unix.ECONNRESET)
}

// A server that says GOAWAY after each 20 streams, and processes none above
// (nghttp2#981 and #1197, golang/go#18112): every request is answered, those
// it did not look at on another connection.
func TestReportNghttp2_981GoAwayMidRun(t *testing.T) {
	const each = 20
	var processed, refused atomic.Int64
	s := newH2Script(t, func(p *h2Peer, _ int) {
		var mu sync.Mutex
		p.greet()
		for n := 1; n <= each; n++ {
			stream, ok := p.request()
			if !ok {
				return
			}
			processed.Add(1)
			mu.Lock()
			if n == each { // some of the others are still open
				p.WriteGoAway(stream, http2.ErrCodeNo, []byte("enough"))
				p.out.Flush()
			}
			mu.Unlock()
			time.AfterFunc(2*time.Millisecond, func() {
				mu.Lock()
				defer mu.Unlock()
				p.answer(stream)
			})
		}
		for { // until the client closes
			if _, ok := p.request(); !ok {
				return
			}
			refused.Add(1)
		}
	})
	spec := h2cSpec(2, 16)
	spec.Arrival, spec.BurstSize = Burst, 14
	g := connected(t, spec, s.target())
	c := runH2(t, g, Window{Rate: 1000, Duration: 400 * time.Millisecond, Seed: 3})
	require.Zero(t, c.Failed)
	require.Zero(t, c.InFlightAtEnd)
	require.Equal(t, c.Sent, c.Completed)
	require.Equal(t, c.Completed, processed.Load())
	require.Equal(t, c.Resent, refused.Load())
	require.Positive(t, c.Resent)
	require.Positive(t, c.Completed)
	require.InDelta(t, float64(c.Completed)/each, float64(c.GoAways), 2)
	t.Logf("%d answered over %d connections, %d sent again", c.Completed, s.accepted.Load(), c.Resent)
}

// A request that is sent again keeps its first intended time.
func TestH2ResentKeepsItsTime(t *testing.T) {
	const held = 150 * time.Millisecond
	s := newH2Script(t, func(p *h2Peer, n int) {
		p.greet()
		if n > 0 {
			p.serve()
			return
		}
		if _, ok := p.request(); ok {
			time.Sleep(held)
			p.WriteGoAway(0, http2.ErrCodeNo, nil)
			p.out.Flush()
			p.request()
		}
	})
	g := connected(t, h2cSpec(1, 4), s.target())
	r := runWindow(t, g, Window{Rate: 10, Duration: 100 * time.Millisecond})
	c := r.Total()
	require.EqualValues(t, 1, c.Completed)
	require.EqualValues(t, 1, c.Resent)
	require.EqualValues(t, 1, c.GoAways)
	require.GreaterOrEqual(t, r.Targets[0].Response.Min, int64(held))
}

// REFUSED_STREAM says that the request was not processed: it is sent again,
// but not for ever.
func TestH2RefusedStreams(t *testing.T) {
	var always atomic.Bool
	s := newH2Script(t, func(p *h2Peer, _ int) {
		p.greet()
		for n := 0; ; n++ {
			stream, ok := p.request()
			if !ok {
				return
			}
			if always.Load() || n%3 == 0 {
				p.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
				p.out.Flush()
				continue
			}
			p.answer(stream)
		}
	})
	g := connected(t, h2cSpec(1, 100), s.target())
	c := runH2(t, g, Window{Rate: 200, Duration: 200 * time.Millisecond})
	require.EqualValues(t, 40, c.Completed)
	require.Equal(t, c.StreamsRefused, c.Resent)
	require.Positive(t, c.Resent)
	require.Equal(t, s.requests.Load(), c.Sent+c.Resent)

	always.Store(true)
	before := s.requests.Load()
	c = runH2(t, g, Window{Rate: 50, Duration: 200 * time.Millisecond})
	require.EqualValues(t, 10, c.FailedBy.Lost)
	require.Equal(t, c.StreamsRefused, c.Resent+c.FailedBy.Lost)
	require.Equal(t, s.requests.Load()-before, c.Sent+c.Resent)
	require.Zero(t, c.ConnectionsClosed)
}

// What ends one stream badly is a failure of its class, and the connection
// goes on.
func TestH2StreamFailures(t *testing.T) {
	const n = 20
	for name, k := range map[string]struct {
		play func(p *h2Peer, stream uint32)
		spec func(*Spec)
		want func(*Counts)
	}{
		"reset": {func(p *h2Peer, s uint32) { p.WriteRSTStream(s, http2.ErrCodeInternal) }, nil, func(c *Counts) { c.FailedBy.Reset, c.Resets = n, n }},
		"reset late": {func(p *h2Peer, s uint32) {
			p.head(s, false, ":status", "200")
			p.WriteRSTStream(s, http2.ErrCodeCancel)
		}, nil, func(c *Counts) { c.FailedBy.Reset, c.Resets = n, n }},
		"malformed":    {func(p *h2Peer, s uint32) { p.head(s, true, "x", "y") }, nil, func(c *Counts) { c.FailedBy.Framing = n }},
		"wrong status": {func(p *h2Peer, s uint32) { p.head(s, true, ":status", "503") }, nil, func(c *Counts) { c.FailedBy.Status = n }},
		"wrong length": {func(p *h2Peer, s uint32) { p.head(s, true, ":status", "200") }, nil, func(c *Counts) { c.FailedBy.Body = n }},
		"right length": {func(p *h2Peer, s uint32) { p.answer(s) }, nil, func(c *Counts) { c.Completed = n }},
		"HEAD":         {func(p *h2Peer, s uint32) { p.head(s, true, ":status", "200", "content-length", "77") }, func(s *Spec) { s.Method = "HEAD" }, func(c *Counts) { c.Completed = n }},
		"204":          {func(p *h2Peer, s uint32) { p.head(s, true, ":status", "204") }, func(s *Spec) { s.Expect = Expect{Status: 204} }, func(c *Counts) { c.Completed = n }},
		"time-out":     {func(p *h2Peer, s uint32) { p.head(s, false, ":status", "200") }, func(s *Spec) { s.Timeout = 100 * time.Millisecond }, func(c *Counts) { c.FailedBy.Timeout = n }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newH2Script(t, func(p *h2Peer, _ int) {
				p.greet()
				for {
					stream, ok := p.request()
					if !ok {
						return
					}
					k.play(p, stream)
					p.out.Flush()
				}
			})
			spec := h2cSpec(1, 2*n)
			if k.spec != nil {
				k.spec(&spec)
			}
			g := connected(t, spec, s.target())
			got := runH2(t, g, Window{Rate: 200, Duration: n * time.Second / 200})
			var want Counts
			k.want(&want)
			require.Equal(t, want.FailedBy, got.FailedBy)
			require.Equal(t, want.Completed, got.Completed)
			require.Equal(t, want.Resets, got.Resets)
			require.Zero(t, got.ConnectionsClosed+got.ConnectionsOpened)
			require.EqualValues(t, 1, s.accepted.Load())
		})
	}
}

// A server that breaks HTTP/2: the requests on the connection have failed,
// and it is replaced.
func TestH2ProtocolErrorBreaksTheConnection(t *testing.T) {
	s := newH2Script(t, func(p *h2Peer, n int) {
		p.greet()
		if n > 0 {
			p.serve()
			return
		}
		for range 3 {
			p.request()
		}
		p.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, []byte{0, 0, 0, 0})
		p.out.Flush()
		for {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
			if g, ok := f.(*http2.GoAwayFrame); ok && g.ErrCode == http2.ErrCodeProtocol {
				p.s.requests.Add(1000)
			}
		}
	})
	g := connected(t, h2cSpec(1, 8), s.target())
	c := runH2(t, g, Window{Rate: 100, Duration: 300 * time.Millisecond})
	require.EqualValues(t, 1, c.ProtocolErrors)
	require.GreaterOrEqual(t, c.FailedBy.Framing, int64(3)) // and what was sent before the end was seen
	require.Equal(t, c.Failed, c.FailedBy.Framing)
	require.EqualValues(t, 30, c.Sent+c.Overflow)
	after := runH2(t, g, Window{Rate: 100, Duration: 50 * time.Millisecond})
	require.EqualValues(t, 5, after.Completed)
	require.EqualValues(t, 2, s.accepted.Load())
	require.EqualValues(t, 1000, s.requests.Load()/1000*1000, "the server is told why")
}

// A connection that ends with streams open, without GOAWAY: a request of
// which nothing has come is sent again, one in the middle of its answer has
// failed.
func TestH2ConnectionLost(t *testing.T) {
	s := newH2Script(t, func(p *h2Peer, n int) {
		p.greet()
		if n > 0 {
			p.serve()
			return
		}
		first, _ := p.request()
		p.answer(first)
		second, _ := p.request()
		p.head(second, false, ":status", "200", "content-length", "2")
		p.out.Flush()
		p.request()
		p.conn.(*net.TCPConn).CloseWrite() // a whole close could reset what the client has not read
		io.Copy(io.Discard, p.conn)
	})
	g := connected(t, h2cSpec(1, 8), s.target())
	c := runH2(t, g, Window{Rate: 20, Duration: 500 * time.Millisecond})
	require.EqualValues(t, 1, c.FailedBy.Closed)
	require.Positive(t, c.Resent) // more than one on a busy machine
	require.EqualValues(t, 1, c.ConnectionsClosed)
	require.Equal(t, c.Sent, c.Completed+1)
}

// A connection on which nothing comes any more takes no further request once
// one has timed out on it.
func TestH2DeadConnectionIsReplaced(t *testing.T) {
	s := newH2Script(t, func(p *h2Peer, n int) {
		p.greet()
		if n > 0 {
			p.serve()
			return
		}
		for {
			if _, ok := p.request(); !ok {
				return
			}
		}
	})
	spec := h2cSpec(1, 100)
	spec.Timeout = 150 * time.Millisecond
	g := connected(t, spec, s.target())
	c := runH2(t, g, Window{Rate: 100, Duration: time.Second})
	require.Positive(t, c.FailedBy.Timeout)
	require.Equal(t, c.Failed, c.FailedBy.Timeout)
	require.Positive(t, c.Completed)
	require.EqualValues(t, 1, c.ConnectionsOpened)
	require.EqualValues(t, 2, s.accepted.Load())
}

// A connection whose stream numbers are used up is replaced without a
// failure (golang/go#60036, envoy#19257).
func TestReportEnvoy19257StreamIDsRunOut(t *testing.T) {
	s := newH2Script(t, func(p *h2Peer, _ int) { p.greet(); p.serve() })
	g := connected(t, h2cSpec(1, 4), s.target())
	g.workers[0].conns[0].h2.codec.nextID = 1<<31 - 9 // 5 streams are left; the worker is parked
	c := runH2(t, g, Window{Rate: 50, Duration: 300 * time.Millisecond})
	require.EqualValues(t, 15, c.Sent+c.Overflow)
	require.Equal(t, c.Sent, c.Completed)
	require.EqualValues(t, 1, c.ConnectionsOpened)
	require.EqualValues(t, 2, s.accepted.Load())
}

// A window that ends with streams open counts them, and the next one is not
// troubled by their late answers.
func TestH2InFlightAtTheEnd(t *testing.T) {
	var mute atomic.Bool
	mute.Store(true)
	s := newH2Script(t, func(p *h2Peer, _ int) {
		p.greet()
		for {
			stream, ok := p.request()
			if !ok {
				return
			}
			if !mute.Load() {
				p.answer(stream)
			}
		}
	})
	g := connected(t, h2cSpec(2, 8), s.target())
	w := Window{Rate: 100, Duration: 100 * time.Millisecond, Drain: 20 * time.Millisecond}
	require.EqualValues(t, 10, runH2(t, g, w).InFlightAtEnd)
	mute.Store(false)
	w.Drain = 0
	require.EqualValues(t, 10, runH2(t, g, w).Completed)
}

// A connection that has carried its number of requests says that it goes and
// is replaced; no request is lost to that.
func TestH2Churn(t *testing.T) {
	const life = 7
	var farewells, tooMany atomic.Int64
	s := newH2Script(t, func(p *h2Peer, _ int) {
		p.greet()
		for n := 0; ; {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
			switch f := f.(type) {
			case *http2.MetaHeadersFrame:
				if n++; n > life {
					tooMany.Add(1)
				}
				p.s.requests.Add(1)
				p.answer(f.StreamID)
			case *http2.GoAwayFrame:
				if f.ErrCode == http2.ErrCodeNo {
					farewells.Add(1)
				}
			}
		}
	})
	spec := h2cSpec(2, 4)
	spec.Churn.Requests = life
	g := connected(t, spec, s.target())
	c := runH2(t, g, Window{Rate: 400, Duration: 500 * time.Millisecond})
	require.Equal(t, c.Sent, c.Completed)
	require.EqualValues(t, 200, c.Sent+c.Overflow)
	require.Zero(t, tooMany.Load())
	require.Zero(t, c.ConnectionsClosed+c.Resent+c.Failed)
	require.InDelta(t, float64(c.Completed)/life, float64(c.ConnectionsChurned), 3)
	require.Equal(t, c.Completed, s.requests.Load())
	require.Eventually(t, func() bool { return farewells.Load() == c.ConnectionsChurned }, 5*time.Second, 5*time.Millisecond)
}
