package child

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// StateDir returns the directory for ledgers and run directories,
// os.TempDir()/tare-UID, and makes it with mode 0700. It is an error when
// something else has that name, or others may write or read there.
func StateDir() (string, error) {
	dir := filepath.Join(os.TempDir(), "tare-"+strconv.Itoa(os.Getuid()))
	if err := privateDir(dir); err != nil {
		return "", fmt.Errorf("state directory: %w", err)
	}
	return dir, nil
}

// privateDir makes dir, or checks that it is a directory of this user alone.
func privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is not a directory (%s); remove it, or set TMPDIR to a directory of your own", dir, st.Mode().Type())
	}
	if uid := st.Sys().(*syscall.Stat_t).Uid; int(uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d, not to user %d; have it removed, or set TMPDIR to a directory of your own", dir, uid, os.Getuid())
	}
	if perm := st.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o, so others may reach what is in it; look at its content, then remove it or run: chmod 0700 %s", dir, perm, dir)
	}
	return nil
}
