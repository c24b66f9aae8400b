package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is the command as users have it, built for these tests.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tare-command-")
	if err == nil {
		program = filepath.Join(dir, "tare")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
			err = fmt.Errorf("go build: %w: %s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// outcome is how a run of the command ended.
type outcome struct {
	exit        int
	out, errors string
}

// tare runs the command.
func tare(t testing.TB, args ...string) outcome {
	t.Helper()
	c := exec.Command(program, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	return ended(t, c.Run(), &out, &errs)
}

func ended(t testing.TB, err error, out, errs *bytes.Buffer) outcome {
	t.Helper()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	return outcome{code, out.String(), errs.String()}
}

// result reads the one object on standard output.
func (o outcome) result(t testing.TB) loadResult {
	t.Helper()
	var r loadResult
	d := json.NewDecoder(bytes.NewReader([]byte(o.out)))
	require.NoError(t, d.Decode(&r), "%s\n%s", o.out, o.errors)
	require.False(t, d.More(), "one object")
	require.Equal(t, o.exit, r.Exit)
	return r
}

func TestUsage(t *testing.T) {
	o := tare(t)
	require.Equal(t, exitUsage, o.exit)
	require.Empty(t, o.out)
	require.Contains(t, o.errors, "load a server at an exact rate")
	require.NotContains(t, o.errors, generatorCommand)
	for _, help := range []string{"help", "-h", "--help"} {
		o = tare(t, help)
		require.Zero(t, o.exit)
		require.Contains(t, o.out, "Usage: tare COMMAND")
	}
	o = tare(t, "laod")
	require.Equal(t, exitUsage, o.exit)
	require.Contains(t, o.errors, `no command "laod"`)
	for _, help := range []string{"-h", "--help"} {
		o = tare(t, "load", help)
		require.Zero(t, o.exit)
		require.Empty(t, o.errors)
		require.Contains(t, o.out, "--rate requests")
		require.Contains(t, o.out, "Exit status")
	}
}
