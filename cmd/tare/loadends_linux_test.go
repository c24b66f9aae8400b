package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// started runs the command in the background.
func started(t testing.TB, args ...string) (c *exec.Cmd, wait func() outcome) {
	c = exec.Command(program, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	require.NoError(t, c.Start())
	return c, func() outcome { return ended(t, c.Wait(), &out, &errs) }
}

func (s *counted) await(t testing.TB, n int64) {
	require.Eventually(t, func() bool { return s.requests.Load() >= n }, 20*time.Second, 5*time.Millisecond)
}

// A signal ends the load early; the counts until then are whole.
func TestLoadInterrupted(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		s := serve(t, hello)
		c, wait := started(t, "load", "--json", "--rate", "200", "--duration", "10m", s.URL)
		s.await(t, 40)
		require.NoError(t, c.Process.Signal(signal))
		o := wait()
		require.Equal(t, exitInterrupted, o.exit, o.errors)
		r := o.result(t)
		require.True(t, r.Interrupted)
		require.False(t, r.AsAsked)
		require.GreaterOrEqual(t, r.Completed, int64(40))
		require.Less(t, r.Scheduled, int64(200*600))
		require.Equal(t, s.requests.Load(), r.Sent)
		requireIdentities(t, r)
	}
}

// childOf is the generator of a running command.
func childOf(t testing.TB, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	require.NoError(t, err)
	if len(strings.Fields(string(text))) == 0 { // started by another thread
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		require.NoError(t, err)
		for _, task := range tasks {
			more, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
			text = append(text, more...)
		}
	}
	fields := strings.Fields(string(text))
	require.Len(t, fields, 1)
	child, err := strconv.Atoi(fields[0])
	require.NoError(t, err)
	return child
}

// A generator that is killed is an error, and not a load that went well.
func TestLoadGeneratorKilled(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	c, wait := started(t, "load", "--json", "--rate", "200", "--duration", "10m", s.URL)
	s.await(t, 20)
	require.NoError(t, syscall.Kill(childOf(t, c.Process.Pid), syscall.SIGKILL))
	o := wait()
	require.Equal(t, exitError, o.exit)
	require.Contains(t, o.errors, "the generator process is gone")
	require.Contains(t, o.out, `"error":"`)
}

// The generator does not outlive the command.
func TestLoadKilled(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	c, wait := started(t, "load", "--rate", "200", "--duration", "10m", s.URL)
	s.await(t, 20)
	child := childOf(t, c.Process.Pid)
	require.NoError(t, c.Process.Kill())
	wait()
	require.Eventually(t, func() bool { return syscall.Kill(child, 0) == syscall.ESRCH }, 20*time.Second, 10*time.Millisecond)
}
