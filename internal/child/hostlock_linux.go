package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Lock is the lock of the host. It ends with Close and with this process.
type Lock struct {
	file *os.File
}

type holder struct {
	Pid   int       `json:"pid"`
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// LockHost takes the lock that admits one experiment at a time to the host:
// flock on os.TempDir()/tare.lock, for all users who share that directory.
// When it is held, LockHost answers a *HeldError, or with l.Wait asks again
// four times a second until ctx ends; then the error wraps both.
func LockHost(ctx context.Context, l HostLock) (*Lock, error) {
	path := filepath.Join(os.TempDir(), "tare.lock")
	if l.Holder == "" {
		l.Holder = filepath.Base(os.Args[0])
	}
	for {
		lock, err := tryLock(path, l.Holder)
		var held *HeldError
		if err == nil || !errors.As(err, &held) {
			return lock, err
		}
		if !l.Wait {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (waited: %w)", err, context.Cause(ctx))
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func tryLock(path, name string) (*Lock, error) {
	for {
		f, err := openLockFile(path)
		if err != nil {
			return nil, fmt.Errorf("lock the host: %w; it must be a file that every user may write, or set TMPDIR", err)
		}
		if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
			if errors.Is(err, unix.EWOULDBLOCK) {
				err = heldBy(f, path)
			} else {
				err = fmt.Errorf("lock the host: flock %s: %w", path, err)
			}
			f.Close()
			return nil, err
		}
		// A cleaner of /tmp may have removed the file between open and flock:
		// the next one would lock another file.
		ours, err1 := f.Stat()
		now, err2 := os.Lstat(path)
		if err1 != nil || err2 != nil || !os.SameFile(ours, now) {
			f.Close()
			continue
		}
		if err := writeHolder(f, holder{Pid: os.Getpid(), Name: name, Since: time.Now().UTC().Truncate(time.Second)}); err != nil {
			return nil, errors.Join(fmt.Errorf("lock the host: write %s: %w", path, err), f.Close())
		}
		return &Lock{file: f}, nil
	}
}

// openLockFile opens an existing file without O_CREAT, because
// fs.protected_regular refuses O_CREAT on other people's files in /tmp.
func openLockFile(path string) (*os.File, error) {
	const flags = os.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK
	for {
		f, err := os.OpenFile(path, flags, 0)
		if errors.Is(err, os.ErrNotExist) {
			if f, err = os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, 0o666); errors.Is(err, os.ErrExist) {
				continue
			}
			if err == nil {
				err = f.Chmod(0o666) // the umask took some
			}
		}
		if err != nil {
			return nil, err
		}
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			f.Close()
			return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), err)
		}
		return f, nil
	}
}

func writeHolder(f *os.File, h holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(b, '\n'), 0)
	return err
}

// heldBy reads who holds the lock; the holder may be about to write it.
func heldBy(f *os.File, path string) *HeldError {
	e := &HeldError{Path: path}
	for range 5 {
		b := make([]byte, 4096)
		n, _ := f.ReadAt(b, 0)
		var h holder
		if json.Unmarshal(b[:n], &h) == nil && h.Pid != 0 {
			e.Pid, e.Holder, e.Since = h.Pid, h.Name, h.Since
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return e
}

// Close gives the lock back. The file stays, because removing it would let two
// others lock two files.
func (l *Lock) Close() error {
	if l.file == nil {
		return nil
	}
	// LOCK_UN, because a process that is just being forked has a copy of the
	// descriptor until its exec.
	err := errors.Join(l.file.Truncate(0), flock(l.file, unix.LOCK_UN), l.file.Close())
	l.file = nil
	return err
}
