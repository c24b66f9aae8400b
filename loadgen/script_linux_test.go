package loadgen

import (
	"bufio"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script is a raw TCP server: it plays its part on each accepted connection
// (n counts from 0) and closes it when the part returns.
type script struct {
	listener  net.Listener
	requests  atomic.Int64
	accepted  atomic.Int64
	mu        sync.Mutex
	open      map[net.Conn]bool
	finishing sync.WaitGroup
}

func newScript(t testing.TB, play func(s *script, c net.Conn, in *bufio.Reader, n int)) *script {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return scriptOn(t, l, play)
}

func scriptOn(t testing.TB, l net.Listener, play func(s *script, c net.Conn, in *bufio.Reader, n int)) *script {
	s := &script{listener: l, open: map[net.Conn]bool{}}
	s.finishing.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			s.mu.Lock()
			s.open[c] = true
			s.mu.Unlock()
			s.finishing.Go(func() {
				defer c.Close()
				play(s, c, bufio.NewReader(c), n)
			})
		}
	})
	t.Cleanup(s.kill)
	return s
}

// kill ends the listener and every connection.
func (s *script) kill() {
	s.listener.Close()
	s.mu.Lock()
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	s.finishing.Wait()
}

func (s *script) target() Target { return Target{Name: "script", Address: s.listener.Addr().String()} }

// request reads one request without a body; false at the end.
func (s *script) request(in *bufio.Reader) bool {
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return false
		}
		if len(line) == 2 && !first {
			s.requests.Add(1)
			return true
		}
	}
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// answering plays a server that gives the same answer to every request.
func answering(answer string) func(*script, net.Conn, *bufio.Reader, int) {
	out := []byte(answer)
	return func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		for s.request(in) {
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	}
}

// connected makes a generator with its connections open. Lateness is no
// subject of these tests, which share a busy machine.
func connected(t testing.TB, s Spec, targets ...Target) *Generator {
	setDefault(&s.MaxLate, time.Hour)
	g, err := New(s, targets)
	require.NoError(t, err)
	t.Cleanup(func() { g.Close() })
	require.NoError(t, g.Connect(context.Background()))
	return g
}

// runWindow runs a window that nothing interrupts, and checks its identities.
func runWindow(t testing.TB, g *Generator, w Window) Report {
	r, err := g.Run(context.Background(), w)
	require.NoError(t, err)
	require.NoError(t, r.Check())
	require.False(t, r.Interrupted)
	for _, tr := range r.Targets {
		require.Equal(t, tr.Planned, tr.Scheduled)
		require.Equal(t, tr.Completed, tr.Response.Count)
		require.Equal(t, tr.Completed, tr.Service.Count)
	}
	require.GreaterOrEqual(t, r.EndNanoseconds-r.StartNanoseconds, int64(w.Duration))
	require.Equal(t, r.Total().Sent, r.Generator.Lateness.Count)
	return r
}
