package loadgen

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

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
