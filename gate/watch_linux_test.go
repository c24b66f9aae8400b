package gate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

// stranger starts a program that is no descendant of this process, as what an
// earlier run left is not, under a name of its own and on one CPU. The program
// is a copy of a system one.
func stranger(t *testing.T, name, program string, cpu int, args ...string) int {
	t.Helper()
	path, err := exec.LookPath(program)
	require.NoError(t, err)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	exe := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(exe, content, 0o755))
	sh := exec.Command("sh", append([]string{"-c", `"$@" >/dev/null 2>&1 & echo $!`, "sh", exe}, args...)...)
	out, err := sh.Output() // the shell ends, its child is adopted by another
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	t.Cleanup(func() {
		p, err := procfs.FS{}.Process(pid)
		if err == nil && strings.HasPrefix(p.Exe, exe) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	require.Eventually(t, func() bool {
		p, err := procfs.FS{}.Process(pid)
		return err == nil && p.Exe == exe && p.PPid != os.Getpid()
	}, 5*time.Second, time.Millisecond)
	require.NoError(t, sys.SetAffinity(pid, []int{cpu}))
	return pid
}

// spinner is a stranger that is never idle. It goes before others where it
// may, because this machine may be busy with other things, and this process
// keeps off its CPU, to be able to look.
func spinner(t *testing.T, cpu int) int {
	t.Helper()
	pid := stranger(t, "spinner", "dd", cpu, "if=/dev/zero", "of=/dev/null", "bs=64k")
	all, err := sys.GetAffinity(0)
	require.NoError(t, err)
	keep := slices.DeleteFunc(slices.Clone(all), func(c int) bool { return c == cpu })
	if len(keep) > 0 {
		confine(t, keep)
		t.Cleanup(func() { confine(t, all) })
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, -10)
	return pid
}

func confine(t *testing.T, cpus []int) {
	t.Helper()
	for range 3 { // a thread that is born meanwhile inherits the old mask
		threads, err := procfs.FS{}.ThreadRuns(os.Getpid())
		require.NoError(t, err)
		for _, th := range threads {
			if err := sys.SetAffinity(th.Tid, cpus); !errors.Is(err, syscall.ESRCH) {
				require.NoError(t, err)
			}
		}
	}
}

func lastCPU(t *testing.T) int {
	t.Helper()
	cpus, err := sys.GetAffinity(0)
	require.NoError(t, err)
	return cpus[len(cpus)-1]
}

func watch(t *testing.T, o WatchOptions, d time.Duration) HostEvidence {
	t.Helper()
	w, err := StartWatch(FS{}, o)
	require.NoError(t, err)
	time.Sleep(d)
	e, err := w.Stop()
	require.NoError(t, err)
	return e
}

// watchSpinner watches until the spinner is among the three that ran most on
// its CPU, which others may prevent on a machine that is busy with other things.
func watchSpinner(t *testing.T, pid, cpu int) HostEvidence {
	t.Helper()
	var louder []string
	for range 10 {
		e := watch(t, WatchOptions{}, 300*time.Millisecond)
		on := func(p Process) int64 { return p.likelyOn([]int{cpu}, e.WallNanoseconds) }
		i := slices.IndexFunc(e.Processes, func(p Process) bool { return p.Pid == pid })
		require.GreaterOrEqual(t, i, 0, "it ran")
		louder = nil
		for _, p := range e.Processes {
			if on(p) > on(e.Processes[i]) {
				louder = append(louder, p.name())
			}
		}
		if len(louder) < 3 {
			return e
		}
	}
	need.Skip(t, "quiet", fmt.Errorf("these leave the spinner no time: %v", louder))
	panic("not reached")
}

func TestASpinnerOnTheProxysCPUIsNamed(t *testing.T) {
	cpu := lastCPU(t)
	pid := spinner(t, cpu)
	e := watchSpinner(t, pid, cpu)
	for _, gate := range []func(Thresholds, ForeignEvidence) Result{ForeignBefore, ForeignDuring} {
		r := gate(Thresholds{}, ForeignEvidence{CPUs: []int{cpu}, Host: e})
		require.Equal(t, StatusFail, r.Status)
		require.Contains(t, r.Cause, fmt.Sprintf(`"spinner" (pid %d) ran `, pid))
		require.Contains(t, r.Cause, fmt.Sprintf("of the window on CPU %d", cpu))
	}
	t.Log(ForeignDuring(Thresholds{}, ForeignEvidence{CPUs: []int{cpu}, Host: e}))
	t.Logf("reading took %v and %v for %d processes that ran", time.Duration(e.CostStartNanoseconds), time.Duration(e.CostEndNanoseconds), len(e.Processes))
	require.Equal(t, e.EndNanoseconds-e.StartNanoseconds, e.WallNanoseconds)
	require.NotEmpty(t, e.IdleStart["driver"])
	require.Equal(t, StatusPass, IdleStates(Thresholds{}, e.IdleStatesEvidence()).Status)

	// The same process as an arm under test is no foreigner.
	var spun int64
	for _, p := range e.Processes {
		if p.Pid == pid {
			spun = p.RunNanoseconds
			require.Equal(t, []int{cpu}, p.AllowedCPUs)
			require.False(t, p.Own)
			require.False(t, p.Kernel)
		}
	}
	require.Positive(t, spun)
	r := ForeignDuring(Thresholds{}, ForeignEvidence{CPUs: []int{cpu}, Host: e, Arms: []ArmTime{{Name: "off", Pids: []int{pid}, CPUNanoseconds: spun}}})
	require.NotContains(t, r.Cause, "spinner")
}

func TestASpinnerOnTheOriginsCPUIsNamed(t *testing.T) {
	cpu := lastCPU(t)
	pid := spinner(t, cpu)
	e := watchSpinner(t, pid, cpu)
	r := Headroom(Thresholds{}, HeadroomEvidence{Part: "origin", CPUs: []int{cpu}, Host: e})
	require.Equal(t, StatusFail, r.Status)
	require.Contains(t, r.Cause, "not of this rig, and busy there: ")
	require.Contains(t, r.Cause, fmt.Sprintf(`"spinner" (pid %d) ran `, pid))
	t.Log(r)
}

func TestAProxyLeftFromBeforeIsNamed(t *testing.T) {
	cpu := lastCPU(t)
	pid := stranger(t, "leftproxy", "sleep", cpu, "30") // idle, but there
	e := watch(t, WatchOptions{Twins: []string{"/elsewhere/leftproxy"}}, 20*time.Millisecond)
	looked := LeftoversEvidence{Looked: true, CPUs: []int{cpu}, Twins: e.Twins}
	r := Leftovers(Thresholds{}, looked)
	require.Equal(t, StatusFail, r.Status)
	require.Contains(t, r.Cause, fmt.Sprintf(`"leftproxy" (pid %d) may run on CPU %d, executable `, pid, cpu))
	t.Log(r)

	// One of the rig's own is none.
	e = watch(t, WatchOptions{Twins: []string{"leftproxy"}, Own: []int{pid}}, time.Millisecond)
	require.Empty(t, e.Twins)
	// Neither is a descendant of this process.
	child := exec.Command("sleep", "30")
	require.NoError(t, child.Start())
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	for _, twin := range watch(t, WatchOptions{Twins: []string{"sleep"}}, time.Millisecond).Twins {
		require.NotEqual(t, child.Process.Pid, twin.Pid)
	}
}

func TestAStoppedOriginIsNamed(t *testing.T) {
	cpu := lastCPU(t)
	pid := stranger(t, "origin", "sleep", cpu, "30")
	e := LookAtOrigin(FS{}, "nginx", pid)
	e.Answered = true
	require.Equal(t, StatusPass, Origin(Thresholds{}, e).Status)
	e.Answered, e.Error = false, "no answer in 1s"
	require.Equal(t, StatusFail, Origin(Thresholds{}, e).Status)

	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	require.Eventually(t, func() bool {
		e = LookAtOrigin(FS{}, "nginx", pid)
		return e.State == "T"
	}, 5*time.Second, time.Millisecond)
	r := Origin(Thresholds{}, e)
	require.Equal(t, StatusFail, r.Status)
	require.Equal(t, fmt.Sprintf(`nginx "origin" (pid %d) on CPU %d is stopped by a signal or a tracer`, pid, e.LastCPU), r.Cause)
	t.Log(r)

	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	require.Eventually(t, func() bool {
		e = LookAtOrigin(FS{}, "nginx", pid)
		return e.Gone || e.State == "Z"
	}, 5*time.Second, time.Millisecond)
	e.Answered = true
	require.Equal(t, StatusFail, Origin(Thresholds{}, e).Status)
	require.Equal(t, StatusCannotTell, Origin(Thresholds{}, OriginEvidence{Answered: true}).Status)
}

func TestWorkersSince(t *testing.T) {
	pid := spinner(t, lastCPU(t))
	start, err := ThreadRuns(FS{}, pid, "spin")
	require.NoError(t, err)
	require.Len(t, start, 1)
	time.Sleep(100 * time.Millisecond)
	end, err := ThreadRuns(FS{}, pid, "spin")
	require.NoError(t, err)
	workers, err := WorkersSince(start, end)
	require.NoError(t, err)
	require.Positive(t, workers[0].RunNanoseconds)
	require.Equal(t, StatusPass, Spread(Thresholds{}, SpreadEvidence{Workers: workers, Want: 1}).Status)

	_, err = WorkersSince(start, nil)
	require.ErrorContains(t, err, "1 workers at the start of the window and 0 at its end")
	end[0].Tid++
	_, err = WorkersSince(start, end)
	require.ErrorContains(t, err, "is not the one that was there")
	none, err := ThreadRuns(FS{}, pid, "wrk:")
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestAWatchWithoutAHost(t *testing.T) {
	_, err := StartWatch(FS{Proc: t.TempDir(), Sys: t.TempDir()}, WatchOptions{})
	require.ErrorContains(t, err, "online CPUs cannot be read")
}
