package stats_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An importer of this package pays for gonum and nothing else.
func TestOnlyGonum(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}|{{.ImportPath}}", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	seen := 0
	for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		module, path, _ := strings.Cut(l, "|")
		if module == "" || module == "gonum.org/v1/gonum" {
			seen++
			continue
		}
		require.Equal(t, "github.com/tareperf/tare/stats", path, "stats must not import %s of %s", path, module)
	}
	require.Greater(t, seen, 5)
}
