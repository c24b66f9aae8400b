//go:build linux

package abtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
	"github.com/tareperf/tare/pinning"
)

// trigger is a log that calls act once, when a line contains the text.
type trigger struct {
	t    *testing.T
	at   string
	act  func()
	once sync.Once
}

func (w *trigger) Write(p []byte) (int, error) {
	w.t.Output().Write(p)
	if bytes.Contains(p, []byte(w.at)) {
		w.once.Do(w.act)
	}
	return len(p), nil
}

// cpusOf is where this machine's plan puts things.
func cpusOf(t *testing.T) pinning.Plan {
	topology, err := pinning.ReadTopology(procfs.FS{})
	require.NoError(t, err)
	plan, err := topology.Plan(pinning.Wish{})
	require.NoError(t, err)
	return plan
}

// startSpinner runs somebody else's busy loop on a CPU until the test ends.
func startSpinner(t *testing.T, cpu int) (pid int) {
	cmd := exec.Command("/bin/sh", "-c", `"$0" & echo $!`, os.Args[0])
	cmd.Env = append(os.Environ(), spinEnv+"=1")
	return startStranger(t, cmd, []int{cpu})
}

// startStranger starts a process that is not this one's descendant: the shell
// that starts it in the background ends at once.
func startStranger(t *testing.T, cmd *exec.Cmd, cpus []int) (pid int) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := os.Create(filepath.Join(t.TempDir(), "pid"))
	require.NoError(t, err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Run())
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(out.Name())
		first, _, _ := strings.Cut(string(text), "\n")
		pid, err = strconv.Atoi(first)
		return err == nil
	}, 5*time.Second, 10*time.Millisecond)
	start, err := procfs.FS{}.Process(pid)
	require.NoError(t, err)
	t.Cleanup(func() {
		if p, err := (procfs.FS{}).Process(pid); err == nil && p.StartTicks == start.StartTicks {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if cpus != nil {
		threads, err := procfs.FS{}.Threads(pid)
		require.NoError(t, err)
		for _, th := range threads {
			require.NoError(t, sys.SetAffinity(th.Tid, cpus))
		}
	}
	return pid
}

// refused runs e, which must be invalid because of a gate, and returns the
// failed results of that gate.
func refused(t *testing.T, e Experiment, name string) string {
	t.Helper()
	result, err := Measure(context.Background(), e)
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid, "%v", err)
	require.Greater(t, invalid.ByGate[name], 0, "the gate %s did not fire: %v", name, err)
	for _, row := range result.Rows {
		require.Equal(t, "invalid", string(row.Verdict.Kind))
	}
	r, err := ReadRecord(result.RecordPath)
	require.NoError(t, err)
	require.Equal(t, invalid.Failed, result.Failed, "failed rounds stay in the record")
	var causes []string
	for _, round := range r.Rounds {
		for _, g := range round.Gates.Failed() {
			if g.Gate == name {
				causes = append(causes, g.String())
			}
		}
	}
	require.Empty(t, leftBehind(t))
	return strings.Join(causes, "\n")
}

// TestSpinnerOnTheProxysCPU: rounds are refused, the spinner is named.
func TestSpinnerOnTheProxysCPU(t *testing.T) {
	e := small(t)
	e.Redo = 1
	cpus := cpusOf(t) // before this process is confined
	var pid int
	e.Log = &trigger{t: t, at: "round  1/", act: func() { pid = startSpinner(t, cpus.Proxy.CPUs()[0]) }}
	causes := refused(t, e, gate.NameForeignDuring)
	require.Contains(t, causes, fmt.Sprintf("(pid %d)", pid))
}

// TestSpinnerBefore: a CPU that is busy from the start is refused before any
// load, and the spinner is named.
func TestSpinnerBefore(t *testing.T) {
	e := small(t)
	pid := startSpinner(t, cpusOf(t).Proxy.CPUs()[0])
	_, err := Measure(context.Background(), e)
	var quiet *NotQuietError
	require.ErrorAs(t, err, &quiet, "%v", err)
	require.ErrorContains(t, err, fmt.Sprintf("(pid %d)", pid))
	require.Empty(t, leftBehind(t))
}

// TestSpinnerOnTheOriginsCPU: the origin has no headroom, the spinner is named.
func TestSpinnerOnTheOriginsCPU(t *testing.T) {
	e := small(t)
	e.Redo = 1
	cpus := cpusOf(t) // before this process is confined
	var pid int
	e.Log = &trigger{t: t, at: "round  1/", act: func() { pid = startSpinner(t, cpus.Origin.CPUs()[0]) }}
	causes := refused(t, e, gate.NameHeadroom)
	require.Contains(t, causes, fmt.Sprintf("(pid %d)", pid))
}

// helperPid finds a helper of this process.
func helperPid(t *testing.T, name string) int {
	pids, err := procfs.FS{}.Processes()
	require.NoError(t, err)
	for _, pid := range pids {
		p, err := procfs.FS{}.Process(pid)
		if err != nil || p.PPid != os.Getpid() {
			continue
		}
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if strings.Contains(string(text), helperEnv+"="+name+"\x00") {
			return pid
		}
	}
	t.Fatalf("no helper %s", name)
	return 0
}

// TestStoppedOrigin: SIGSTOP.
func TestStoppedOrigin(t *testing.T) {
	e := small(t)
	e.Redo = 1
	e.Load.Timeout = time.Second
	var pid int
	e.Log = &trigger{t: t, at: "round  1/", act: func() {
		pid = helperPid(t, helperOrigin)
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}}
	causes := refused(t, e, gate.NameOrigin)
	require.Contains(t, causes, fmt.Sprintf("(pid %d)", pid))
	require.Contains(t, causes, "stopped")
}

// TestUnreachableRate: more than this generator can send.
func TestUnreachableRate(t *testing.T) {
	e := small(t)
	e.Load.Rate = 150000
	e.Redo = 1
	causes := refused(t, e, gate.NameRate)
	require.Contains(t, causes, "150000")
}

// TestProxyDies: the round in which a proxy is killed is lost, and said so.
func TestProxyDies(t *testing.T) {
	e := calm(t)
	e.Log = &trigger{t: t, at: "round  1/", act: func() {
		require.NoError(t, syscall.Kill(helperPid(t, helperProxy), syscall.SIGKILL))
	}}
	result, err := Measure(context.Background(), e)
	require.NoError(t, err)
	require.Equal(t, e.Rounds, result.Kept)
	require.Greater(t, result.Failed, 0)
	require.Empty(t, leftBehind(t))
}

// TestSecondEnvoyLeftFromBefore: it is idle, and may run where the proxy does.
func TestSecondEnvoyLeftFromBefore(t *testing.T) {
	found, err := envoy.Find(envoy.FindOptions{})
	need.Skip(t, "envoy", err)
	dir := t.TempDir()
	config := filepath.Join(dir, "old.yaml")
	require.NoError(t, os.WriteFile(config, []byte("admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}\n"), 0o600))
	cmd := exec.Command("/bin/sh", "-c", `"$0" -c "$1" --disable-hot-restart >/dev/null 2>&1 & echo $!`, found.Path, config)
	pid := startStranger(t, cmd, nil)
	base := envoy.MustParse(minimalEnvoy)
	e := small(t)
	e.Baseline.Target = envoy.Proxy{Bootstrap: base}
	e.Variants[0].Target = envoy.Proxy{Bootstrap: base.With(envoy.FileAccessLog("access.log"))}
	_, err = Measure(context.Background(), e)
	var quiet *NotQuietError
	require.ErrorAs(t, err, &quiet, "%v", err)
	require.Equal(t, gate.NameLeftovers, quiet.Results[0].Gate)
	require.ErrorContains(t, err, fmt.Sprintf("(pid %d)", pid))
	require.ErrorContains(t, err, fmt.Sprintf("kill %d", pid))
	require.Empty(t, leftBehind(t))
}

// TestInterrupted: a cancelled context ends the session in order, and the next
// one resumes it.
func TestInterrupted(t *testing.T) {
	e := calm(t)
	e.Resume = ResumeAuto
	ctx, cancel := context.WithCancel(context.Background())
	e.Log = &trigger{t: t, at: "round  2/", act: cancel}
	first, err := Measure(ctx, e)
	require.True(t, errors.Is(err, context.Canceled), "%v", err)
	require.Empty(t, leftBehind(t))
	require.False(t, first.Complete)
	require.Equal(t, "invalid", string(first.Rows[0].Verdict.Kind))

	changed := e
	changed.Rounds, changed.Resume = 13, ResumeMust
	_, err = Measure(context.Background(), changed)
	var refused *ResumeError
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "Rounds was 12 and is 13")

	e.Log = t.Output()
	second, err := Measure(context.Background(), e)
	require.NoError(t, err)
	require.Equal(t, first.RecordPath, second.RecordPath)
	require.True(t, second.Complete)
	require.Equal(t, e.Rounds, second.Kept)
}
