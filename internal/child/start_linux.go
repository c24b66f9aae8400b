package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

// Start starts a process and returns while it is held: one thread, nothing of
// its program executed, in the ledger, on its CPUs. It leads a process group
// of its own and dies with this program. ctx bounds the start only.
//
// The caller must call Release or Stop.
func Start(ctx context.Context, s Spec) (*Process, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	p, err := s.spawn(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s (%s): %w", s.Name, s.Path, err)
	}
	err = p.prepare(s)
	go p.reap() // not earlier: the number of the process must stay taken until here
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s (%s): %w", s.Name, s.Path, err), p.Stop(0))
	}
	return p, nil
}

// complete fills in defaults and refuses what cannot work before anything runs.
func (s *Spec) complete() error {
	if s.Name == "" {
		s.Name = filepath.Base(s.Path)
	}
	if !strings.Contains(s.Path, "/") {
		return fmt.Errorf("start %s: path %q has no slash; look the program up first, or write ./%s", s.Name, s.Path, s.Path)
	}
	path, err := filepath.Abs(s.Path)
	if err != nil {
		return fmt.Errorf("start %s: path %q: %w", s.Name, s.Path, err)
	}
	s.Path = path
	if st, err := os.Stat(path); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	} else if !st.Mode().IsRegular() {
		return fmt.Errorf("start %s: %s is not a file that can be executed", s.Name, path)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("start %s: %s cannot be executed by this user: %w", s.Name, path, err)
	}
	if s.Env == nil {
		s.Env = os.Environ()
	}
	env := slices.Clone(s.Env)
	if s.Ledger != nil {
		env = append(env, TokenVariable+"="+s.Ledger.token)
	}
	s.Env = lastValues(env)
	return nil
}

// lastValues drops all but the last value of each key: programs disagree about
// which of them counts.
func lastValues(env []string) []string {
	last := make(map[string]int, len(env))
	for i, kv := range env {
		key, _, _ := strings.Cut(kv, "=")
		last[key] = i
	}
	var kept []string
	for i, kv := range env {
		if key, _, _ := strings.Cut(kv, "="); last[key] == i {
			kept = append(kept, kv)
		}
	}
	return kept
}

// spawn forks and execs on the spawner thread, by ptrace or else by the gate.
func (s *Spec) spawn(ctx context.Context) (*Process, error) {
	files, closeFiles, err := s.files()
	if err != nil {
		return nil, err
	}
	defer closeFiles()
	var p *Process
	errCtx := onSpawner(ctx, func() {
		if err = ctx.Err(); err != nil {
			return
		}
		p, err = s.spawnPtrace(files)
		if ptraceRefused(err) {
			var errGate error
			if p, errGate = s.spawnGate(files); errGate != nil {
				err = fmt.Errorf("%w, and by the gate: %w", err, errGate)
			} else {
				err = nil
			}
		}
	})
	runtime.KeepAlive(s)
	if err := errors.Join(errCtx, err); err != nil {
		return nil, err
	}
	return p, nil
}

// files lists the descriptors of the process; closeFiles closes /dev/null.
func (s *Spec) files() (fds []uintptr, closeFiles func(), err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	for i, f := range append([]*os.File{s.Stdin, s.Stdout, s.Stderr}, s.ExtraFiles...) {
		if f == nil {
			f = null
		}
		fd := f.Fd()
		if fd == ^uintptr(0) {
			null.Close()
			return nil, nil, fmt.Errorf("descriptor %d: %s: %w", i, f.Name(), os.ErrClosed)
		}
		fds = append(fds, fd)
	}
	return fds, func() { null.Close() }, nil
}

func (s *Spec) attr(files []uintptr, ptrace bool) *syscall.ProcAttr {
	return &syscall.ProcAttr{
		Dir:   s.Dir,
		Env:   s.Env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Ptrace: ptrace, Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
}

// spawnPtrace runs on the spawner thread.
func (s *Spec) spawnPtrace(files []uintptr) (*Process, error) {
	pid, err := syscall.ForkExec(s.Path, append([]string{s.Path}, s.Args...), s.attr(files, true))
	if err != nil {
		return nil, err
	}
	p := newProcess(s, pid, ByPtrace)
	var ws syscall.WaitStatus
	if _, err := wait4(pid, &ws, syscall.WALL); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the stop at exec: %w", err), syscall.Kill(pid, syscall.SIGKILL))
	}
	if !ws.Stopped() {
		return nil, fmt.Errorf("pid %d ended before it ran (wait status %#x)", pid, uint32(ws))
	}
	if err := syscall.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL); err != nil {
		kill := syscall.Kill(pid, syscall.SIGKILL)
		_, errWait := wait4(pid, &ws, syscall.WALL)
		return nil, errors.Join(fmt.Errorf("set PTRACE_O_EXITKILL: %w", err), kill, errWait)
	}
	return p, nil
}

func ptraceRefused(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EIO)
}

// prepare makes the held process findable and puts it on its CPUs.
func (p *Process) prepare(s Spec) error {
	st, err := proc.Process(p.pid)
	if err != nil {
		return err
	}
	p.startTicks = st.StartTicks
	if s.Ledger != nil {
		program, err := fileID(s.Path)
		if err != nil {
			return err
		}
		exes := []exeID{program}
		// Of a script it is the interpreter, at the gate the shell. It may be
		// unreadable when the program's file is.
		held, err := exeOf(p.pid)
		if err == nil && !held.sameFile(program) {
			exes = append(exes, held)
		}
		if err := s.Ledger.addProcess(p, exes); err != nil {
			return err
		}
		p.ledger = s.Ledger
	}
	if len(s.Affinity) > 0 {
		return setAffinity(p.pid, s.Affinity)
	}
	return nil
}

// setAffinity fails when the kernel grants less than was asked (cpusets do).
func setAffinity(pid int, cpus []int) error {
	if err := sys.SetAffinity(pid, cpus); err != nil {
		return fmt.Errorf("CPUs %s: %w; choose CPUs that are online and in this process's cpuset", procfs.FormatCPUList(cpus), err)
	}
	got, err := sys.GetAffinity(pid)
	if err != nil {
		return err
	}
	if want := slices.Compact(slices.Sorted(slices.Values(cpus))); !slices.Equal(got, want) {
		return fmt.Errorf("CPUs %s: the kernel granted %s; choose CPUs that are online and in this process's cpuset", procfs.FormatCPUList(want), procfs.FormatCPUList(got))
	}
	return nil
}
