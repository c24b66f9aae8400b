//go:build linux

package abtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInAnotherModule is a newcomer's path: the quickstart's experiment in an
// empty module outside this repository, run by go test; and running it again
// measures again, though nothing changed and caching is not forbidden.
func TestInAnotherModule(t *testing.T) {
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	write("go.sum", string(sums))
	write("go.mod", "module example.com/performance\n\ngo 1.26.0\n\nrequire github.com/tareperf/tare v0.0.0\n\nreplace github.com/tareperf/tare => "+root+"\n")
	write("cost_test.go", `package performance

import (
	"testing"
	"time"

	"github.com/tareperf/tare/abtest"
	"github.com/tareperf/tare/counters"
)

func TestMain(m *testing.M) { abtest.Main(m) }

func TestLogCost(t *testing.T) {
	abtest.Run(t, abtest.Experiment{
		Baseline: abtest.Arm{Name: "off", Target: abtest.EmbeddedProxy{FlushInterval: 100 * time.Millisecond}},
		Variants: []abtest.Arm{{Name: "text", Target: abtest.EmbeddedProxy{AccessLog: "text", FlushInterval: 100 * time.Millisecond}}},
		Metric:   counters.CPUTime,
	})
}
`)
	run := func(args ...string) string {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	run("mod", "tidy")
	for try := range 2 {
		out := run("test", "-short", "-run", "TestLogCost", ".")
		require.NotContains(t, out, "(cached)", "try %d", try)
	}
	records, err := filepath.Glob(filepath.Join(dir, "tare-records", "*.jsonl"))
	require.NoError(t, err)
	require.Len(t, records, 2)
	rows, err := os.ReadFile(strings.TrimSuffix(records[1], ".jsonl") + ".txt")
	require.NoError(t, err)
	require.Contains(t, string(rows), "smoke")
	require.Contains(t, string(rows), "attempt 2")
}
