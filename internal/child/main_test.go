//go:build linux

package child

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

const (
	roleEnv  = "TARE_CHILD_TEST_ROLE"
	stateEnv = "TARE_CHILD_TEST_STATE"
	gateEnv  = "TARE_CHILD_TEST_GATE" // set: the parent may not use ptrace
	runEnv   = "TARE_CHILD_TEST_RUN"  // marks every process of one test run
)

// TestMain runs this binary in the role of a parent or a child when asked to,
// else the tests, after which no process that they started may be left.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		if err := playRole(role); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	mark := strconv.Itoa(os.Getpid())
	os.Setenv(runEnv, mark)
	code := m.Run()
	var left []procfs.Process
	for range 200 {
		if left = withVariable(runEnv + "=" + mark); len(left) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: processes left after the tests: %+v\n", left)
		code = 1
	}
	os.Exit(code)
}

// withVariable finds the living processes that carry kv in their environment.
func withVariable(kv string) []procfs.Process {
	var found []procfs.Process
	pids, _ := proc.Processes()
	for _, pid := range pids {
		env, err := os.ReadFile(procPath(pid, "environ"))
		if err != nil || pid == os.Getpid() || !hasVariable(env, []byte(kv)) {
			continue
		}
		if p, err := proc.Process(pid); err == nil && !dead(p) {
			found = append(found, p)
		}
	}
	return found
}

func playRole(role string) error {
	ctx := context.Background()
	os.Unsetenv(roleEnv) // what this process starts plays no role unless told to
	switch role {
	case "stubborn": // does not end on SIGTERM
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Minute)
	case "forker": // has a child in its group
		c := exec.Command("/bin/sleep", "60")
		if err := c.Start(); err != nil {
			return err
		}
		fmt.Println(c.Process.Pid)
		time.Sleep(time.Minute)
	case "escaper": // has a child in a session of its own, and one in its group
		for _, setsid := range []bool{true, false} {
			c := exec.Command("/bin/sleep", "60")
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
			if err := c.Start(); err != nil {
				return err
			}
			fmt.Println(c.Process.Pid)
		}
		time.Sleep(time.Minute)
	case "parent":
		return playParent(ctx)
	case "busy-parent":
		return playBusyParent(ctx)
	case "locker":
		if _, err := LockHost(ctx, HostLock{Holder: "the first one"}); err != nil {
			return err
		}
		p, err := Start(ctx, Spec{Path: "/bin/sleep", Args: []string{"60"}})
		if err != nil {
			return err
		}
		fmt.Println(p.Pid())
		if err := p.Release(); err != nil {
			return err
		}
		time.Sleep(time.Minute)
	case "user-locker":
		l, err := LockHost(ctx, HostLock{})
		if err != nil {
			return err
		}
		return l.Close()
	case "no-ptrace":
		return playNoPtrace(ctx)
	default:
		return fmt.Errorf("unknown role")
	}
	return nil
}

// playParent starts a held process, a running one, and one that forks away;
// says their pids as a JSON list, and lives until it is killed.
func playParent(ctx context.Context) error {
	if os.Getenv(gateEnv) != "" {
		if err := sys.DenySyscall(syscall.SYS_PTRACE, syscall.EPERM); err != nil {
			return err
		}
	}
	l, err := OpenLedger(os.Getenv(stateEnv))
	if err != nil {
		return err
	}
	held, err := Start(ctx, Spec{Path: "/bin/sleep", Args: []string{"60"}, Ledger: l})
	if err != nil {
		return err
	}
	running, err := Start(ctx, Spec{Path: "/bin/sleep", Args: []string{"60"}, Ledger: l})
	if err != nil {
		return err
	}
	forker, out, err := startRole(ctx, "escaper", l)
	if err != nil {
		return err
	}
	var pids []int
	for _, p := range []*Process{held, running, forker} {
		pids = append(pids, p.Pid())
	}
	for _, p := range []*Process{running, forker} {
		if err := p.Release(); err != nil {
			return err
		}
	}
	for range 2 {
		pid, err := readInt(out)
		if err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	// Threads come and go, the processes must not care.
	for range 20 {
		ended := make(chan bool)
		go func() { runtime.LockOSThread(); close(ended) }() // the thread ends with the goroutine
		<-ended
	}
	time.Sleep(20 * time.Millisecond)
	b, err := json.Marshal(pids)
	if err != nil {
		return err
	}
	fmt.Println(string(b))
	time.Sleep(time.Minute)
	return nil
}

// playBusyParent starts, releases and stops processes, three at a time, and
// makes and removes a directory with each, until it is killed.
func playBusyParent(ctx context.Context) error {
	state := os.Getenv(stateEnv)
	l, err := OpenLedger(state)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	errs := make(chan error)
	for i := range 3 {
		go func() {
			for n := 0; ; n++ {
				dir := filepath.Join(state, "run", fmt.Sprintf("%d-%d-%d", os.Getpid(), i, n))
				if err := busyTurn(ctx, l, dir, n); err != nil {
					errs <- err
					return
				}
			}
		}()
	}
	return <-errs
}

func busyTurn(ctx context.Context, l *Ledger, dir string, n int) error {
	if err := l.AddDir(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	p, err := Start(ctx, Spec{Path: "/bin/sh", Args: []string{"-c", "sleep 60 & wait"}, Dir: dir, Ledger: l})
	if err != nil {
		return err
	}
	if n%3 > 0 {
		if err := p.Release(); err != nil {
			return err
		}
		time.Sleep(time.Duration(n%5) * time.Millisecond)
	}
	if err := p.Stop(time.Second); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return l.Forget(dir)
}

// startRole starts this binary, held, in a role; out is its standard output.
func startRole(ctx context.Context, role string, l *Ledger) (*Process, *bufio.Reader, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	p, err := Start(ctx, Spec{Name: role, Path: "/proc/self/exe", Env: append(os.Environ(), roleEnv+"="+role), Stdout: w, Stderr: os.Stderr, Ledger: l})
	return p, bufio.NewReader(r), err
}

// run starts this binary by os/exec: as a parent that the test will kill.
func run(t *testing.T, role string, env ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	c.Env = append(append(os.Environ(), roleEnv+"="+role), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if stderr.Len() > 0 {
			t.Logf("stderr of %s: %s", role, stderr.String())
		}
	})
	return c, bufio.NewReader(out)
}

// kill9 kills a parent and reaps it.
func kill9(t *testing.T, c *exec.Cmd) {
	t.Helper()
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
}

func readInt(r *bufio.Reader) (int, error) {
	s, err := r.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("read a pid: %q: %w", s, err)
	}
	return strconv.Atoi(strings.TrimSpace(s))
}

func readLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil && err != io.EOF {
		require.NoError(t, err)
	}
	return strings.TrimSpace(s)
}

func alive(pid int) bool {
	p, err := proc.Process(pid)
	return err == nil && !dead(p)
}

// requireGone allows what was killed the time to end.
func requireGone(t *testing.T, within time.Duration, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		require.Eventually(t, func() bool { return !alive(pid) }, within, time.Millisecond, "pid %d", pid)
	}
}

// stateDir makes a state directory of mode 0700, as StateDir does.
func stateDir(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.Mkdir(dir, 0o700))
	return dir
}
