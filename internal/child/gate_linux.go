package child

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

const gateShell = "/bin/sh"

// spawnGate starts a shell that becomes the program once it reads a line from
// the gate. A closed gate (this program died, or Stop) ends it instead.
func (s *Spec) spawnGate(files []uintptr) (*Process, error) {
	fd := len(files)
	if fd > 9 { // POSIX shells need not know descriptors of two digits
		return nil, fmt.Errorf("%w: %d extra files leave no descriptor below 10 for the gate; pass at most 6", ErrNotSupported, len(s.ExtraFiles))
	}
	path := s.Path
	if strings.HasPrefix(path, "/proc/self/") { // would be the shell's
		var err error
		if path, err = os.Readlink(path); err != nil {
			return nil, err
		}
	}
	r, w, err := os.Pipe() // both close on exec
	if err != nil {
		return nil, err
	}
	defer r.Close()
	script := fmt.Sprintf(`read _ <&%d && exec "$@" %d<&-`, fd, fd)
	argv := append([]string{gateShell, "-c", script, gateShell, path}, s.Args...)
	pid, err := syscall.ForkExec(gateShell, argv, s.attr(append(files[:fd:fd], r.Fd()), false))
	if err != nil {
		w.Close()
		if errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("%w: %s: %w", ErrNotSupported, gateShell, err)
		}
		return nil, err
	}
	p := newProcess(s, pid, ByGate)
	p.gate = w
	return p, nil
}
