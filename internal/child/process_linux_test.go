package child

import (
	"context"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func startSleep(t *testing.T, release bool) *Process {
	t.Helper()
	p, err := Start(context.Background(), Spec{Path: "/bin/sleep", Args: []string{"60"}})
	require.NoError(t, err)
	t.Cleanup(func() { p.Stop(0) })
	if release {
		require.NoError(t, p.Release())
	}
	return p
}

func requireSignal(t *testing.T, p *Process, sig syscall.Signal) {
	t.Helper()
	var e *ExitError
	require.ErrorAs(t, p.ExitError(), &e)
	require.Equal(t, sig, e.Signal)
}

func TestStopIsGentleFirst(t *testing.T) {
	p := startSleep(t, true)
	require.NoError(t, p.Stop(time.Minute))
	requireSignal(t, p, syscall.SIGTERM)
	require.False(t, alive(p.Pid()))
	require.NoError(t, p.Stop(time.Minute), "again")
	require.ErrorIs(t, p.Signal(syscall.SIGTERM), os.ErrProcessDone)
}

func TestStopKillsWhatIgnoresSIGTERM(t *testing.T) {
	p, out, err := startRole(context.Background(), "stubborn", nil)
	require.NoError(t, err)
	defer p.Stop(0)
	require.NoError(t, p.Release())
	require.Equal(t, "ready", readLine(t, out))
	require.NoError(t, p.Stop(50*time.Millisecond))
	requireSignal(t, p, syscall.SIGKILL)
}

func TestStopReachesAStoppedProcess(t *testing.T) {
	p := startSleep(t, true)
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { st, err := proc.Process(p.Pid()); return err == nil && st.State == 'T' }, 10*time.Second, time.Millisecond)
	require.NoError(t, p.Stop(time.Minute))
	requireSignal(t, p, syscall.SIGTERM)
}

func TestStopOfAHeldProcess(t *testing.T) {
	p := startSleep(t, false)
	require.NoError(t, p.Stop(time.Minute))
	requireSignal(t, p, syscall.SIGKILL)
	require.ErrorIs(t, p.Release(), os.ErrProcessDone)
}

// What a process forked stays in its group, and ends with it.
func TestStopReclaimsTheGroup(t *testing.T) {
	for _, grace := range []time.Duration{0, time.Minute} {
		p, out, err := startRole(context.Background(), "forker", nil)
		require.NoError(t, err)
		require.NoError(t, p.Release())
		grandchild, err := readInt(out)
		require.NoError(t, err)
		require.True(t, alive(grandchild))
		require.NoError(t, p.Stop(grace))
		require.False(t, alive(grandchild), "grace %s", grace)
	}
}

// A leader that ends by itself takes what it forked with it.
func TestGroupEndsWithItsLeader(t *testing.T) {
	p, out := output(t, Spec{Path: "/bin/sh", Args: []string{"-c", "sleep 60 >/dev/null & echo $!; exit 7"}})
	var e *ExitError
	require.ErrorAs(t, p.ExitError(), &e)
	require.Equal(t, 7, e.Code)
	pid := 0
	for _, c := range out[:len(out)-1] {
		pid = 10*pid + int(c-'0')
	}
	require.False(t, alive(pid), "pid %d", pid)
}

func TestDoneWhenKilledByOthers(t *testing.T) {
	for _, release := range []bool{false, true} {
		p := startSleep(t, release)
		require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGKILL))
		<-p.Done()
		requireSignal(t, p, syscall.SIGKILL)
		require.NoError(t, p.Stop(time.Second))
	}
}

func TestSignalToAHeldProcessWaits(t *testing.T) {
	p := startSleep(t, false)
	require.NoError(t, p.Signal(syscall.SIGTERM))
	select {
	case <-p.Done():
		require.Fail(t, "a held process took SIGTERM")
	case <-time.After(20 * time.Millisecond):
	}
	require.NoError(t, p.Release())
	<-p.Done()
	requireSignal(t, p, syscall.SIGTERM)
}

func TestConcurrentUse(t *testing.T) {
	p := startSleep(t, false)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { _ = p.Release() }) // may come after the first Stop
		wg.Go(func() { require.NoError(t, p.Stop(time.Duration(i)*time.Second)) })
		wg.Go(func() { _ = p.Signal(syscall.SIGCONT); _ = p.ExitError() })
	}
	wg.Wait()
	require.False(t, alive(p.Pid()))
	require.Error(t, p.ExitError())
}

func TestManyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			p, err := Start(context.Background(), Spec{Path: "/bin/true"})
			if err == nil {
				err = p.Release()
			}
			if err == nil {
				<-p.Done()
				err = p.ExitError()
			}
			require.NoError(t, err)
		})
	}
	wg.Wait()
}

// Someone else in the program who waits for every child takes the exit code;
// then nobody may signal the number again.
func TestReapedBySomeoneElse(t *testing.T) {
	p := &Process{name: "taken", pid: 1 << 30, done: make(chan struct{})}
	p.reap() // ECHILD, as after a foreign wait
	require.ErrorContains(t, p.ExitError(), "something else took its exit code")
	require.ErrorContains(t, p.Stop(time.Second), "something else in this program waits")
	require.ErrorIs(t, p.Signal(syscall.SIGKILL), os.ErrProcessDone)
}
