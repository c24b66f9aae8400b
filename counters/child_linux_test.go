package counters

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/child"
)

// counted is this test binary in a child mode, held at exec.
type counted struct {
	*child.Process
	ready *bufio.Reader
	stdin *os.File
}

func startHeld(t testing.TB, mode string) *counted {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	inR, inW, err := os.Pipe()
	require.NoError(t, err)
	outR, outW, err := os.Pipe()
	require.NoError(t, err)
	p, err := child.Start(context.Background(), child.Spec{
		Path: self, Env: append(os.Environ(), childMode+"="+mode),
		Stdin: inR, Stdout: outW, Stderr: os.Stderr,
	})
	inR.Close()
	outW.Close()
	require.NoError(t, err)
	t.Cleanup(func() {
		inW.Close()
		outR.Close()
		require.NoError(t, p.Stop(0))
	})
	return &counted{Process: p, ready: bufio.NewReader(outR), stdin: inW}
}

// release lets the child run and waits until it does its work.
func (c *counted) release(t testing.TB) {
	t.Helper()
	require.NoError(t, c.Process.Release())
	line, err := c.ready.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
}

// restricted is what the modes run that make perf_event_open fail: they attach
// to themselves under a limit and print what a reading would say is missing.
func restricted(name string) {
	runtime.LockOSThread()
	switch name {
	case "limit": // one descriptor is left, and the hard limit says so too
		next, _ := unix.Dup(0)
		unix.Close(next)
		unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next) + 1, Max: uint64(next) + 1})
	case "raise": // one is left, and the hard limit is where it was
		var l unix.Rlimit
		unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
		next, _ := unix.Dup(0)
		unix.Close(next)
		unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next) + 1, Max: l.Max})
	case "nobody": // all threads, and with it every capability is lost
		if err := syscall.Setuid(65534); err != nil {
			os.Stdout.WriteString(err.Error())
			return
		}
	case "seccomp":
		if err := forbidPerf(); err != nil {
			os.Stdout.WriteString(err.Error())
			return
		}
	}
	c := &Counter{pid: unix.Gettid(), metric: CPUTime}
	if err := c.attach(); err != nil {
		os.Stdout.WriteString("error: " + err.Error())
	}
	os.Stdout.WriteString(c.ridersMissing)
}

func execAgain() {
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, os.Environ())
	}
	panic(err)
}

func forkSpinner() {
	self, err := os.Executable()
	if err == nil {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), childMode+"=spin:300")
		err = cmd.Run()
	}
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString("done\n")
}

func notRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("not root")
	}
	return nil
}

func runRestricted(t *testing.T, mode string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childMode+"="+mode)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

// forbidPerf installs a seccomp filter as a container runtime does: EPERM for
// perf_event_open, everything else allowed.
func forbidPerf() error {
	const (
		ld  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		jeq = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ret = unix.BPF_RET | unix.BPF_K
	)
	filter := []unix.SockFilter{
		{Code: ld, K: 0}, // seccomp_data.nr
		{Code: jeq, K: unix.SYS_PERF_EVENT_OPEN, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	program := &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, reflect.ValueOf(program).Pointer(), 0, 0)
	runtime.KeepAlive(program)
	return err
}
