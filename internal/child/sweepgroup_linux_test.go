package child

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A recorded wrapper that became another program is still ours.
func TestSweepKnowsAWrapperByItsToken(t *testing.T) {
	state := stateDir(t)
	owner, err := self()
	require.NoError(t, err)
	c := exec.Command("/bin/sleep", "60")
	c.Env = append(os.Environ(), TokenVariable+"="+owner.Token)
	require.NoError(t, c.Start())
	defer c.Wait()
	defer c.Process.Kill()
	st, err := proc.Process(c.Process.Pid)
	require.NoError(t, err)
	wrapper, err := fileID("/bin/sh")
	require.NoError(t, err)
	deadLedger(t, state, func(o *line) { o.Token = owner.Token },
		line{Kind: kindProcess, Name: "wrapper", Pid: st.Pid, Pgid: st.Pid, StartTicks: st.StartTicks, Exes: []exeID{wrapper}})
	swept, err := Sweep(state)
	require.NoError(t, err)
	require.Equal(t, []string{"process: killed"}, actions(swept))
	require.False(t, alive(st.Pid))
}

// The number of a group whose leader is gone may belong to others.
func TestSweepReportsStrangersInARecordedGroup(t *testing.T) {
	state := stateDir(t)
	c := exec.Command("/bin/sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	stranger, err := readInt(bufio.NewReader(out))
	require.NoError(t, err)
	require.NoError(t, c.Wait())
	defer syscall.Kill(stranger, syscall.SIGKILL)
	deadLedger(t, state, nil, line{Kind: kindProcess, Name: "leader", Pid: c.Process.Pid, Pgid: c.Process.Pid, StartTicks: 1})
	swept, err := Sweep(state)
	require.NoError(t, err)
	got := actions(swept)
	require.Len(t, got, 2)
	require.Equal(t, "process: already gone", got[0])
	require.Contains(t, got[1], "process: left alone: it is in process group")
	require.True(t, alive(stranger))
}

// Of a script, what runs is the interpreter.
func TestLedgerOfAScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nsleep 60\n"), 0o755))
	l, err := OpenLedger(stateDir(t))
	require.NoError(t, err)
	p, err := Start(context.Background(), Spec{Path: script, Ledger: l})
	require.NoError(t, err)
	b, err := os.ReadFile(l.path)
	require.NoError(t, err)
	_, entries := parseLedger(b)
	require.Len(t, entries, 1)
	running, err := exeOf(p.Pid())
	require.NoError(t, err)
	require.Equal(t, script, entries[0].Exes[0].Path)
	require.Equal(t, running, entries[0].Exes[1])
	require.NoError(t, p.Stop(0))
	require.NoError(t, l.Close())
}
