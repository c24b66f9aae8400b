package procfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNotSupported means that this host conclusively lacks what was asked for.
var ErrNotSupported = errors.New("not supported on this host")

// FS is where to read from. The zero value is the live system.
type FS struct {
	Proc string // mount point of procfs; default /proc
	Sys  string // mount point of sysfs; default /sys
}

func (fs FS) proc(elem ...string) string {
	root := fs.Proc
	if root == "" {
		root = "/proc"
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

func (fs FS) sys(elem ...string) string {
	root := fs.Sys
	if root == "" {
		root = "/sys"
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

// live reports whether the tree is the running system's own.
func (fs FS) live() bool {
	return (fs.Proc == "" || fs.Proc == "/proc") && (fs.Sys == "" || fs.Sys == "/sys")
}

// Resolve maps an absolute path of the host, such as a mount point, to where
// this FS keeps it. Paths outside /proc and /sys exist on a live FS only.
func (fs FS) Resolve(path string) (string, error) {
	clean := filepath.ToSlash(filepath.Clean(path))
	for _, root := range []struct{ host, here string }{{"/proc", fs.proc()}, {"/sys", fs.sys()}} {
		if clean == root.host || strings.HasPrefix(clean, root.host+"/") {
			return filepath.Join(root.here, strings.TrimPrefix(clean, root.host)), nil
		}
	}
	if fs.live() {
		return path, nil
	}
	return "", fmt.Errorf("procfs: %s lies outside the given proc and sys trees: %w", path, os.ErrNotExist)
}

// ReadSys returns the content of a file below the root of sysfs without the
// surrounding white space.
func (fs FS) ReadSys(path string) (string, error) { return readTrim(fs.sys(path)) }

// ReadProc returns the content of a file below the root of procfs without the
// surrounding white space.
func (fs FS) ReadProc(path string) (string, error) { return readTrim(fs.proc(path)) }

func readTrim(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

func readInt(path string) (int64, error) {
	s, err := readTrim(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// BootID names this boot of this kernel: equal pids on different boots are
// different processes.
func (fs FS) BootID() (string, error) {
	id, err := fs.ReadProc("sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	if id == "" {
		return "", fmt.Errorf("procfs: boot_id is empty")
	}
	return id, nil
}
