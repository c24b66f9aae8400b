package child

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// realPath makes path absolute and resolves the links in its parents as far as
// these exist; the last element stays as it is.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil || abs == "/" {
		return abs, err
	}
	dir, base := filepath.Split(abs)
	parent, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, os.ErrNotExist) {
		parent, err = realPath(dir)
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, base), nil
}

// holdsState reports whether the removal of path would remove the state
// directory or its ledgers.
func holdsState(path, stateDir string) bool {
	return within(path, stateDir) || within(path, ledgerDir(stateDir))
}

// within reports whether path is dir or lies under it; both are absolute.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// inCgroupFS fails unless path lies on a cgroup file system.
func inCgroupFS(path string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	if st.Type != unix.CGROUP_SUPER_MAGIC && st.Type != unix.CGROUP2_SUPER_MAGIC {
		return fmt.Errorf("%s is not on a cgroup file system (type %#x)", path, st.Type)
	}
	return nil
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
