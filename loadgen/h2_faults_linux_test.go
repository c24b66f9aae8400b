package loadgen

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

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
