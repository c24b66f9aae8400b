package loadgen

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A server that stops for a second under 1,000 a second: the arrivals of that
// second are overflow, none is sent late, and nothing bursts afterwards.
func TestStallMakesOverflowNotLateRequests(t *testing.T) {
	const rate, connections = 1000, 4
	var gate sync.RWMutex
	target, _ := httpTarget(t, "server", func(w http.ResponseWriter, r *http.Request) {
		gate.RLock()
		defer gate.RUnlock()
		io.WriteString(w, "ok")
	})
	g := connected(t, Spec{Connections: connections}, target)
	var stalled time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(300 * time.Millisecond)
		gate.Lock()
		at := time.Now()
		time.Sleep(time.Second)
		stalled = time.Since(at)
		gate.Unlock()
	}()
	r := runWindow(t, g, Window{Rate: rate, Duration: 2 * time.Second, Seed: 4})
	<-done
	c := r.Total()
	expected := int64(stalled.Seconds() * rate)
	require.EqualValues(t, 2000, c.Scheduled)
	require.Equal(t, c.Overflow, c.OverflowBusy)
	// A generator that did not get its CPU at the end of the stall sends some
	// of these late (MaxLate is off here), hence the half.
	require.Greater(t, c.Overflow, expected/2)
	require.Equal(t, c.Sent, c.Completed)
	require.LessOrEqual(t, c.MaxInFlight, int64(connections))
	require.GreaterOrEqual(t, r.Targets[0].Response.Max, int64(500*time.Millisecond))
	t.Logf("stall %v: overflow %d", stalled, c.Overflow)
}

// A request on a reused connection that the server closed unanswered is
// written once more, with its first intended time (golang/go#22158, #19943,
// fasthttp#189).
func TestReportGo22158LostOnReusedConnectionIsSentAgain(t *testing.T) {
	t.Parallel()
	var lost atomic.Int64
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		for k := 0; s.request(in); k++ {
			if n%25 == 0 && n < 50 && k == 1 { // two connections that are not neighbours, at their second request
				lost.Add(1)
				return
			}
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 50, Queue: 100}, s.target())
	c := runWindow2(t, g, Window{Rate: 200, Duration: 500 * time.Millisecond}).Total()
	require.Zero(t, c.Overflow)
	require.EqualValues(t, 2, lost.Load())
	require.EqualValues(t, 2, c.Resent)
	require.EqualValues(t, 2, c.ConnectionsClosed)
	require.EqualValues(t, 100, c.Completed)
	require.EqualValues(t, 102, s.requests.Load())
}

// A request that is lost twice has failed as lost.
func TestLostTwice(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		if s.request(in) {
			io.WriteString(c, okAnswer)
			s.request(in)
		}
	})
	g := connected(t, Spec{Connections: 4}, s.target())
	c := runWindow(t, g, Window{Rate: 50, Duration: 400 * time.Millisecond}).Total()
	require.Positive(t, c.FailedBy.Lost)
	require.EqualValues(t, 20, c.Completed+c.FailedBy.Lost+c.Overflow)
	require.Equal(t, s.requests.Load(), c.Sent+c.Resent)
}

// Connections that the server closes while idle are counted and replaced; no
// request is lost to them.
func TestIdleCloseIsReplaced(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		if n < 5 {
			time.Sleep(100 * time.Millisecond)
			return
		}
		answering(okAnswer)(s, c, in, n)
	})
	g := connected(t, Spec{Connections: 5}, s.target())
	c := runWindow(t, g, Window{Rate: 1, Duration: 1 * time.Second, Seed: 6}).Total()
	require.EqualValues(t, 5, c.ConnectionsClosed+c.ConnectionsClosedBefore)
	require.EqualValues(t, 1, c.Completed+c.FailedBy.Closed)
	opened := c.ConnectionsBefore + c.ConnectionsOpened

	c = runWindow(t, g, Window{Rate: 20, Duration: 250 * time.Millisecond}).Total()
	require.Zero(t, c.ConnectionsClosed)
	require.EqualValues(t, 10, opened+c.ConnectionsBefore+c.ConnectionsOpened)
	require.EqualValues(t, 5, c.Completed)
}

func TestTimeoutAndReplacement(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		if n < 4 {
			s.request(in)
			in.ReadByte() // never answers
			return
		}
		answering(okAnswer)(s, c, in, n)
	})
	g := connected(t, Spec{Connections: 4, Timeout: 500 * time.Millisecond}, s.target())
	c := runWindow(t, g, Window{Rate: 100, Duration: 1500 * time.Millisecond}).Total()
	require.EqualValues(t, 4, c.FailedBy.Timeout)
	require.EqualValues(t, 4, c.ConnectionsOpened)
	require.Equal(t, c.Sent, c.Completed+4)
	require.Positive(t, c.Completed)
}

// What is not answered within the drain is in flight at the end, and the
// next window starts on whole connections (nighthawk#804, #873).
func TestReportNighthawk804DrainIsBounded(t *testing.T) {
	t.Parallel()
	var mute atomic.Bool
	mute.Store(true)
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		for s.request(in) {
			if mute.Load() {
				in.ReadByte()
				return
			}
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 8}, s.target())
	w := Window{Rate: 100, Duration: 100 * time.Millisecond, Drain: 50 * time.Millisecond}
	r := runWindow(t, g, w)
	c := r.Total()
	require.EqualValues(t, 8, c.InFlightAtEnd)
	require.EqualValues(t, 2, c.OverflowBusy)
	require.Less(t, r.EndNanoseconds-r.StartNanoseconds, int64(3*time.Second))
	mute.Store(false)
	w.Rate, w.Drain = 80, time.Second
	c = runWindow(t, g, w).Total()
	require.EqualValues(t, 8, c.ConnectionsBefore)
	require.EqualValues(t, 8, c.Completed)
	require.Zero(t, c.ConnectionsClosed)
}

