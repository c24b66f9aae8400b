package loadgen

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A closed loop keeps exactly the stated number of requests in flight.
func TestClosedLoop(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 3} {
		s := newScript(t, answering(okAnswer))
		g := connected(t, Spec{Connections: 8, Workers: workers}, s.target())
		r, err := g.Run(t.Context(), Window{InFlight: 5, Duration: 300 * time.Millisecond})
		for range 20 { // the worker may not get its CPU within a window
			if err == nil && r.Total().Sent > 5 {
				break
			}
			s.requests.Store(0)
			r, err = g.Run(t.Context(), Window{InFlight: 5, Duration: 300 * time.Millisecond})
		}
		require.NoError(t, err)
		c := r.Total()
		require.EqualValues(t, 5, c.MaxInFlight)
		require.Greater(t, c.Completed, int64(5))
		require.Equal(t, c.Scheduled, c.Completed)
		require.Equal(t, c.Planned, c.Scheduled)
		require.Equal(t, s.requests.Load(), c.Completed)
		require.Zero(t, c.Overflow)
		require.Equal(t, r.Targets[0].Response, r.Targets[0].Service)
		require.Zero(t, r.Generator.Lateness.Count)
		require.GreaterOrEqual(t, r.EndNanoseconds-r.StartNanoseconds, int64(300*time.Millisecond))
	}
}

// Each target of a closed loop has its own requests in flight, also where
// the other is slow.
func TestClosedLoopOfTwoTargets(t *testing.T) {
	t.Parallel()
	fast := newScript(t, answering(okAnswer))
	slow := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		for s.request(in) {
			time.Sleep(50 * time.Millisecond)
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 4}, fast.target(), slow.target())
	r, err := g.Run(t.Context(), Window{InFlight: 2, Duration: 300 * time.Millisecond})
	require.NoError(t, err)
	require.LessOrEqual(t, r.Targets[1].Completed, int64(14))
	require.Positive(t, r.Targets[1].Completed)
	require.Greater(t, r.Targets[0].Completed, r.Targets[1].Completed)
	require.EqualValues(t, 2, r.Targets[0].MaxInFlight)
}

// Connections that close do not end a closed loop, and what was lost on them
// is sent again.
func TestClosedLoopOverConnectionsThatClose(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		for k := 0; s.request(in); k++ {
			if k == 20 {
				return // unanswered
			}
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 4}, s.target())
	c := runUntil(t, g, Window{InFlight: 4, Duration: 200 * time.Millisecond}, s, 200)
	require.Positive(t, c.Resent)
	require.Equal(t, c.Sent, c.Completed+c.FailedBy.Lost)
	require.Equal(t, s.requests.Load(), c.Sent+c.Resent)
}

// Pipelined answers arrive several in one read and split anywhere; each
// request counts once (wg/wrk#438 counted half).
func TestReportWrk438PipelinedRequestsCountOnce(t *testing.T) {
	t.Parallel()
	const depth = 8
	for _, piece := range []int{1 << 20, 7} {
		s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
			var out []byte
			for s.request(in) {
				out = append(out, okAnswer...)
				if in.Buffered() > 0 {
					continue
				}
				for len(out) > 0 {
					n, err := c.Write(out[:min(piece, len(out))])
					if err != nil {
						return
					}
					out = out[n:]
				}
			}
		})
		g := connected(t, Spec{Connections: 3, Pipeline: depth}, s.target())
		r, err := g.Run(t.Context(), Window{InFlight: 3 * depth, Duration: 200 * time.Millisecond})
		require.NoError(t, err)
		c := r.Total()
		require.EqualValues(t, 3*depth, c.MaxInFlight)
		require.GreaterOrEqual(t, c.Completed, int64(depth*3))
		require.Equal(t, s.requests.Load(), c.Completed)
		require.Equal(t, c.Scheduled, c.Completed)
		require.Equal(t, c.Completed*int64(len(okAnswer)), c.BytesIn)
		require.Equal(t, c.Sent*int64(len(g.workers[0].targets[0].requests[0])), c.BytesOut)

		// Open loop: more requests than connections are in flight.
		r = runWindow(t, g, Window{Rate: 500, Duration: 200 * time.Millisecond})
		require.EqualValues(t, 100, r.Total().Completed+r.Total().OverflowBusy)
		require.Zero(t, r.Total().Failed)
	}
}

// A connection that ends between pipelined answers: what was answered
// counts, the rest is sent again.
func TestPipelineOnAConnectionThatEnds(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		for k := 0; s.request(in); k++ {
			if k == 10 && broken.CompareAndSwap(false, true) {
				return
			}
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 1, Pipeline: 4}, s.target())
	c := runUntil(t, g, Window{InFlight: 4, Duration: 100 * time.Millisecond}, s, 30)
	require.EqualValues(t, 1, c.ConnectionsClosed)
	require.Equal(t, c.Sent, c.Completed)
	require.Positive(t, c.Resent)
	require.LessOrEqual(t, c.Resent, int64(4))
}

// A server that says close after an answer with others behind it.
func TestPipelineWithConnectionClose(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		for k := 0; s.request(in); k++ {
			if k == 5 {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
				return
			}
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 2, Pipeline: 4}, s.target())
	c := runUntil(t, g, Window{InFlight: 8, Duration: 200 * time.Millisecond}, s, 60)
	require.Greater(t, c.ConnectionsClosed, int64(2))
	require.Equal(t, c.Sent, c.Completed+c.FailedBy.Lost)
	require.Greater(t, c.Completed, c.FailedBy.Lost)
}

// Idle holds connections and sends nothing.
func TestIdleWindow(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		if n == 0 {
			time.Sleep(100 * time.Millisecond)
			return // it is replaced
		}
		answering(okAnswer)(s, c, in, n)
	})
	g := connected(t, Spec{Connections: 5}, s.target())
	var sum Counts
	for s.accepted.Load() < 6 {
		r := runWindow(t, g, Window{Idle: true, Duration: 200 * time.Millisecond})
		c := r.Total()
		sum.add(&c)
		require.Less(t, r.Generator.Workers[0].Waits, int64(100))
	}
	c := runWindow(t, g, Window{Idle: true, Duration: 10 * time.Millisecond}).Total()
	sum.add(&c)
	require.Zero(t, sum.Planned+sum.Scheduled+sum.Sent+sum.BytesOut)
	require.EqualValues(t, 6, sum.ConnectionsOpened+sum.ConnectionsBefore)
	require.EqualValues(t, 1, sum.ConnectionsClosed+sum.ConnectionsClosedBefore)
	require.Zero(t, s.requests.Load())
}
