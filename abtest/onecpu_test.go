//go:build linux

package abtest

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
	"github.com/tareperf/tare/pinning"
)

const oneCPUEnv = "TARE_TEST_ONE_CPU"

// TestOneCPUChild is the process that TestOneCPU keeps on one CPU.
func TestOneCPUChild(t *testing.T) {
	if os.Getenv(oneCPUEnv) == "" {
		return // TestOneCPU runs it
	}
	_, err := Measure(context.Background(), small(t))
	var few *pinning.TooFewCPUsError
	require.ErrorAs(t, err, &few)
	require.ErrorContains(t, err, "needs at least 2 CPUs, has 1")
	require.Empty(t, leftBehind(t))
}

// TestOneCPU: a process that may use one CPU only is refused before anything
// starts.
func TestOneCPU(t *testing.T) {
	allowed, err := procfs.FS{}.AllowedCPUs(os.Getpid())
	require.NoError(t, err)
	// A new process has the mask of the thread that starts it.
	runtime.LockOSThread()
	require.NoError(t, sys.SetAffinity(0, allowed[:1]))
	cmd := exec.Command(os.Args[0], "-test.run", "^TestOneCPUChild$", "-test.v")
	cmd.Env = append(os.Environ(), oneCPUEnv+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, sys.SetAffinity(0, allowed))
	runtime.UnlockOSThread()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestOneCPUChild")
}
