package procfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree writes files given by their path below a root, such as "proc/stat".
func tree(t testing.TB, files map[string]string) FS {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}
