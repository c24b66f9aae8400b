//go:build !linux

package child

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"time"
)

func notSupported(what string) error {
	return fmt.Errorf("%s on %s: %w; use Linux", what, runtime.GOOS, ErrNotSupported)
}

// Process is a process that Start started; here there is none.
type Process struct{}

// Start answers an error that wraps ErrNotSupported.
func Start(context.Context, Spec) (*Process, error) { return nil, notSupported("start a process held") }

// Pid returns 0.
func (p *Process) Pid() int { return 0 }

// StartTicks returns 0.
func (p *Process) StartTicks() uint64 { return 0 }

// Name returns "".
func (p *Process) Name() string { return "" }

// Method returns "".
func (p *Process) Method() Method { return "" }

// Done returns nil.
func (p *Process) Done() <-chan struct{} { return nil }

// ExitError returns nil.
func (p *Process) ExitError() error { return nil }

// Release answers an error that wraps ErrNotSupported.
func (p *Process) Release() error { return notSupported("release a process") }

// Signal answers an error that wraps ErrNotSupported.
func (p *Process) Signal(syscall.Signal) error { return notSupported("signal a process") }

// Stop answers an error that wraps ErrNotSupported.
func (p *Process) Stop(time.Duration) error { return notSupported("stop a process") }

// Ledger lists what must be put back; here there is none.
type Ledger struct{}

// OpenLedger answers an error that wraps ErrNotSupported.
func OpenLedger(string) (*Ledger, error) { return nil, notSupported("open a ledger") }

// AddDir answers an error that wraps ErrNotSupported.
func (l *Ledger) AddDir(string) error { return notSupported("record a directory") }

// AddCgroup answers an error that wraps ErrNotSupported.
func (l *Ledger) AddCgroup(string) error { return notSupported("record a cgroup") }

// Forget answers an error that wraps ErrNotSupported.
func (l *Ledger) Forget(string) error { return notSupported("forget an entry") }

// Close does nothing.
func (l *Ledger) Close() error { return nil }

// Sweep answers an error that wraps ErrNotSupported.
func Sweep(string) ([]Swept, error) { return nil, notSupported("sweep") }

// StateDir answers an error that wraps ErrNotSupported.
func StateDir() (string, error) { return "", notSupported("state directory") }

// Lock is the lock of the host; here there is none.
type Lock struct{}

// LockHost answers an error that wraps ErrNotSupported.
func LockHost(context.Context, HostLock) (*Lock, error) { return nil, notSupported("lock the host") }

// Close does nothing.
func (l *Lock) Close() error { return nil }
