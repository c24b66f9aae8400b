package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// afterKill bounds the wait for the end of what got SIGKILL: longer means that
// it hangs in the kernel, and no signal helps.
const afterKill = 10 * time.Second

// Process is a process that Start started. Its methods may be called from
// several goroutines.
type Process struct {
	name       string
	pid        int
	startTicks uint64
	method     Method
	ledger     *Ledger
	done       chan struct{}

	mu         sync.Mutex
	held       bool
	ended      bool // is dead, its number may be free soon: no signal any more
	terminated bool // got its SIGTERM from Stop
	gate       *os.File

	// written before done is closed, read after
	status   syscall.WaitStatus
	lost     bool // reaped by someone else: status is unknown
	cleanErr error
}

func newProcess(s *Spec, pid int, m Method) *Process {
	return &Process{name: s.Name, pid: pid, method: m, held: true, done: make(chan struct{})}
}

// Pid returns its process id, which is also the id of its process group.
func (p *Process) Pid() int { return p.pid }

// StartTicks returns when it was started, in clock ticks since boot. Pid and
// StartTicks together name a process on one boot.
func (p *Process) StartTicks() uint64 { return p.startTicks }

// Name returns the name it was given.
func (p *Process) Name() string { return p.name }

// Method returns how it was held.
func (p *Process) Method() Method { return p.method }

// Done returns a channel that is closed once the process has ended, what it
// left in its group was killed, and it was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitError returns nil while the process lives and after exit code 0, else
// an *ExitError.
func (p *Process) ExitError() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	switch ws := p.status; {
	case p.lost:
		return &ExitError{Name: p.name, Pid: p.pid, Code: -1}
	case ws.Signaled():
		return &ExitError{Name: p.name, Pid: p.pid, Code: -1, Signal: ws.Signal()}
	case ws.ExitStatus() != 0:
		return &ExitError{Name: p.name, Pid: p.pid, Code: ws.ExitStatus()}
	}
	return nil
}

// Release lets the held process run. It answers os.ErrProcessDone when the
// process was ended before; a second call does nothing.
func (p *Process) Release() error {
	var err error
	_ = onSpawner(context.Background(), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case !p.held:
			return
		case p.ended:
			err = syscall.ESRCH
		case p.method == ByPtrace:
			err = syscall.PtraceDetach(p.pid)
		default:
			_, err = p.gate.Write([]byte("\n"))
			err = errors.Join(err, p.gate.Close())
			p.gate = nil
		}
		if err == nil {
			p.held = false
		}
	})
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPIPE) {
		err = fmt.Errorf("%w: it was ended while it was held (%w)", os.ErrProcessDone, err)
	}
	if err != nil {
		return fmt.Errorf("release %s (pid %d): %w", p.name, p.pid, err)
	}
	return nil
}

// Signal sends sig to the process alone, not to its group. It answers
// os.ErrProcessDone once it has ended. A signal to a held process arrives when
// it is released.
func (p *Process) Signal(sig syscall.Signal) error {
	return p.kill(p.pid, sig)
}

// kill signals only while the number cannot belong to anyone else: reap sets
// ended, under the same lock, before it frees the number.
func (p *Process) kill(target int, sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return fmt.Errorf("signal %d to %s (pid %d): %w", int(sig), p.name, p.pid, os.ErrProcessDone)
	}
	if err := syscall.Kill(target, sig); err != nil {
		return fmt.Errorf("signal %d to %s (pid %d): %w", int(sig), p.name, p.pid, err)
	}
	return nil
}

// Stop ends the process and its group: SIGTERM, a wait of at most grace,
// SIGKILL. A held process gets SIGKILL at once, as does everything when grace
// is zero or less. Once the leader of the group has ended, the rest gets no
// more grace. Stop returns after the process was reaped and is out of the
// ledger, and may be called again and from several goroutines; the shortest
// grace wins. The error is about the stopping only: that SIGKILL was needed is
// no error, ExitError tells how the process ended.
func (p *Process) Stop(grace time.Duration) error {
	err := p.terminate(grace)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	if !p.wait(grace) {
		if e := p.kill(-p.pid, syscall.SIGKILL); e != nil && !errors.Is(e, os.ErrProcessDone) {
			err = errors.Join(err, e)
		}
		if !p.wait(2 * afterKill) {
			return errors.Join(err, fmt.Errorf("stop %s: pid %d has not ended %s after SIGKILL; it hangs in the kernel, see %s", p.name, p.pid, 2*afterKill, procPath(p.pid, "stack")))
		}
	}
	return errors.Join(err, p.cleanErr)
}

func (p *Process) terminate(grace time.Duration) error {
	p.mu.Lock()
	soft := grace > 0 && !p.held && !p.terminated
	p.terminated = p.terminated || soft
	hard := grace <= 0 || p.held
	p.mu.Unlock()
	switch {
	case hard:
		return p.kill(-p.pid, syscall.SIGKILL)
	case soft:
		// SIGCONT, because a stopped process does not see SIGTERM.
		return errors.Join(p.kill(-p.pid, syscall.SIGTERM), p.kill(-p.pid, syscall.SIGCONT))
	}
	return nil
}

// wait reports whether the process was reaped within d.
func (p *Process) wait(d time.Duration) bool {
	if d <= 0 {
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// reap waits for the end of the process, kills what it left in its group while
// the dead leader still keeps the number of the group, and then reaps it.
func (p *Process) reap() {
	defer close(p.done)
	var errWait error = unix.EINTR
	for errWait == unix.EINTR {
		errWait = unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	p.mu.Lock()
	p.ended = true
	gate := p.gate
	p.gate = nil
	p.mu.Unlock()
	if gate != nil {
		gate.Close()
	}
	var errs []error
	if errWait == nil {
		errs = append(errs, killGroup(p.pid))
		_, errWait = wait4(p.pid, &p.status, 0)
	}
	if errWait != nil { // the number may belong to anyone by now
		p.lost = true
		errs = append(errs, fmt.Errorf("reap %s (pid %d): %w; something else in this program waits for processes that it did not start", p.name, p.pid, errWait))
	}
	if p.ledger != nil {
		errs = append(errs, p.ledger.forgetProcess(p))
	}
	p.cleanErr = errors.Join(errs...)
}

// killGroup kills the group and waits until nobody but dead processes is in
// it. The group must still be held by its dead leader.
func killGroup(pgid int) error {
	if err := syscall.Kill(-pgid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		return fmt.Errorf("kill process group %d: %w", pgid, err)
	}
	deadline := time.Now().Add(afterKill)
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		alive, err := groupMembers(pgid)
		if err != nil || len(alive) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process group %d: %v have not ended %s after SIGKILL", pgid, alive, afterKill)
		}
		time.Sleep(pause)
	}
}

func wait4(pid int, ws *syscall.WaitStatus, options int) (int, error) {
	for {
		n, err := syscall.Wait4(pid, ws, options, nil)
		if err != syscall.EINTR {
			return n, err
		}
	}
}
