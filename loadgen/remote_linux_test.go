package loadgen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The test binary runs itself again as a generator process.
const serveVariable = "TARE_TEST_LOADGEN_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(portsVariable) != "" {
		if err := json.NewEncoder(os.Stdout).Encode(portsMain()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// generatorProcess starts Serve in a process of its own.
func generatorProcess(t testing.TB) (*Remote, *exec.Cmd) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), serveVariable+"=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	require.NoError(t, err)
	// Not StdoutPipe: Wait would close it under the Remote's reader.
	out, childOut, err := os.Pipe()
	require.NoError(t, err)
	c.Stdout = childOut
	require.NoError(t, c.Start())
	childOut.Close()
	r := NewRemote(in, out)
	t.Cleanup(func() {
		in.Close()
		c.Wait() // its exit is the test's to judge
		out.Close()
	})
	return r, c
}

func TestRemoteRuns(t *testing.T) {
	t.Parallel()
	a, b := newScript(t, answering(okAnswer)), newScript(t, answering(okAnswer))
	g, c := generatorProcess(t)
	ctx := context.Background()
	require.NoError(t, g.Open(ctx, Spec{Connections: 50, MaxLate: time.Hour}, []Target{a.target(), b.target()}))
	require.NoError(t, g.Connect(ctx))
	for range 2 {
		r, err := g.Run(ctx, Window{Rate: 100, Duration: 500 * time.Millisecond})
		require.NoError(t, err)
		require.NoError(t, r.Check())
		require.EqualValues(t, 100, r.Total().Completed)
		require.Equal(t, c.Process.Pid, r.Generator.Pid)
		require.Zero(t, r.Generator.GarbageCollections)
		sum, err := MergeDistributions(r.Targets[0].Response, r.Targets[1].Response)
		require.NoError(t, err)
		require.EqualValues(t, 100, sum.Count)
		require.Equal(t, max(r.Targets[0].Response.Max, r.Targets[1].Response.Max), sum.Max)
	}
	require.EqualValues(t, 100, a.requests.Load())
	require.EqualValues(t, 100, b.requests.Load())
	require.NoError(t, g.Close())
	require.NoError(t, c.Wait()) // its input has ended, and so has it
}

// Errors arrive as the types they were, with what they wrap.
func TestRemoteErrors(t *testing.T) {
	t.Parallel()
	g, c := generatorProcess(t)
	ctx := context.Background()
	require.ErrorIs(t, g.Connect(ctx), ErrClosed)
	var wrong *InvalidError
	require.ErrorAs(t, g.Open(ctx, Spec{Rate: math.NaN()}, nil), &wrong)
	require.Equal(t, "Spec.Rate", wrong.Field)
	require.ErrorAs(t, g.Open(ctx, Spec{}, []Target{{Address: "nowhere"}}), &wrong)
	require.Equal(t, "Targets[0].Address", wrong.Field)

	s := newScript(t, answering(okAnswer))
	target := s.target()
	require.NoError(t, g.Open(ctx, Spec{Connections: 2}, []Target{target}))
	_, err := g.Run(ctx, Window{Rate: math.NaN(), Duration: time.Second})
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "Window.Rate", wrong.Field)
	_, err = g.Run(ctx, Window{Rate: 1})
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "Window.Duration", wrong.Field)

	s.kill()
	err = g.Connect(ctx)
	requireConnectError(t, err, ConnectRefused, unix.ECONNREFUSED)
	var failed *ConnectError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, target, failed.Target)
	require.Contains(t, err.Error(), "start the server")

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, g.Connect(canceled), context.Canceled)

	require.NoError(t, c.Process.Kill())
	c.Wait()
	require.Eventually(t, func() bool { return errors.Is(g.Connect(ctx), ErrClosed) }, 5*time.Second, time.Millisecond)
	require.NoError(t, g.Close())
}

