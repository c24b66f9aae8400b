package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tareperf/tare/internal/procfs"
)

// processes kills what still lives of the recorded processes and of what they
// forked. On another boot nothing of them can live.
func (s *sweeper) processes(entries []line) error {
	if !s.sameBoot {
		return nil
	}
	var errs []error
	for _, e := range entries {
		if e.Kind == kindProcess {
			errs = append(errs, s.process(e))
		}
	}
	errs = append(errs, s.descendants(entries))
	return errors.Join(errs...)
}

func (s *sweeper) process(e line) error {
	st, err := proc.Process(e.Pid)
	switch {
	case gone(err) || err == nil && dead(st):
		s.report(kindProcess, e.Name, e.Pid, "already gone")
		return nil
	case err != nil:
		return err
	case st.StartTicks != e.StartTicks:
		s.report(kindProcess, e.Name, e.Pid, "already gone: the pid now belongs to another process")
		return nil
	}
	exe, err := exeOf(e.Pid)
	if gone(err) {
		s.report(kindProcess, e.Name, e.Pid, "already gone")
		return nil
	}
	known := err == nil && slices.ContainsFunc(e.Exes, exe.sameFile)
	switch {
	case known || s.hasToken(e.Pid): // a wrapper becomes another program by exec
		return s.killPid(e.Name, e.Pid, e.StartTicks)
	case err != nil:
		s.report(kindProcess, e.Name, e.Pid, fmt.Sprintf("left alone: what it executes cannot be read (%v); look at it, and kill it if it is yours", err))
	default:
		s.report(kindProcess, e.Name, e.Pid, fmt.Sprintf("left alone: it executes %s now, which was not recorded; look at it, and kill it if it is yours", exe.Path))
	}
	return nil
}

// descendants kills whatever inherited the token. Repeated until none is
// found, because what is about to be killed can still fork. Who lives in a
// recorded group without showing the token is reported: the number of the
// group may belong to others by now.
func (s *sweeper) descendants(entries []line) error {
	if s.owner.Token == "" {
		return nil
	}
	groups := map[int]bool{}
	for _, e := range entries {
		groups[e.Pgid] = e.Kind == kindProcess
	}
	for range 100 {
		pids, err := proc.Processes()
		if err != nil {
			return err
		}
		killed := 0
		var doubtful []procfs.Process
		for _, pid := range pids {
			p, err := proc.Process(pid)
			if err != nil || dead(p) || pid == os.Getpid() {
				continue
			}
			switch {
			case s.hasToken(pid):
				killed++
				if err := s.killPid(p.Comm, pid, p.StartTicks); err != nil {
					return err
				}
			case groups[p.Pgid] && pid != p.Pgid: // leaders were seen to before
				doubtful = append(doubtful, p)
			}
		}
		if killed > 0 {
			continue
		}
		for _, p := range doubtful {
			s.report(kindProcess, p.Comm, p.Pid, fmt.Sprintf("left alone: it is in process group %d, which was recorded, but it does not show that it is of this run; look at it, and kill it if it is yours", p.Pgid))
		}
		return nil
	}
	return errors.New("processes with this ledger's token appear faster than they can be killed")
}

// hasToken says no for what cannot be read: it is another user's, or gone.
func (s *sweeper) hasToken(pid int) bool {
	if s.owner.Token == "" {
		return false
	}
	env, err := os.ReadFile(procPath(pid, "environ"))
	return err == nil && hasVariable(env, []byte(TokenVariable+"="+s.owner.Token))
}

func hasVariable(environ, kv []byte) bool {
	for _, e := range bytes.Split(environ, []byte{0}) {
		if bytes.Equal(e, kv) {
			return true
		}
	}
	return false
}