// A server killed in the middle: every arrival still has one end, failed
// connects are in the report, and the next window is refused by name
// (Hyperfoil#900).
func TestReportHyperfoil900ServerKilledMidRun(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 16}, s.target())
	go func() {
		for s.requests.Load() < 50 {
			time.Sleep(time.Millisecond)
		}
		s.kill()
	}()
	c := runWindow(t, g, Window{Rate: 500, Duration: 1500 * time.Millisecond}).Total()
	require.Positive(t, c.Completed)
	require.Positive(t, c.OverflowDown, "%+v", c)
	require.Positive(t, c.ConnectFailures)
	require.EqualValues(t, 16, c.ConnectionsClosed)
	_, err := g.Run(context.Background(), Window{Rate: 10, Duration: time.Second})
	requireConnectError(t, err, ConnectRefused, unix.ECONNREFUSED)
}

func requireConnectError(t *testing.T, err error, class ConnectClass, cause error) {
	t.Helper()
	var failed *ConnectError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, class, failed.Class, "%v", err)
	require.ErrorIs(t, err, cause)
}

func TestConnectErrors(t *testing.T) {
	t.Parallel()
	connect := func(ctx context.Context, s Spec, address string) error {
		g, err := New(s, []Target{{Name: "x", Address: address}})
		require.NoError(t, err)
		defer g.Close()
		return g.Connect(ctx)
	}
	ctx := context.Background()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	l.Close()
	requireConnectError(t, connect(ctx, Spec{}, address), ConnectRefused, unix.ECONNREFUSED)

	var dns *net.DNSError
	err = connect(ctx, Spec{}, "no-such-host.invalid:80")
	require.ErrorAs(t, err, &dns)
	var failed *ConnectError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, ConnectResolve, failed.Class)

	requireConnectError(t, connect(ctx, Spec{Connections: maxConnections}, address), ConnectFiles, unix.EMFILE)

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, connect(canceled, Spec{}, "127.0.0.1:9"), context.Canceled)
}

// A full backlog does not answer: the deadline ends it.
func TestConnectDeadline(t *testing.T) {
	t.Parallel()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 1))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	address := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: name.(*syscall.SockaddrInet4).Port}
	g, err := New(Spec{Connections: 8}, []Target{{Name: "full", Address: address.String()}})
	require.NoError(t, err)
	defer g.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	requireConnectError(t, g.Connect(ctx), ConnectTimeout, context.DeadlineExceeded)
}

// A context that ends stops the window early; the report is whole.
func TestCanceledWindow(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 40, Workers: 2}, s.target())
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(150*time.Millisecond, func() { cancel(cause) })
	r, err := g.Run(ctx, Window{Rate: 200, Duration: time.Hour})
	require.ErrorIs(t, err, cause)
	require.True(t, r.Interrupted)
	require.NoError(t, r.Check())
	c := r.Total()
	require.EqualValues(t, 200*3600, c.Planned)
	require.Less(t, c.Scheduled, int64(200*60))
	require.Equal(t, c.Sent, c.Completed)
	// The generator is as good as before.
	require.EqualValues(t, 20, runWindow(t, g, Window{Rate: 200, Duration: 100 * time.Millisecond}).Total().Completed)
}

func TestClosedAndUnconnected(t *testing.T) {
	t.Parallel()
	g, err := New(Spec{}, []Target{{Name: "x", Address: "127.0.0.1:9"}})
	require.NoError(t, err)
	_, err = g.Run(context.Background(), Window{Rate: 1, Duration: time.Second})
	require.ErrorContains(t, err, "Connect first")
	require.NoError(t, g.Close())
	require.NoError(t, g.Close())
	_, err = g.Run(context.Background(), Window{Rate: 1, Duration: time.Second})
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, g.Connect(context.Background()), ErrClosed)
}

func TestConnectClasses(t *testing.T) {
	for errno, class := range map[syscall.Errno]ConnectClass{
		unix.ECONNREFUSED: ConnectRefused, unix.EADDRNOTAVAIL: ConnectPorts, unix.EMFILE: ConnectFiles,
		unix.ENFILE: ConnectFiles, unix.ETIMEDOUT: ConnectTimeout, unix.EHOSTUNREACH: ConnectOther,
	} {
		require.Equal(t, class, connectClass(errno))
		require.Contains(t, (&ConnectError{Class: class, Err: errno}).Error(), string(class)+": ")
	}
}

// One request in a window of half a slot may be due after its end: it still
// has its whole drain.
func TestArrivalBehindTheEndIsDrained(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		s.request(in)
		in.ReadByte() // never answers
	})
	g := connected(t, Spec{Connections: 1}, s.target())
	for seed := range uint64(5) {
		w := Window{Targets: []int{0}, Rate: 10, Duration: 50 * time.Millisecond, Seed: seed, Drain: time.Millisecond}
		due := walk(mustSchedule(t, Jitter, w), 0, 1)
		r := runWindow(t, g, w)
		require.EqualValues(t, 1, r.Total().InFlightAtEnd)
		require.GreaterOrEqual(t, r.EndNanoseconds-r.StartNanoseconds, due[0].offset+int64(w.Drain))
	}
}
