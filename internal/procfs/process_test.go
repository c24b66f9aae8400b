package procfs

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// statLine is a stat file with a name of one's own.
func statLine(pid, comm string) string {
	return pid + " (" + comm + ") S 75750 83874 75750 0 -1 4194304 100 0 0 0 15 7 0 0 20 0 3 0 905123 1000 20 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0\n"
}

func TestParseProcessStat(t *testing.T) {
	// Names are any bytes: each of these has broken some parser.
	for _, comm := range []string{"envoy", "sleep (2) .sh", "a b", ") R 1 (", "x\ny) Z\n", "", "((", "wrk:worker_0"} {
		p, err := ParseProcessStat(statLine("83875", comm))
		require.NoError(t, err, "%q", comm)
		require.Equal(t, Process{Pid: 83875, PPid: 75750, Pgid: 83874, Comm: comm, State: 'S', Threads: 3, StartTicks: 905123, LastCPU: 5}, p)
	}
	for _, in := range []string{"", "1", "1 (x", "1 (x) S 2 3", "x (x) " + strings.Repeat("1 ", 50), ")1("} {
		_, err := ParseProcessStat(in)
		require.Error(t, err, "%q", in)
	}
}

func TestParseSchedstat(t *testing.T) {
	run, wait, err := ParseSchedstat("118900 7 1\n")
	require.NoError(t, err)
	require.Equal(t, []int64{118900, 7}, []int64{run, wait})
	for _, in := range []string{"", "1", "a 1 1", "-1 0 0"} {
		_, _, err := ParseSchedstat(in)
		require.Error(t, err, "%q", in)
	}
}

func TestThreadsOfAFixture(t *testing.T) {
	fs1 := tree(t, map[string]string{
		"proc/10/stat":              statLine("10", "proxy"),
		"proc/10/task/10/stat":      statLine("10", "proxy"),
		"proc/10/task/10/schedstat": "5 0 1",
		"proc/10/task/10/status":    "Name:\tproxy\nCpus_allowed_list:\t0-1\n",
		"proc/10/task/12/stat":      statLine("12", "wrk:worker_0"),
		"proc/10/task/12/schedstat": "123456 0 1",
		"proc/10/task/12/status":    "Cpus_allowed_list:\t1\n",
		"proc/11/stat":              statLine("11", "old kernel"),
		"proc/11/task/11/stat":      statLine("11", "old kernel"),
		"proc/sys/kernel/ostype":    "Linux",
	})
	threads, err := fs1.Threads(10)
	require.NoError(t, err)
	require.Len(t, threads, 2)
	require.Equal(t, Thread{Tid: 12, Comm: "wrk:worker_0", State: 'S', StartTicks: 905123, RunNanoseconds: 123456, LastCPU: 5, AllowedCPUs: []int{1}}, threads[1])

	_, err = fs1.Threads(11)
	require.ErrorIs(t, err, ErrNotSupported, "no schedstat is not a run time of zero")
	_, err = fs1.Threads(12)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fs1.Process(12)
	require.ErrorIs(t, err, fs.ErrNotExist)
	pids, err := fs1.Processes()
	require.NoError(t, err)
	require.Equal(t, []int{10, 11}, pids)
}

func FuzzParseProcessStat(f *testing.F) {
	f.Add(statLine("1", "a) (b\n"))
	f.Add("1 (x) S 2 3")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseProcessStat(s)
		if err == nil {
			require.Contains(t, s, "("+p.Comm+")")
		}
	})
}

func FuzzParseSchedstat(f *testing.F) {
	f.Add("118900 0 1")
	f.Fuzz(func(t *testing.T, s string) {
		if run, wait, err := ParseSchedstat(s); err == nil {
			require.True(t, run >= 0 && wait >= 0)
		}
	})
}

func FuzzParseAllowedCPUs(f *testing.F) {
	f.Add("Name:\tx\nCpus_allowed_list:\t0-3\n")
	f.Fuzz(func(t *testing.T, s string) { _, _ = ParseAllowedCPUs(s) })
}
