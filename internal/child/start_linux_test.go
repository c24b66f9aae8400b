package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

// output starts a process with its standard output in a pipe, and returns what
// it wrote until it ended.
func output(t *testing.T, s Spec) (*Process, string) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	s.Stdout = w
	p, err := Start(context.Background(), s)
	w.Close()
	require.NoError(t, err)
	require.NoError(t, p.Release())
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	<-p.Done()
	return p, string(b)
}

func TestStartHoldsBeforeTheFirstInstruction(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	p, err := Start(context.Background(), Spec{Path: "/bin/sh", Args: []string{"-c", `echo "$1" > "$2"`, "sh", "it ran", mark}})
	require.NoError(t, err)
	defer p.Stop(0)
	require.Equal(t, "sh", p.Name())
	if p.Method() != ByPtrace {
		need.Skip(t, "ptrace", errors.New("ptrace is refused here, the gate is used"))
	}

	time.Sleep(20 * time.Millisecond) // it would have run by now
	st, err := proc.Process(p.Pid())
	require.NoError(t, err)
	require.Equal(t, "t", string(st.State))
	require.Equal(t, 1, st.Threads)
	require.Equal(t, p.Pid(), st.Pgid)
	require.Equal(t, p.StartTicks(), st.StartTicks)
	want, err := filepath.EvalSymlinks("/bin/sh")
	require.NoError(t, err)
	require.Equal(t, want, st.Exe)
	require.NoFileExists(t, mark)
	require.NoError(t, p.ExitError())

	require.NoError(t, p.Release())
	require.NoError(t, p.Release(), "a second call does nothing")
	<-p.Done()
	require.NoError(t, p.ExitError())
	b, err := os.ReadFile(mark)
	require.NoError(t, err)
	require.Equal(t, "it ran\n", string(b))
}

func TestStartPassesOnlyWhatItIsGiven(t *testing.T) {
	secret, err := os.Open("/proc/self/stat") // any open file of this process
	require.NoError(t, err)
	defer secret.Close()
	extra, err := os.Open("/dev/zero")
	require.NoError(t, err)
	defer extra.Close()
	dir := t.TempDir()
	p, out := output(t, Spec{
		Path: "/bin/sh", Args: []string{"-c", `echo "$A,$HOME,$(pwd -P)"; ls -l /proc/self/fd; exit 3`},
		Env: []string{"A=a", "PATH=/bin:/usr/bin", "A=b"}, Dir: dir, ExtraFiles: []*os.File{extra},
	})
	require.Equal(t, &ExitError{Name: "sh", Pid: p.Pid(), Code: 3}, p.ExitError())
	require.Equal(t, "b,,"+dir, strings.Split(out, "\n")[0])
	for _, want := range []string{" 0 -> /dev/null\n", " 2 -> /dev/null\n", " 3 -> /dev/zero\n"} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "/stat\n")
}

func TestStartPlacesTheHeldProcess(t *testing.T) {
	allowed, err := sys.GetAffinity(0)
	require.NoError(t, err)
	last := allowed[len(allowed)-1]
	p, out := output(t, Spec{Path: "/bin/grep", Args: []string{"Cpus_allowed_list", "/proc/self/status"}, Affinity: []int{last, last}})
	require.NoError(t, p.ExitError())
	require.Equal(t, "Cpus_allowed_list:\t"+procfs.FormatCPUList([]int{last}), strings.TrimSpace(out))

	for _, cpus := range [][]int{{last, 100_000}, {100_000}, {-1}} {
		_, err := Start(context.Background(), Spec{Name: "misplaced", Path: "/bin/sleep", Args: []string{"60"}, Affinity: cpus})
		require.ErrorContains(t, err, "misplaced", "CPUs %v", cpus)
		require.ErrorContains(t, err, "choose CPUs that are online")
	}
}

