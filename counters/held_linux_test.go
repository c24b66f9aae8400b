package counters

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/procfs"
)

func openHeld(t testing.TB, p *counted) *Counter {
	t.Helper()
	c, err := OpenHeld(p.Pid(), Options{Metric: CPUTime})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func read(t testing.TB, c *Counter) Reading {
	t.Helper()
	r, err := c.Read()
	require.NoError(t, err)
	return r
}

// riders skips where perf may not be used at all.
func riders(t testing.TB) {
	t.Helper()
	g, err := openGroup(CPUTime, 0)
	if err == nil {
		err = g.close()
	}
	need.Skip(t, "perf", err)
}

func TestEveryThreadIsCounted(t *testing.T) {
	riders(t)
	p := startHeld(t, "threads:8")
	c := openHeld(t, p)
	held := read(t, c)
	task, _ := held.Group.value(EventTaskClock)
	require.Zero(t, task, "nothing ran yet")
	p.release(t)

	born := threadIDs(t, p.Pid())
	prev := read(t, c)
	for range 3 {
		time.Sleep(400 * time.Millisecond)
		next := read(t, c)
		d, err := next.Since(prev)
		require.NoError(t, err)
		t.Logf("coverage %.4f (bounds %.4f to %.4f) of %d ms CPU, %d switches, %d migrations, outside %d ms",
			*d.Coverage, *d.CoverageMin, *d.CoverageMax, d.CPUNanoseconds/1e6, *d.ContextSwitches, *d.Migrations, d.OutsideNanoseconds/1e6)
		require.Positive(t, *d.ContextSwitches)
		require.Equal(t, float64(d.CPUNanoseconds), d.Value)
		prev = next
	}

	// Since the exec, so that the process clock's lag weighs little: no
	// allowance is needed to be above the bound.
	task, _ = prev.Group.value(EventTaskClock)
	require.GreaterOrEqual(t, float64(task), CoverageLow*float64(prev.CPUNanoseconds-held.CPUNanoseconds))
	faults, _ := prev.Group.value(EventPageFaults)
	require.Positive(t, faults)

	// Threads do come and go: sooner or later one is alive that was not before.
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(threadIDs(t, p.Pid()), func(tid int) bool { return !slices.Contains(born, tid) })
	}, 10*time.Second, time.Millisecond)
}

func threadIDs(t testing.TB, pid int) (tids []int) {
	t.Helper()
	threads, err := (procfs.FS{}).ThreadRuns(pid)
	require.NoError(t, err)
	for _, th := range threads {
		tids = append(tids, th.Tid)
	}
	return tids
}

// While a thread is born or ends the kernel refuses to sum its group. Reading
// waits that out, and what it then gives never goes back.
func TestReadWhileThreadsComeAndGo(t *testing.T) {
	riders(t)
	p := startHeld(t, "threads:2")
	c := openHeld(t, p)
	p.release(t)
	prev := read(t, c)
	reads, torn := 0, 0
	for start := time.Now(); time.Since(start) < time.Second; reads++ {
		if _, err := c.group.read(); errors.Is(err, unix.ECHILD) {
			torn++
		}
		next := read(t, c)
		for i, count := range next.Group.Counts {
			require.GreaterOrEqual(t, count.Value, prev.Group.Counts[i].Value, count.Event)
		}
		prev = next
	}
	t.Logf("%d reads, %d would have failed", reads, torn)
}

// Without inheritance the same process is missed almost whole, and with it
// refused.
func TestNoInheritanceIsRefused(t *testing.T) {
	riders(t)
	p := startHeld(t, "threads:8")
	c := openHeld(t, p)
	require.NoError(t, c.group.close())
	var err error
	c.group, err = openEvents(p.Pid(), groupSpec(CPUTime, 0))
	require.NoError(t, err)
	require.NoError(t, c.group.enable())
	p.release(t)
	prev := read(t, c)
	time.Sleep(300 * time.Millisecond)
	_, err = read(t, c).Since(prev)
	require.ErrorAs(t, err, new(*CoverageError))
	require.ErrorContains(t, err, "threads were missed")
	t.Log(err)
}

