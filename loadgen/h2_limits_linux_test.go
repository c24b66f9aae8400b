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
