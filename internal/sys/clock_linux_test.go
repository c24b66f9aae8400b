package sys

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestCPUClocks(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	before, err := ProcessCPUClock(os.Getpid())
	require.NoError(t, err)
	thread, err := ThreadCPUClock(unix.Gettid())
	require.NoError(t, err)
	start, err := MonotonicNanoseconds()
	require.NoError(t, err)

	var used int64
	for used < 5e6 {
		now, err := ThreadCPUClock(unix.Gettid())
		require.NoError(t, err)
		used = now - thread
	}

	after, err := ProcessCPUClock(os.Getpid())
	require.NoError(t, err)
	end, err := MonotonicNanoseconds()
	require.NoError(t, err)
	require.GreaterOrEqual(t, after-before, used, "the process clock includes this thread")
	require.Greater(t, end, start)

	// Our own clock through the pid is the one the kernel gives us as ours.
	var own unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &own))
	again, err := ProcessCPUClock(os.Getpid())
	require.NoError(t, err)
	require.GreaterOrEqual(t, own.Nano(), after)
	require.GreaterOrEqual(t, again, own.Nano())
}

func TestCPUClockOfNobody(t *testing.T) {
	// Larger than any pid_max the kernel allows (2^22).
	_, err := ProcessCPUClock(1<<22 + 1)
	require.ErrorIs(t, err, unix.EINVAL)
	_, err = ThreadCPUClock(1)
	require.ErrorIs(t, err, unix.EINVAL, "threads of other processes are refused")
}
