package child

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// ErrNotSupported is wrapped by every error that says conclusively that this
// host cannot do what was asked: not Linux, or neither ptrace nor a shell.
var ErrNotSupported = errors.New("not supported on this host")

// Method says how a process is held before it runs.
type Method string

const (
	// ByPtrace holds the process at its exec: the program is loaded, no
	// instruction of it has run.
	ByPtrace Method = "ptrace"
	// ByGate holds a shell that blocks on a pipe and then becomes the program
	// by exec, in the same process. It is used where ptrace is forbidden.
	ByGate Method = "gate"
)

// Spec describes a process to start.
type Spec struct {
	// Name is used in errors and in the ledger. Default: the last element of
	// Path.
	Name string
	// Path is the executable. A relative path with a slash is relative to the
	// current directory of this process, not to Dir; a bare name is refused.
	Path string
	// Args are the arguments after the program's name: argv[0] is Path.
	Args []string
	// Env is the whole environment, "KEY=value"; of several values of a key the
	// last counts. Nil means the environment of this process. With a Ledger, one
	// variable is added, see [TokenVariable].
	Env []string
	// Dir is the working directory. Default: that of this process.
	Dir string
	// Stdin, Stdout and Stderr are passed on; nil means /dev/null. They stay
	// open here: the caller closes them, at the earliest after Start.
	Stdin, Stdout, Stderr *os.File
	// ExtraFiles become descriptors 3, 4, ... in the process.
	ExtraFiles []*os.File
	// Ledger gets an entry before the process can run. Nil means no entry: the
	// process still ends with this one, but what it forked is not found by Sweep.
	Ledger *Ledger
	// Affinity is the list of CPUs that the process may use from its first
	// instruction on. Empty: those of the thread that starts processes.
	Affinity []int
}

// TokenVariable is the environment variable by which Sweep recognises what a
// recorded process forked, also when that left the process group. Its value
// has the same length in every run, so that stacks stay aligned alike.
const TokenVariable = "TARE_LEDGER"

// ExitError says that a process did not end with exit code 0.
type ExitError struct {
	Name   string
	Pid    int
	Code   int            // exit code; -1 when a signal ended it or nobody knows
	Signal syscall.Signal // 0 when it exited by itself
}

func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return fmt.Sprintf("process %s (pid %d) was ended by signal %d (%s)", e.Name, e.Pid, int(e.Signal), e.Signal)
	}
	if e.Code < 0 {
		return fmt.Sprintf("process %s (pid %d) ended, and something else took its exit code", e.Name, e.Pid)
	}
	return fmt.Sprintf("process %s (pid %d) ended with exit code %d", e.Name, e.Pid, e.Code)
}

// Swept is one thing that Sweep found in the ledger of a dead owner.
type Swept struct {
	Kind   string // "process", "directory", "cgroup" or "ledger"
	What   string // name of the process, or path
	Pid    int    // of a process; of the owner for a ledger; else 0
	Action string // what was done, or why nothing was: "killed", "removed", "already gone", "left alone: ..."
}

func (s Swept) String() string {
	if s.Pid != 0 {
		return fmt.Sprintf("%s %s (pid %d): %s", s.Kind, s.What, s.Pid, s.Action)
	}
	return fmt.Sprintf("%s %s: %s", s.Kind, s.What, s.Action)
}

// HostLock says who asks for the lock of the host.
type HostLock struct {
	// Holder is the name that others who want the lock are shown. Default: the
	// name of the executable.
	Holder string
	// Wait makes LockHost wait for the holder, as long as its context lives.
	// Default: it returns a *HeldError at once.
	Wait bool
}

// HeldError says that another experiment holds the lock of the host.
type HeldError struct {
	Path   string    // of the lock file
	Pid    int       // 0 when the holder has not written it
	Holder string    // its name; empty when the holder has not written it
	Since  time.Time // zero when the holder has not written it
}

func (e *HeldError) Error() string {
	who := "an unknown process"
	if e.Pid != 0 {
		who = fmt.Sprintf("%q (pid %d, since %s)", e.Holder, e.Pid, e.Since.Format(time.RFC3339))
	}
	return fmt.Sprintf("another experiment runs on this host: %s holds %s; wait for it to end, stop it, or ask to wait", who, e.Path)
}
