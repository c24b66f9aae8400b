package sys

import (
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/need"
)

func TestPerfGroupOfThisThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr := func(config, bits uint64) *unix.PerfEventAttr {
		return &unix.PerfEventAttr{
			Type: unix.PERF_TYPE_SOFTWARE, Config: config, Bits: bits,
			Read_format: unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_ID |
				unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
		}
	}
	leader, err := PerfEventOpen(attr(unix.PERF_COUNT_SW_TASK_CLOCK, unix.PerfBitDisabled), 0, -1, -1)
	need.Skip(t, "perf", err)
	defer func() { require.NoError(t, Close(leader)) }()
	second, err := PerfEventOpen(attr(unix.PERF_COUNT_SW_PAGE_FAULTS, 0), 0, -1, leader)
	require.NoError(t, err)
	defer func() { require.NoError(t, Close(second)) }()

	idLeader, err := PerfEventID(leader)
	require.NoError(t, err)
	idSecond, err := PerfEventID(second)
	require.NoError(t, err)

	g, err := PerfEventReadGroup(leader, 2)
	require.NoError(t, err)
	require.Zero(t, g.Values[0].Value, "opened disabled")

	require.NoError(t, PerfEventEnable(leader))
	spinThread(t, 2e6)
	require.NoError(t, PerfEventDisable(leader))
	g, err = PerfEventReadGroup(leader, 2)
	require.NoError(t, err)
	require.Equal(t, []uint64{idLeader, idSecond}, []uint64{g.Values[0].ID, g.Values[1].ID})
	require.GreaterOrEqual(t, g.Values[0].Value, uint64(2e6))
	require.Equal(t, g.EnabledNanoseconds, g.RunningNanoseconds)

	spinThread(t, 2e6)
	again, err := PerfEventReadGroup(leader, 2)
	require.NoError(t, err)
	require.Equal(t, g, again, "nothing is counted while disabled")

	_, err = PerfEventReadGroup(leader, 0)
	require.ErrorIs(t, err, unix.ENOSPC, "room for one event, two are there")
}

func TestReadOfNoPerfDescriptor(t *testing.T) {
	var p [2]int
	require.NoError(t, unix.Pipe2(p[:], unix.O_CLOEXEC))
	defer unix.Close(p[0])
	_, err := PerfEventID(p[0])
	require.ErrorIs(t, err, unix.ENOTTY)
	require.NoError(t, unix.Close(p[1]))
	_, err = PerfEventReadGroup(p[0], 1)
	require.ErrorIs(t, err, io.EOF)
}

func spinThread(t *testing.T, nanoseconds int64) {
	t.Helper()
	start, err := ThreadCPUClock(unix.Gettid())
	require.NoError(t, err)
	for {
		now, err := ThreadCPUClock(unix.Gettid())
		require.NoError(t, err)
		if now-start >= nanoseconds {
			return
		}
	}
}
