package procfs

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/sys"
)

// spin keeps one CPU busy for d on a thread of its own and gives the CPU time
// that it really had.
func spin(t *testing.T, cpu int, d time.Duration) int64 {
	t.Helper()
	type outcome struct {
		ran int64
		err error
	}
	result := make(chan outcome)
	go func() {
		runtime.LockOSThread()
		err := sys.SetAffinity(0, []int{cpu})
		for end := time.Now().Add(d); time.Now().Before(end); {
		}
		b, readErr := os.ReadFile("/proc/thread-self/schedstat")
		if err == nil {
			err = readErr
		}
		ran, _, parseErr := ParseSchedstat(string(b))
		if err == nil {
			err = parseErr
		}
		result <- outcome{ran, err}
	}()
	o := <-result
	require.NoError(t, o.err)
	return o.ran
}

func allowedCPU(t *testing.T) int {
	t.Helper()
	cpus, err := sys.GetAffinity(0)
	require.NoError(t, err)
	return cpus[len(cpus)-1]
}

func TestCPUBusySeesASpinner(t *testing.T) {
	cpu := allowedCPU(t)
	for name, read := range map[string]func() (Busy, error){"best": FS{}.CPUBusy, "stat": FS{}.busyFromStat} {
		before, err := read()
		require.NoError(t, err)
		ran := spin(t, cpu, 300*time.Millisecond)
		after, err := read()
		require.NoError(t, err)
		delta, err := after.Since(before)
		require.NoError(t, err)
		busy, wall := delta.Nanoseconds, delta.WallNanoseconds
		// Others may be busy there too, so only the lower side is certain; a
		// running CPU may lag by a tick.
		lag := int64(10 * time.Millisecond)
		require.GreaterOrEqual(t, busy[cpu], ran-after.ResolutionNanoseconds-lag, "%s from %s", name, after.Source)
		require.LessOrEqual(t, busy[cpu], wall+2*after.ResolutionNanoseconds+2*lag, "%s from %s", name, after.Source)
		t.Logf("%s: %s: spinner ran %v, CPU %d busy %v of %v", name, after.Source, time.Duration(ran), cpu, time.Duration(busy[cpu]), time.Duration(wall))
	}
}

func TestBusySinceRefuses(t *testing.T) {
	a := Busy{Source: SourceCPUAcct, ResolutionNanoseconds: 1, Nanoseconds: map[int]int64{0: 100}, AtNanoseconds: 10}
	b := Busy{Source: SourceStat, ResolutionNanoseconds: 1, Nanoseconds: map[int]int64{0: 100}, AtNanoseconds: 20}
	_, err := b.Since(a)
	require.ErrorContains(t, err, "from cpuacct and then from /proc/stat")
	b.Source = SourceCPUAcct
	b.Nanoseconds = map[int]int64{0: 90}
	_, err = b.Since(a)
	require.ErrorContains(t, err, "CPU 0 in cpuacct went back by 10 ns")
	b.Nanoseconds = map[int]int64{1: 900}
	_, err = b.Since(a)
	require.ErrorContains(t, err, "CPU 1 was not there")
	_, err = a.Since(a)
	require.ErrorContains(t, err, "no time passed")
}

func TestCPUAcctIsTrustedOnlyAtTheRoot(t *testing.T) {
	files := map[string]string{
		"proc/self/mountinfo":                        "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n",
		"proc/stat":                                  "cpu0 1 0 0 99 0 0 0 0 0 0\ncpu2 1 0 0 99 0 0 0 0 0 0\n",
		"sys/devices/system/cpu/possible":            "0,2\n",
		"sys/devices/system/cpu/online":              "0,2\n",
		"sys/fs/cgroup/cpuacct/cpuacct.usage_percpu": "11 22\n",
	}
	// The top of a cgroup namespace looks like a root in mountinfo, but has no
	// release_agent.
	b, err := tree(t, files).CPUBusy()
	require.NoError(t, err)
	require.Equal(t, SourceStat, b.Source)

	files["sys/fs/cgroup/cpuacct/release_agent"] = ""
	b, err = tree(t, files).CPUBusy()
	require.NoError(t, err)
	require.Equal(t, SourceCPUAcct, b.Source)
	require.Equal(t, map[int]int64{0: 11, 2: 22}, b.Nanoseconds, "by number, not by place")

	files["sys/fs/cgroup/cpuacct/cpuacct.usage_percpu"] = "11\n"
	b, err = tree(t, files).CPUBusy()
	require.NoError(t, err)
	require.Equal(t, SourceStat, b.Source, "a torn file is not used")
}