func TestStartRefuses(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("x"), 0o644))
	garbage := filepath.Join(dir, "garbage")
	require.NoError(t, os.WriteFile(garbage, []byte{0, 1, 2, 3}, 0o755))
	closed, err := os.Open("/dev/null")
	require.NoError(t, err)
	closed.Close()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	closedLedger, err := OpenLedger(stateDir(t))
	require.NoError(t, err)
	require.NoError(t, closedLedger.Close())
	sleep := Spec{Path: "/bin/sleep", Args: []string{"60"}}
	with := func(f func(*Spec)) Spec { s := sleep; f(&s); return s }
	for _, c := range []struct {
		name string
		ctx  context.Context
		spec Spec
		want string
	}{
		{"bare name", nil, Spec{Path: "sleep"}, "no slash"},
		{"nothing", nil, Spec{}, "no slash"},
		{"absent", nil, Spec{Path: filepath.Join(dir, "absent")}, "no such file"},
		{"directory", nil, Spec{Path: dir}, "not a file that can be executed"},
		{"no x bit", nil, Spec{Path: plain}, "cannot be executed by this user"},
		{"no program", nil, Spec{Path: garbage}, "exec format error"},
		{"working directory", nil, with(func(s *Spec) { s.Dir = filepath.Join(dir, "absent") }), "no such file"},
		{"closed file", nil, with(func(s *Spec) { s.Stderr = closed }), "file already closed"},
		{"context", ended, sleep, "context canceled"},
		{"closed ledger", nil, with(func(s *Spec) { s.Ledger = closedLedger }), "is closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := c.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			p, err := Start(ctx, c.spec)
			require.ErrorContains(t, err, c.want)
			require.Nil(t, p)
		})
	}
	require.Empty(t, withVariable(runEnv+"="+os.Getenv(runEnv)), "nothing is left of them")
}

// Where seccomp refuses ptrace, as container runtimes did for years, the gate
// holds the process.
func TestStartHoldsByTheGateWherePtraceIsRefused(t *testing.T) {
	c, out := run(t, "no-ptrace", stateEnv+"="+stateDir(t))
	require.Equal(t, "ok", readLine(t, out))
	require.NoError(t, c.Wait())
}

// playNoPtrace must be a process of its own: a filter is for life.
func playNoPtrace(ctx context.Context) error {
	if err := sys.DenySyscall(syscall.SYS_PTRACE, syscall.EPERM); err != nil {
		return err
	}
	var t failer
	t.do(func() {
		l, err := OpenLedger(os.Getenv(stateEnv))
		require.NoError(&t, err)
		r, w, err := os.Pipe()
		require.NoError(&t, err)
		p, err := Start(ctx, Spec{Path: "/bin/ls", Args: []string{"-l", "/proc/self/fd", "*", "a b"}, Stdout: w, Stderr: w, Ledger: l})
		require.NoError(&t, err)
		w.Close()
		require.Equal(&t, ByGate, p.Method())
		time.Sleep(50 * time.Millisecond)
		st, err := proc.Process(p.Pid())
		require.NoError(&t, err)
		require.Equal(&t, 1, st.Threads)
		require.Equal(&t, "sh", st.Comm)
		require.Equal(&t, p.Pid(), st.Pgid)
		require.NoError(&t, p.Release())
		b, err := io.ReadAll(r)
		require.NoError(&t, err)
		<-p.Done()
		require.Contains(&t, string(b), "'a b': No such file")
		require.Contains(&t, string(b), "'*': No such file")
		require.NotContains(&t, string(b), " 4 -> ", "the gate is shut in the program") // 3 is the directory itself

		held, err := Start(ctx, Spec{Path: "/bin/touch", Args: []string{os.Getenv(stateEnv) + "/ran"}, Ledger: l})
		require.NoError(&t, err)
		require.NoError(&t, held.Stop(time.Second))
		require.NoFileExists(&t, os.Getenv(stateEnv)+"/ran")
		require.ErrorIs(&t, held.Signal(syscall.SIGTERM), os.ErrProcessDone)

		shut, err := Start(ctx, Spec{Path: "/bin/touch", Args: []string{os.Getenv(stateEnv) + "/ran"}, Ledger: l})
		require.NoError(&t, err)
		shut.mu.Lock()
		err = shut.gate.Close() // as the death of this process does
		shut.mu.Unlock()
		require.NoError(&t, err)
		<-shut.Done()
		require.NoFileExists(&t, os.Getenv(stateEnv)+"/ran")
		require.Error(&t, shut.ExitError())

		killed, err := Start(ctx, Spec{Path: "/bin/sleep", Args: []string{"60"}, Ledger: l})
		require.NoError(&t, err)
		require.NoError(&t, killed.Signal(syscall.SIGKILL))
		<-killed.Done()
		require.ErrorIs(&t, killed.Release(), os.ErrProcessDone)

		many := []*os.File{r, r, r, r, r, r, r}
		_, err = Start(ctx, Spec{Path: "/bin/sleep", ExtraFiles: many})
		require.ErrorIs(&t, err, ErrNotSupported)
		require.ErrorContains(&t, err, "pass at most 6")
		require.NoError(&t, l.Close())
	})
	if t.err == nil {
		_, _ = os.Stdout.WriteString("ok\n")
	}
	return t.err
}

// failer lets a process that is no test use require.
type failer struct{ err error }

func (f *failer) Errorf(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}
func (f *failer) FailNow() { panic(f) }
func (f *failer) do(g func()) {
	defer func() {
		if r := recover(); r != nil && r != any(f) {
			panic(r)
		}
	}()
	g()
}