func TestRemoteCanceledWindow(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g, _ := generatorProcess(t)
	ctx := context.Background()
	require.NoError(t, g.Open(ctx, Spec{Connections: 20}, []Target{s.target()}))
	require.NoError(t, g.Connect(ctx))
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	r, err := g.Run(short, Window{Rate: 100, Duration: time.Hour})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, r.Interrupted)
	require.NoError(t, r.Check())
	canceled, cancel := context.WithCancel(ctx)
	seen := s.requests.Load()
	go func() {
		for s.requests.Load() < seen+5 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	r, err = g.Run(canceled, Window{Rate: 100, Duration: time.Hour})
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, r.Interrupted)
	r, err = g.Run(ctx, Window{Rate: 100, Duration: 100 * time.Millisecond})
	require.NoError(t, err)
	require.EqualValues(t, 10, r.Total().Scheduled)
}

// The end of the input, which a dead parent leaves, ends a running window
// and the process.
func TestServeEndsWithItsInput(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g, c := generatorProcess(t)
	ctx := context.Background()
	require.NoError(t, g.Open(ctx, Spec{}, []Target{s.target()}))
	require.NoError(t, g.Connect(ctx))
	result := make(chan error, 1)
	go func() {
		_, err := g.Run(ctx, Window{Rate: 100, Duration: time.Hour})
		result <- err
	}()
	require.Eventually(t, func() bool { return s.requests.Load() > 0 }, 5*time.Second, time.Millisecond)
	require.NoError(t, g.in.(io.Closer).Close())
	require.NoError(t, c.Wait())
	require.Error(t, <-result) // interrupted, or gone before the report could be read
}

func TestServeRefusesWhatIsNoCommand(t *testing.T) {
	require.NoError(t, Serve(strings.NewReader(""), io.Discard))
	require.NoError(t, Serve(strings.NewReader(`{"id":1,"comm`), io.Discard)) // cut short by a kill
	require.ErrorContains(t, Serve(strings.NewReader("hello\n"), io.Discard), "hello")
	var out strings.Builder
	require.NoError(t, Serve(strings.NewReader(`{"id":7,"command":"dance"}`+"\n"), &out))
	require.Contains(t, out.String(), `"id":7`)
	require.Contains(t, out.String(), "dance")
}

// A generator that is stopped for half a second makes up for nothing: what
// it is too late for is overflow, and says so (fortio#543).
func TestReportFortio543StoppedGeneratorMakesNoBurst(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g, c := generatorProcess(t)
	ctx := context.Background()
	const maxLate = 50 * time.Millisecond
	require.NoError(t, g.Open(ctx, Spec{MaxLate: maxLate, Connections: 200}, []Target{s.target()}))
	require.NoError(t, g.Connect(ctx))
	go func() {
		time.Sleep(200 * time.Millisecond)
		c.Process.Signal(unix.SIGSTOP)
		time.Sleep(500 * time.Millisecond)
		c.Process.Signal(unix.SIGCONT)
	}()
	r, err := g.Run(ctx, Window{Rate: 1000, Duration: time.Second})
	require.NoError(t, err)
	counts := r.Total()
	require.EqualValues(t, 1000, counts.Scheduled)
	require.Greater(t, counts.OverflowLate, int64(300))
	require.LessOrEqual(t, r.Generator.Lateness.Max, int64(maxLate)*1001/1000) // three digits
}

// More workers than CPUs, each with its part of the connections.
func TestRemoteWithManyWorkers(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g, _ := generatorProcess(t)
	ctx := context.Background()
	require.NoError(t, g.Open(ctx, Spec{Workers: 5, Connections: 53, MaxLate: time.Hour}, []Target{s.target()}))
	require.NoError(t, g.Connect(ctx))
	r, err := g.Run(ctx, Window{Rate: 100, Duration: 500 * time.Millisecond})
	require.NoError(t, err)
	require.EqualValues(t, 50, r.Total().Completed)
	require.EqualValues(t, 53, r.Total().ConnectionsBefore)
	tids := map[int]bool{}
	for _, w := range r.Generator.Workers {
		require.EqualValues(t, 10, w.Sent)
		tids[w.Tid] = true
	}
	require.Len(t, tids, 5)
}
