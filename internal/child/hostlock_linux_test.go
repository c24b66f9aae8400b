package child

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/need"
)

func TestLockHostNamesTheHolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	old := syscall.Umask(0o077)
	lock, err := LockHost(context.Background(), HostLock{Holder: "first"})
	syscall.Umask(old)
	require.NoError(t, err)
	path := filepath.Join(os.TempDir(), "tare.lock")
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o666), st.Mode().Perm(), "whatever the umask")

	_, err = LockHost(context.Background(), HostLock{Holder: "second"})
	var held *HeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, os.Getpid(), held.Pid)
	require.Equal(t, "first", held.Holder)
	require.WithinDuration(t, time.Now(), held.Since, time.Hour)
	require.Contains(t, err.Error(), `"first"`)
	require.Contains(t, err.Error(), "wait")

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err = LockHost(ctx, HostLock{Wait: true})
	require.ErrorAs(t, err, &held)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	time.AfterFunc(20*time.Millisecond, func() { lock.Close() })
	next, err := LockHost(context.Background(), HostLock{Wait: true})
	require.NoError(t, err)
	require.NoError(t, next.Close())
	require.NoError(t, next.Close(), "again")
}

// The lock ends with its holder, also by SIGKILL, and no child keeps it.
func TestLockHostEndsWithItsHolder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	c, out := run(t, "locker")
	pid, err := readInt(out)
	require.NoError(t, err)
	files, err := os.ReadDir(procPath(pid, "fd"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		file, err := os.Readlink(procPath(pid, "fd/"+f.Name()))
		require.NoError(t, err)
		require.NotContains(t, file, "tare.lock", "no child has the lock's descriptor")
	}

	_, err = LockHost(context.Background(), HostLock{})
	var held *HeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, c.Process.Pid, held.Pid)
	require.Equal(t, "the first one", held.Holder)

	kill9(t, c)
	requireGone(t, 2*time.Second, pid)
	lock, err := LockHost(context.Background(), HostLock{})
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}

// fs.protected_regular refuses open with O_CREAT on another user's file in a
// sticky directory, for root too.
func TestLockHostOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		need.Skip(t, "root", os.ErrPermission)
	}
	dir, err := os.MkdirTemp("", "tare-lock-test") // t.TempDir has a parent of mode 0700
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	exe, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	copied := filepath.Join(dir, "locker")
	require.NoError(t, os.WriteFile(copied, exe, 0o755))
	lockAs := func(uid uint32) (string, error) {
		c := exec.Command(copied)
		c.Dir = "/"
		c.Env = append(os.Environ(), roleEnv+"=user-locker", "TMPDIR="+dir)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		b, err := c.CombinedOutput()
		return string(b), err
	}
	for _, uid := range []uint32{65534, 0, 1} { // whoever comes first makes it
		out, err := lockAs(uid)
		require.NoError(t, err, "%d: %s", uid, out)
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "tare.lock"), 0o600))
	out, err := lockAs(1)
	require.Error(t, err)
	require.Contains(t, out, "permission denied; it must be a file that every user may write")
}

func TestLockHostSeesAReplacedFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(os.TempDir(), "tare.lock")
	for _, make := range []func() error{
		func() error { return os.Symlink("/dev/null", path) },
		func() error { return os.Mkdir(path, 0o777) },
		func() error { return syscall.Mkfifo(path, 0o666) },
	} {
		require.NoError(t, make())
		_, err := LockHost(context.Background(), HostLock{})
		require.ErrorContains(t, err, path)
		require.NoError(t, os.Remove(path))
	}
	// A holder who has not written its name yet, or only half of it.
	for _, text := range []string{"", `{"pid": 12, "na`} {
		f, err := os.Create(path)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, flock(f, syscall.LOCK_EX))
		_, err = LockHost(context.Background(), HostLock{})
		var held *HeldError
		require.ErrorAs(t, err, &held)
		require.Zero(t, held.Pid)
		require.True(t, strings.Contains(err.Error(), "an unknown process holds "+path), err)
		f.Close()
	}
}

func TestStateDirIsPrivate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := StateDir()
	require.NoError(t, err)
	st, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), st.Mode().Perm())
	again, err := StateDir()
	require.NoError(t, err)
	require.Equal(t, dir, again)

	require.NoError(t, os.Chmod(dir, 0o750))
	_, err = StateDir()
	require.ErrorContains(t, err, "chmod 0700 "+dir)

	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Symlink(t.TempDir(), dir))
	_, err = StateDir()
	require.ErrorContains(t, err, "is not a directory")

	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Mkdir(dir, 0o700))
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(dir, 65534, 65534))
		_, err = StateDir()
		require.ErrorContains(t, err, "belongs to user 65534")
	}
}
