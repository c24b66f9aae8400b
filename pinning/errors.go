package pinning

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotSupported means that this system cannot place processes at all.
var ErrNotSupported = errors.New("pinning is supported on Linux only")

// MovedError means that threads of a process may run elsewhere than where the
// plan put them.
type MovedError struct {
	Role    Role
	Pid     int
	Want    CPUSet
	Threads []MovedThread
}

// MovedThread is one such thread.
type MovedThread struct {
	Tid     int
	Comm    string
	Allowed CPUSet
	LastCPU int
}

func (e *MovedError) Error() string {
	return fmt.Sprintf("pinning: %s; find what set another affinity or cpuset", strings.Join(e.Violations(), "; "))
}

// Violations is one sentence for each thread.
func (e *MovedError) Violations() []string {
	var list []string
	for _, t := range e.Threads {
		list = append(list, fmt.Sprintf("thread %d %q of the %s (pid %d) may run on CPUs %s, not on %s as planned, and ran on CPU %d last",
			t.Tid, t.Comm, e.Role, e.Pid, t.Allowed, e.Want, t.LastCPU))
	}
	return list
}