func TestCPUBusyFromIdleStates(t *testing.T) {
	files := map[string]string{
		"proc/self/mountinfo":           "",
		"sys/devices/system/cpu/online": "0\n",
	}
	for file, v := range map[string]string{"name": "C1", "latency": "2", "residency": "2", "time": "5", "usage": "1", "disable": "0"} {
		files["sys/devices/system/cpu/cpu0/cpuidle/state0/"+file] = v
	}
	b, err := tree(t, files).CPUBusy()
	require.NoError(t, err)
	require.Equal(t, SourceCPUIdle, b.Source)
	require.Equal(t, b.AtNanoseconds-5000, b.Nanoseconds[0])
}

func TestCPUBusyFromSchedstatIsHeldAgainstStat(t *testing.T) {
	files := func(ranMilliseconds, idleTicks int) FS {
		return tree(t, map[string]string{
			"proc/self/mountinfo": "",
			"proc/schedstat":      fmt.Sprintf("version 17\ntimestamp 4300\ncpu3 0 0 9 8 7 6 %d000000 55 4\ndomain0 MC 3 1 2 3\n", ranMilliseconds),
			"proc/stat":           fmt.Sprintf("cpu3 0 0 0 %d 0 0 0 0 0 0\n", idleTicks),
		})
	}
	read := func(fs FS, at int64) Busy {
		b, err := fs.CPUBusy()
		require.NoError(t, err)
		require.Equal(t, SourceSchedstat, b.Source)
		// A second between the readings, whatever the test takes.
		b.check.Nanoseconds[3] += at - b.check.AtNanoseconds
		b.AtNanoseconds, b.check.AtNanoseconds = at, at
		return b
	}
	start := read(files(100, 0), 1e9)
	d, err := read(files(103, 98), 2e9).Since(start) // 20 ms by /proc/stat
	require.NoError(t, err)
	require.Equal(t, BusyDelta{Source: SourceSchedstat, ResolutionNanoseconds: 1, Nanoseconds: map[int]int64{3: 3e6}, WallNanoseconds: 1e9}, d)

	// A spinner that never left the CPU is not in schedstat.
	d, err = read(files(100, 0), 2e9).Since(start)
	require.NoError(t, err)
	require.Equal(t, SourceStat, d.Source)
	require.Equal(t, int64(1e9), d.Nanoseconds[3])

	for _, bad := range []string{"", "version 18\ncpu0 0 0 0 0 0 0 1 0 0\n", "version 17\ncpu0 0 0\n", "version 17\ncpu0 0 0 0 0 0 0 x 0 0\n", "version 17\ncpux 0 0 0 0 0 0 1 0 0\n"} {
		_, err := ParseRunTimes(bad)
		require.Error(t, err, "%q", bad)
	}
}

func FuzzParseRunTimes(f *testing.F) {
	f.Add("version 17\ntimestamp 1\ncpu0 0 0 0 0 0 0 1 0 0\ncpu 1")
	f.Fuzz(func(t *testing.T, s string) { _, _ = ParseRunTimes(s) })
}

func TestLiveProcessAndThreads(t *testing.T) {
	p, err := FS{}.Process(os.Getpid())
	require.NoError(t, err)
	require.Equal(t, os.Getppid(), p.PPid)
	exe, err := os.Executable()
	require.NoError(t, err)
	require.Equal(t, exe, p.Exe)
	threads, err := FS{}.Threads(os.Getpid())
	require.NoError(t, err)
	// The runtime may start a thread between the two readings; none of Go's ends.
	after, err := FS{}.Process(os.Getpid())
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(threads), p.Threads)
	require.LessOrEqual(t, len(threads), after.Threads)
	require.NotEmpty(t, threads[0].AllowedCPUs)
	id, err := FS{}.BootID()
	require.NoError(t, err)
	require.Len(t, id, 36)
	c, err := FS{}.SelfCgroups()
	require.NoError(t, err)
	require.NotEmpty(t, c)
	total, err := FS{}.MemoryTotalBytes()
	require.NoError(t, err)
	require.Greater(t, total, int64(1<<20))
}

func FuzzParseUsagePerCPU(f *testing.F) {
	f.Add("1 2 3")
	f.Fuzz(func(t *testing.T, s string) { _, _ = ParseUsagePerCPU(s, []int{0, 1, 4}) })
}
