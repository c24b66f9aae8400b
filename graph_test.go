package tare

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/tareperf/tare"

// mayImport lists, for each package with a border, which packages of this
// module its non-test code may import; "" is the package's own folder.
var mayImport = map[string][]string{
	"stats":           {},
	"gate":            {"stats", "internal/procfs"},
	"counters":        {"internal/sys", "internal/procfs"},
	"pinning":         {"internal/sys", "internal/procfs"},
	"loadgen":         {"internal/sys", "internal/procfs"},
	"envoy":           {"internal/child", "internal/procfs"},
	"internal/sys":    {},
	"internal/procfs": {"internal/sys"},
	"internal/child":  {"internal/sys", "internal/procfs"},
}

// imports returns what the non-test files of every folder import.
func imports(t *testing.T) map[string]map[string]bool {
	t.Helper()
	found := map[string]map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || (p != "." && strings.HasPrefix(d.Name(), "."))) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(p))
		if found[dir] == nil {
			found[dir] = map[string]bool{}
		}
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found[dir][name] = true
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

func TestImportGraph(t *testing.T) {
	found := imports(t)
	for pkg, allowed := range mayImport {
		require.NotEmpty(t, found[pkg], "package %s is gone: correct the table of borders", pkg)
		for imported := range found[pkg] {
			within, own := strings.CutPrefix(imported, module+"/")
			if own {
				require.Contains(t, allowed, within, "%s imports %s, which its border does not allow", pkg, within)
			}
		}
	}
	for pkg, list := range found {
		for imported := range list {
			switch {
			case imported == "unsafe":
				require.Equal(t, "internal/sys", pkg, "only internal/sys uses unsafe")
			case imported == module+"/abtest":
				require.Contains(t, []string{"cmd/tare"}, pkg, "packages do not import abtest")
			}
		}
	}
}

// TestOneStarterOfProcesses reads the text of every file that is not a test
// for the ways to start a process.
func TestOneStarterOfProcesses(t *testing.T) {
	for dir := range imports(t) {
		if dir == "internal/child" || dir == "internal/sys" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			for _, starter := range []string{"exec.Command", "os.StartProcess", "syscall.ForkExec", "syscall.StartProcess"} {
				require.NotContains(t, string(text), starter, "%s starts a process; only internal/child does", f)
			}
		}
	}
}

// TestWhatAnImporterPays holds the modules that packages bring with them, by
// what supplies packages to their build.
func TestWhatAnImporterPays(t *testing.T) {
	for pkg, most := range map[string][]string{
		"stats": {"gonum.org/v1/gonum"},
		"gate":  {"gonum.org/v1/gonum", "golang.org/x/sys"},
	} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./"+pkg)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err)
		for _, m := range strings.Fields(string(out)) {
			if m != module {
				require.Contains(t, most, m, "%s brings module %s to everybody who imports it", pkg, m)
			}
		}
	}
}