// A process started by the counted one is not in its process clock, and must
// not be in its events.
func TestChildProcessesAreNotCounted(t *testing.T) {
	riders(t)
	window := func(t *testing.T, mutate func(*counted, *Counter)) error {
		p := startHeld(t, "forks")
		c := openHeld(t, p)
		mutate(p, c)
		p.release(t)
		prev := read(t, c)
		_, err := p.stdin.WriteString("go\n")
		require.NoError(t, err)
		line, err := p.ready.ReadString('\n') // its child spun and was waited for
		require.NoError(t, err)
		require.Equal(t, "done\n", line)
		_, err = read(t, c).Since(prev)
		return err
	}
	t.Run("threads only", func(t *testing.T) {
		require.NoError(t, window(t, func(_ *counted, c *Counter) {
			if c.children {
				t.Skip("this kernel cannot limit inheritance to threads")
			}
		}))
	})
	t.Run("inheriting all", func(t *testing.T) {
		err := window(t, func(p *counted, c *Counter) {
			require.NoError(t, c.group.close())
			var err error
			c.group, err = openEvents(p.Pid(), groupSpec(CPUTime, inheritAll))
			require.NoError(t, err)
			require.NoError(t, c.group.enable())
		})
		require.ErrorAs(t, err, new(*CoverageError))
		require.ErrorContains(t, err, "counted twice")
	})
}

func TestRunningProcessIsNotHeld(t *testing.T) {
	p := startHeld(t, "threads:8")
	p.release(t)
	_, err := OpenHeld(p.Pid(), Options{Metric: CPUTime})
	var held *NotHeldError
	require.ErrorAs(t, err, &held)
	require.Greater(t, held.Threads, 8)
	require.NotErrorIs(t, err, ErrNotSupported)
}

func TestExecInTheWindow(t *testing.T) {
	p := startHeld(t, "exec")
	c := openHeld(t, p)
	p.release(t)
	prev := read(t, c)
	_, err := p.stdin.WriteString("go\n")
	require.NoError(t, err)
	line, err := p.ready.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	_, err = read(t, c).Since(prev)
	var exec *ExecError
	require.ErrorAs(t, err, &exec, "the same program again is an exec too")
	require.Equal(t, exec.Was.Inode, exec.Now.Inode)
}

func TestEndedProcess(t *testing.T) {
	p := startHeld(t, "wait")
	c := openHeld(t, p)
	p.release(t)
	read(t, c)
	require.NoError(t, p.Signal(syscall.SIGKILL))
	<-p.Done()
	_, err := c.Read()
	require.ErrorAs(t, err, new(*GoneError))
	require.ErrorIs(t, err, ErrRefused)

	_, err = OpenHeld(p.Pid(), Options{Metric: CPUTime})
	require.ErrorAs(t, err, new(*GoneError))
}

// A process at rest costs next to nothing and is no error.
func TestProcessAtRest(t *testing.T) {
	p := startHeld(t, "wait")
	c := openHeld(t, p)
	p.release(t)
	time.Sleep(50 * time.Millisecond)
	prev := read(t, c)
	time.Sleep(100 * time.Millisecond)
	d, err := read(t, c).Since(prev)
	require.NoError(t, err)
	require.Less(t, d.Value, 50e6)
}

func TestClosed(t *testing.T) {
	p := startHeld(t, "wait")
	c, err := OpenHeld(p.Pid(), Options{Metric: CPUTime})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	_, err = c.Read()
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestNoDescriptorLeaks(t *testing.T) {
	p := startHeld(t, "wait")
	perfDescriptors := func() (n int) {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		for _, e := range entries {
			if link, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.Contains(link, "perf_event") {
				n++
			}
		}
		return n
	}
	// One that fails after it opened something.
	broken := groupSpec(CPUTime, inheritThreads)
	broken[3].attr.Config = 0xffff
	before := perfDescriptors()
	for i := range 1000 {
		c, err := OpenHeld(p.Pid(), Options{Metric: CPUTime})
		require.NoError(t, err, "cycle %d", i)
		if i == 0 && c.group != nil {
			require.Equal(t, before+len(c.group.ids), perfDescriptors())
		}
		require.NoError(t, c.Close())
		_, err = openEvents(p.Pid(), broken)
		require.Error(t, err)
	}
	require.Equal(t, before, perfDescriptors())
}
