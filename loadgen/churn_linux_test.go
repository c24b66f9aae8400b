package loadgen

import (
	"bufio"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lifetimes plays a server that keeps connections and notes how many requests
// each carried, in the order of their ends.
type lifetimes struct {
	mu   sync.Mutex
	ends []connectionEnd
}

type connectionEnd struct {
	number, requests int
	total            int64 // requests of all connections by then
}

func (l *lifetimes) play(s *script, c net.Conn, in *bufio.Reader, n int) {
	k := 0
	for ; s.request(in); k++ {
		io.WriteString(c, okAnswer)
	}
	l.mu.Lock()
	l.ends = append(l.ends, connectionEnd{n, k, s.requests.Load()})
	l.mu.Unlock()
}

// Every connection carries exactly the stated number of requests, and the
// generator closes it: nothing is lost.
func TestChurnEveryNRequests(t *testing.T) {
	t.Parallel()
	const every, connections = 5, 10
	for _, together := range []bool{false, true} {
		var l lifetimes
		s := newScript(t, l.play)
		g := connected(t, Spec{Connections: connections, Churn: Churn{Requests: every, Together: together}}, s.target())
		r := runWindow(t, g, Window{Rate: 1000, Duration: 400 * time.Millisecond})
		c := r.Total()
		require.Zero(t, c.Failed)
		require.Equal(t, c.Sent, c.Completed)
		require.Zero(t, c.ConnectionsClosed)
		require.Zero(t, c.ConnectFailures)
		require.Zero(t, c.Resent)
		opened := c.ConnectionsBefore + c.ConnectionsOpened
		require.Eventually(t, func() bool { return s.accepted.Load() >= opened }, 10*time.Second, time.Millisecond)
		require.NoError(t, g.Close())
		s.kill()
		require.EqualValues(t, len(l.ends), opened)
		whole, short := int64(0), 0
		for _, e := range l.ends {
			require.LessOrEqual(t, e.requests, every)
			if e.requests == every {
				whole++
			} else if e.number >= connections { // one that replaced another: cut short by the end only
				short++
			}
		}
		require.LessOrEqual(t, short, connections)
		if together {
			require.Equal(t, whole, c.ConnectionsChurned)
			// ceil(sent/N), but for those that the end cut short.
			require.GreaterOrEqual(t, c.ConnectionsBefore+c.ConnectionsOpened, (c.Sent+every-1)/every)
			require.LessOrEqual(t, c.ConnectionsBefore+c.ConnectionsOpened, c.Sent/every+connections)
		} else {
			require.Greater(t, c.ConnectionsChurned, c.Sent/every-connections)
		}
	}
}

// Spread, the ends come one by one; together, they come at once.
func TestChurnSpreadOrTogether(t *testing.T) {
	t.Parallel()
	const every, connections = 40, 20
	for _, together := range []bool{false, true} {
		var l lifetimes
		s := newScript(t, l.play)
		g := connected(t, Spec{Connections: connections, Churn: Churn{Requests: every, Together: together}}, s.target())
		// One request at a time, so that the connections take turns, and as
		// many as bring every first connection to its end.
		runUntil(t, g, Window{InFlight: 1, Duration: 50 * time.Millisecond}, s, every*connections+2*connections)
		require.NoError(t, g.Close())
		s.kill()
		var first []int64 // requests of all connections at the ends of the first ones
		for _, e := range l.ends {
			if e.number < connections {
				first = append(first, e.total)
			}
		}
		require.Len(t, first, connections)
		span := first[len(first)-1] - first[0]
		if together {
			require.Less(t, span, int64(every*connections/4))
		} else {
			require.Greater(t, span, int64(every*connections/2))
		}
	}
}

// runUntil runs windows until the server has seen so many requests.
func runUntil(t *testing.T, g *Generator, w Window, s *script, requests int64) (sum Counts) {
	for range 1000 {
		r, err := g.Run(t.Context(), w)
		require.NoError(t, err)
		c := r.Total()
		sum.add(&c)
		if s.requests.Load() >= requests {
			return sum
		}
	}
	t.Fatalf("%d requests after 1000 windows", s.requests.Load())
	return sum
}

// A closed loop goes on over connections that are replaced.
func TestChurnInAClosedLoop(t *testing.T) {
	t.Parallel()
	var l lifetimes
	s := newScript(t, l.play)
	g := connected(t, Spec{Connections: 4, Pipeline: 3, Churn: Churn{Requests: 10}}, s.target())
	c := runUntil(t, g, Window{InFlight: 6, Duration: 200 * time.Millisecond}, s, 200)
	require.Equal(t, c.Sent, c.Completed)
	require.Equal(t, s.requests.Load(), c.Sent)
	require.Greater(t, c.ConnectionsChurned, int64(4))
	opened := c.ConnectionsOpened + c.ConnectionsBefore - 4
	require.GreaterOrEqual(t, opened, c.ConnectionsChurned-4) // the last ones may not be replaced yet
	require.LessOrEqual(t, opened, c.ConnectionsChurned)
	require.NoError(t, g.Close())
	s.kill()
	for _, e := range l.ends {
		require.LessOrEqual(t, e.requests, 10)
	}
}

// The churn of a connection goes on from window to window.
func TestChurnOverWindows(t *testing.T) {
	t.Parallel()
	var l lifetimes
	s := newScript(t, l.play)
	g := connected(t, Spec{Connections: 1, Churn: Churn{Requests: 7, Together: true}}, s.target())
	churned := int64(0)
	for range 4 {
		r, err := g.Run(t.Context(), Window{InFlight: 1, Duration: 20 * time.Millisecond})
		require.NoError(t, err)
		churned += r.Total().ConnectionsChurned
	}
	total := s.requests.Load()
	require.NoError(t, g.Close())
	s.kill()
	require.Equal(t, total/7, churned)
}