// killPid kills one identified process and waits until it is gone. A pidfd
// pins the process, so that the signal cannot hit a later owner of the number.
func (s *sweeper) killPid(name string, pid int, startTicks uint64) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	defer p.Release()
	same := func() bool {
		st, err := proc.Process(pid)
		return err == nil && st.StartTicks == startTicks && !dead(st)
	}
	if !same() {
		s.report(kindProcess, name, pid, "already gone")
		return nil
	}
	if err := p.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s (pid %d): %w", name, pid, err)
	}
	deadline := time.Now().Add(afterKill)
	for same() {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s (pid %d) has not ended %s after SIGKILL", name, pid, afterKill)
		}
		time.Sleep(time.Millisecond)
	}
	s.report(kindProcess, name, pid, "killed")
	return nil
}

// cgroup moves what is in it to the parent and removes it.
func (s *sweeper) cgroup(e line) error {
	if !s.sameBoot { // what has the name now is someone else's
		s.report(kindCgroup, e.Path, 0, "already gone: it was of another boot")
		return nil
	}
	if _, err := os.Lstat(e.Path); errors.Is(err, os.ErrNotExist) {
		s.report(kindCgroup, e.Path, 0, "already gone")
		return nil
	}
	if err := inCgroupFS(e.Path); err != nil {
		s.report(kindCgroup, e.Path, 0, "left alone: "+err.Error())
		return nil
	}
	parent := filepath.Join(filepath.Dir(e.Path), "cgroup.procs")
	moved := 0
	var err error
	for range 100 { // new processes may appear, and the kernel frees with delay
		var n int
		if n, err = moveAll(filepath.Join(e.Path, "cgroup.procs"), parent); err != nil {
			return fmt.Errorf("empty cgroup %s: %w", e.Path, err)
		}
		moved += n
		if err = syscall.Rmdir(e.Path); !errors.Is(err, syscall.EBUSY) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove cgroup %s: %w", e.Path, err)
	}
	action := "removed"
	if moved > 0 {
		action = fmt.Sprintf("removed, %d processes moved to the parent", moved)
	}
	s.report(kindCgroup, e.Path, 0, action)
	return nil
}

func moveAll(from, to string) (moved int, err error) {
	b, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, pid := range strings.Fields(string(b)) {
		if _, err := strconv.Atoi(pid); err != nil {
			return moved, fmt.Errorf("%s holds %q, want a pid", from, pid)
		}
		switch err := os.WriteFile(to, []byte(pid), 0); {
		case errors.Is(err, syscall.ESRCH): // ended meanwhile
		case err != nil:
			return moved, err
		default:
			moved++
		}
	}
	return moved, nil
}

// dir removes a recorded directory, if it still is the one that was recorded.
func (s *sweeper) dir(e line) error {
	st, err := os.Lstat(e.Path)
	if errors.Is(err, os.ErrNotExist) {
		s.report(kindDir, e.Path, 0, "already gone")
		return nil
	}
	if err != nil {
		return err
	}
	sys := st.Sys().(*syscall.Stat_t)
	inState := within(s.stateDir, e.Path)
	real, err := realPath(e.Path)
	switch {
	case err != nil:
		return err
	case holdsState(e.Path, s.stateDir):
		s.report(kindDir, e.Path, 0, "left alone: it holds the state directory")
		return nil
	case real != e.Path:
		s.report(kindDir, e.Path, 0, "left alone: it leads through a link to "+real)
		return nil
	case !st.IsDir():
		s.report(kindDir, e.Path, 0, "left alone: it is no directory any more")
		return nil
	// Device numbers may change with a boot.
	case !inState && (sys.Ino != e.Inode || s.sameBoot && uint64(sys.Dev) != e.Device):
		s.report(kindDir, e.Path, 0, "left alone: it is not the directory that was recorded")
		return nil
	}
	parent, err := os.OpenRoot(filepath.Dir(e.Path))
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := parent.RemoveAll(filepath.Base(e.Path)); err != nil {
		return fmt.Errorf("remove directory %s: %w", e.Path, err)
	}
	s.report(kindDir, e.Path, 0, "removed")
	return nil
}
