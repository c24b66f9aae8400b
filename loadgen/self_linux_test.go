package loadgen

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

func contextWithTimeout(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// A generator process that is killed leaves what it told last, whose
// identities hold.
func TestKilledGeneratorLeavesItsProgress(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g, c := generatorProcess(t)
	ctx := context.Background()
	require.NoError(t, g.Open(ctx, Spec{Connections: 20, Workers: 2, Queue: 10, MaxLate: time.Hour}, []Target{s.target()}))
	require.NoError(t, g.Connect(ctx))
	result := make(chan error, 1)
	go func() {
		_, err := g.Run(ctx, Window{Rate: 2000, Duration: time.Hour, WarmUp: 50 * time.Millisecond, ProgressEvery: 10 * time.Millisecond})
		result <- err
	}()
	last := Progress{}
	for range 20 {
		require.Eventually(t, func() bool { return g.Progress().Scheduled > last.Scheduled }, 10*time.Second, time.Millisecond)
		last = g.Progress()
		require.NoError(t, last.Check())
	}
	require.NoError(t, c.Process.Kill())
	require.ErrorIs(t, <-result, ErrClosed)
	last = g.Progress()
	require.NoError(t, last.Check())
	require.Positive(t, last.Completed)
	require.EqualValues(t, 20, last.Open)
	require.LessOrEqual(t, last.Completed, s.requests.Load())
}

func TestProgressOfAGenerator(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 20}, s.target())
	require.Zero(t, g.Progress())
	runWindow(t, g, Window{Rate: 100, Duration: 200 * time.Millisecond, ProgressEvery: time.Millisecond})
	p := g.Progress()
	require.NoError(t, p.Check())
	require.EqualValues(t, 20, p.Completed)
	require.Zero(t, p.InFlight)
	require.Error(t, Progress{Scheduled: 1}.Check())
	require.Error(t, Progress{Scheduled: 1, Sent: 1}.Check())
}

// A busy loop of somebody else on the generator's CPU is seen, and so is the
// generator's own work.
func TestHeadroomSeesABusyLoopOnTheCPU(t *testing.T) {
	s := newScript(t, answering(okAnswer))
	g, c := generatorProcess(t)
	ctx := t.Context()
	require.NoError(t, g.Open(ctx, Spec{Connections: 4, MaxLate: time.Hour}, []Target{s.target()}))
	all, err := sys.GetAffinity(0)
	require.NoError(t, err)
	cpu := all[len(all)-1]
	pinTo(t, c.Process.Pid, cpu)
	require.NoError(t, g.Connect(ctx))
	stop := spinOn(t, cpu)
	r, err := g.Run(ctx, Window{Rate: 50, Duration: 500 * time.Millisecond})
	stop()
	require.NoError(t, err)
	require.Equal(t, []int{cpu}, r.Generator.CPUs)
	require.NotNil(t, r.Generator.Headroom)
	require.Less(t, *r.Generator.Headroom, 0.2)
	require.Less(t, r.Generator.BusyShare(), 0.5) // it was not the generator
}

// pinTo puts every thread of a process on one CPU.
func pinTo(t *testing.T, pid, cpu int) {
	tasks, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	require.NoError(t, err)
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		require.NoError(t, err)
		require.NoError(t, sys.SetAffinity(tid, []int{cpu}))
	}
}

// spinOn keeps a CPU busy until stop.
func spinOn(t *testing.T, cpu int) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock it: it ends with the goroutine
		if err := sys.SetAffinity(unix.Gettid(), []int{cpu}); err != nil {
			t.Error(err)
			return
		}
		for {
			select {
			case <-quit:
				return
			default:
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

func TestHeadroomIsUnknownWithoutItsSource(t *testing.T) {
	r := GeneratorReport{CPUs: []int{0}}
	first := readEvidence()
	last := first
	last.busyErr = os.ErrNotExist
	require.NoError(t, r.headroom(first, last))
	require.Nil(t, r.Headroom)
	last.processErr = os.ErrInvalid
	require.ErrorIs(t, r.headroom(first, last), os.ErrInvalid)
}

// envoy#44747, k6#826: a churn that uses up the local ports is foreseen.
func TestReportK6_826LocalPortsAreForeseen(t *testing.T) {
	dir := t.TempDir() + "/"
	write := func(name, text string) { require.NoError(t, os.WriteFile(dir+name, []byte(text), 0o600)) }
	require.Zero(t, readLocalPorts(dir).count)
	write("ip_local_port_range", "32768\t60999\n")
	write("tcp_tw_reuse", "2\n")
	l := readLocalPorts(dir)
	require.Equal(t, localPorts{count: 28232, hold: time.Minute, holdLoopback: time.Second}, l)
	far := []Target{{Name: "far", Address: "192.0.2.1:80"}}
	near := []Target{{Name: "near", Address: "127.0.0.1:80"}}
	every := func(n int, rate float64) (Spec, Window) {
		return Spec{Churn: Churn{Requests: n}}, Window{Rate: rate, Duration: 5 * time.Minute}
	}
	s, w := every(1, 470)
	require.Len(t, l.warnPorts(s, far, w), 1)
	require.Empty(t, l.warnPorts(s, near, w))
	require.Contains(t, l.warnPorts(s, far, w)[0], "28232")
	s, w = every(1, 400)
	require.Empty(t, l.warnPorts(s, far, w))
	s, w = every(10, 4000)
	require.Empty(t, l.warnPorts(s, far, w))
	s, w = every(1, 30_000)
	require.Len(t, l.warnPorts(s, near, w), 1)
	w.Targets = []int{1}
	require.Len(t, l.warnPorts(s, append(near, near...), w), 1)
	w.Duration = 100 * time.Millisecond // over before the ports are
	require.Empty(t, l.warnPorts(s, append(near, near...), w))
	write("tcp_tw_reuse", "1\n")
	s, w = every(1, 470)
	require.Empty(t, readLocalPorts(dir).warnPorts(s, far, w))
	require.Empty(t, l.warnPorts(Spec{}, far, w))
}

// Every count is added up, whatever its type's nesting.
func TestCountsAddEveryField(t *testing.T) {
	var c Counts
	var set func(v reflect.Value)
	set = func(v reflect.Value) {
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Struct {
				set(f)
			} else {
				f.SetInt(21)
			}
		}
	}
	set(reflect.ValueOf(&c).Elem())
	sum := c
	sum.add(&c)
	var check func(v reflect.Value)
	check = func(v reflect.Value) {
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Struct {
				check(f)
			} else {
				require.EqualValues(t, 42, f.Int())
			}
		}
	}
	check(reflect.ValueOf(sum))
	for class := range failures {
		var f Failures
		*f.of(class)++
		require.EqualValues(t, 1, f.Total())
	}
	for _, class := range []ConnectClass{ConnectRefused, ConnectPorts, ConnectFiles, ConnectTimeout, ConnectTLS, ConnectOther} {
		var f ConnectFailures
		*f.of(class)++
		require.EqualValues(t, 1, f.Total())
	}
}
