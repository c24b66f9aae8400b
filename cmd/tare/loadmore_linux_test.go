package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// burn keeps one CPU busy until the test ends.
func burn(t testing.TB, cpu int) {
	var stop atomic.Bool
	done := make(chan struct{})
	ready := make(chan error)
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with it, and the affinity with the thread
		var set unix.CPUSet
		set.Set(cpu)
		ready <- unix.SchedSetaffinity(0, &set)
		for !stop.Load() {
		}
	}()
	require.NoError(t, <-ready)
	t.Cleanup(func() {
		stop.Store(true)
		<-done
	})
}

func firstCPU(t testing.TB) int {
	var set unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &set))
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("no CPU")
	return 0
}

// Hyperfoil fails a run whose generator has no CPU to spare; so does this one,
// whoever uses it.
func TestReportHyperfoilNoHeadroom(t *testing.T) {
	s := serve(t, hello)
	cpu := firstCPU(t)
	burn(t, cpu)
	o := tare(t, "load", "--json", "--rate", "50", "--duration", "1s", "--max-late", "1m", "--queue", "1000", "--cpus", fmt.Sprint(cpu), s.URL)
	require.Equal(t, exitNoHeadroom, o.exit, "%s %s", o.out, o.errors)
	r := o.result(t)
	require.Less(t, *r.Headroom, 0.2)
	require.EqualValues(t, 50, r.Completed)
	require.Equal(t, []int{cpu}, r.Report.Generator.CPUs)
	require.Len(t, r.Problems, 1)
}

// A line on a terminal tells how far the load is, and is gone at the end.
func TestLoadLiveLine(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	defer master.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	defer terminal.Close()
	require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}))
	c := exec.Command(program, append([]string{"load", "--rate", "100", "--duration", "1600ms", s.URL}, calm...)...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, terminal
	require.NoError(t, c.Run())
	terminal.Close()
	said, _ := io.ReadAll(master) // ends in EIO
	require.Contains(t, string(said), " s of 1.6s: ")
	require.Contains(t, string(said), " sent, ")
	require.True(t, strings.HasSuffix(string(said), "\r\x1b[K"), "%q", said)
	for line := range strings.SplitSeq(string(said), "\r") {
		require.LessOrEqual(t, len(strings.TrimSuffix(line, "\x1b[K")), 59)
	}
	require.Contains(t, out.String(), "as asked")
	require.NotContains(t, out.String(), "\x1b")
}

// A search ends at what the server can do: two requests at a time, 20 ms
// each, are 100 a second.
func TestLoadSearch(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond)
		hello(w, r)
	})
	r, o := loadJSON(t, "--search", "--rate", "10", "--search-tolerance", "0.5", "--connections", "2", "--queue", "0", "--arrival", "uniform", "--duration", "300ms", s.URL)
	require.Zero(t, o.exit, o.errors+o.out)
	require.NotNil(t, r.Search)
	require.GreaterOrEqual(t, r.Search.Rate, 10.0)
	require.LessOrEqual(t, r.Search.Rate, 105.0)
	require.Greater(t, r.Search.Failed, r.Search.Rate)
	require.Equal(t, r.Search.Rate, r.RateAsked)
	require.True(t, r.AsAsked)
	total := int64(0)
	for _, trial := range r.Search.Trials {
		require.Equal(t, trial.Passed, len(trial.Problems) == 0)
		total++
	}
	require.Greater(t, total, int64(3))

	r, o = loadJSON(t, "--search", "--rate", "50", "--duration", "100ms", "--expect-status", "201", s.URL)
	require.Equal(t, exitNotAsAsked, o.exit)
	require.Zero(t, r.Search.Rate)
	require.Contains(t, strings.Join(r.Problems, "\n"), "no rate was as asked")
}

// k6#826: connections are opened faster than local ports come back. It is
// said before the load begins.
func TestReportK6PortsRunOut(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	c, wait := started(t, "load", "--rate", "100000", "--churn", "1", "--duration", "10m", "--connections", "1", s.URL)
	s.await(t, 1)
	require.NoError(t, c.Process.Signal(os.Interrupt))
	o := wait()
	require.Equal(t, exitInterrupted, o.exit)
	require.Contains(t, o.errors, "net.ipv4.ip_local_port_range")
}

// HTTP/2 without TLS.
func TestLoadH2C(t *testing.T) {
	t.Parallel()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	var proto atomic.Value
	plain := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto.Store(r.Proto)
		hello(w, r)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go plain.Serve(l)
	defer plain.Close()
	r, o := loadJSON(t, "--rate", "200", "--duration", "250ms", "--protocol", "h2c", "--connections", "2", "--streams", "10", "http://"+l.Addr().String())
	require.Zero(t, o.exit, o.errors+o.out)
	require.EqualValues(t, 50, r.Completed)
	require.EqualValues(t, 2, r.ConnectionsOpened)
	require.Equal(t, "HTTP/2.0", proto.Load())
}

// What a generator had done when it was killed is in the error.
func TestLoadLastSeen(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	c, wait := started(t, "load", "--json", "--rate", "200", "--duration", "10m", s.URL)
	s.await(t, 300) // past the first progress
	require.NoError(t, unix.Kill(childOf(t, c.Process.Pid), unix.SIGKILL))
	o := wait()
	require.Equal(t, exitError, o.exit)
	require.Contains(t, o.out, `"last_seen":{"at_ns":`)
	require.NotContains(t, o.out, `"sent":0,`)
}
