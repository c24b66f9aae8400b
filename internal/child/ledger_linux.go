package child

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Ledger is the list of what must be put back if its owner, this process,
// dies. Its methods may be called from several goroutines.
//
// The file is stateDir/ledger/PID-STARTTICKS.jsonl, the first line names the
// owner. Lines are only appended, one write each. They are not synced to the
// disk: they survive the death of the owner, and after the death of the
// machine there is no process or cgroup left to put back. The owner keeps the
// file locked (flock) as long as it lives.
type Ledger struct {
	stateDir string
	path     string
	token    string

	mu   sync.Mutex
	file *os.File // nil once closed
	left map[string]bool
}

// line is one line of the file; the fields that count depend on Kind.
type line struct {
	Kind         string  `json:"kind"` // owner, process, directory, cgroup, forget
	Pid          int     `json:"pid,omitempty"`
	StartTicks   uint64  `json:"start_ticks,omitempty"`
	BootID       string  `json:"boot_id,omitempty"`
	PidNamespace string  `json:"pid_namespace,omitempty"`
	Token        string  `json:"token,omitempty"`
	Name         string  `json:"name,omitempty"`
	Pgid         int     `json:"pgid,omitempty"`
	Exes         []exeID `json:"exes,omitempty"`
	Path         string  `json:"path,omitempty"`
	Device       uint64  `json:"device,omitempty"`
	Inode        uint64  `json:"inode,omitempty"`
	Key          string  `json:"key,omitempty"` // of a forget: the key of the line that no longer counts
}

func (l line) key() string {
	if l.Kind == kindProcess {
		return processKey(l.Pid, l.StartTicks)
	}
	return l.Path
}

func processKey(pid int, startTicks uint64) string { return fmt.Sprintf("%d-%d", pid, startTicks) }

const (
	kindOwner   = "owner"
	kindProcess = "process"
	kindDir     = "directory"
	kindCgroup  = "cgroup"
	kindForget  = "forget"
)

func ledgerDir(stateDir string) string { return filepath.Join(stateDir, "ledger") }

// OpenLedger makes a new ledger of this process under stateDir, which must
// exist. A process may have several.
func OpenLedger(stateDir string) (*Ledger, error) {
	l, err := openLedger(stateDir)
	if err != nil {
		return nil, fmt.Errorf("open a ledger: %w", err)
	}
	return l, nil
}

func openLedger(stateDir string) (*Ledger, error) {
	stateDir, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, err
	}
	if stateDir, err = filepath.EvalSymlinks(stateDir); err != nil {
		return nil, err
	}
	if err := privateDir(ledgerDir(stateDir)); err != nil {
		return nil, err
	}
	owner, err := self()
	if err != nil {
		return nil, err
	}
	l := &Ledger{stateDir: stateDir, token: owner.Token, left: map[string]bool{}}
	for n := 1; l.file == nil; n++ {
		name := processKey(owner.Pid, owner.StartTicks)
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		l.path = filepath.Join(ledgerDir(stateDir), name+".jsonl")
		l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
	if err := flock(l.file, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", l.path, err), l.file.Close())
	}
	if err := l.append(owner); err != nil {
		return nil, errors.Join(err, os.Remove(l.path), l.file.Close())
	}
	return l, nil
}

// self describes this process as an owner, with a fresh token.
func self() (line, error) {
	st, err := proc.Process(os.Getpid())
	if err != nil {
		return line{}, err
	}
	boot, err := proc.BootID()
	if err != nil {
		return line{}, err
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return line{}, err
	}
	var token [8]byte
	_, _ = rand.Read(token[:]) // never fails
	return line{Kind: kindOwner, Pid: os.Getpid(), StartTicks: st.StartTicks, BootID: boot, PidNamespace: ns, Token: hex.EncodeToString(token[:])}, nil
}

func (l *Ledger) append(e line) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return fmt.Errorf("ledger %s is closed; keep it open as long as what it lists", l.path)
	}
	// Begins with a newline too: a line that was cut before (disk full) must
	// not swallow this one.
	if _, err := l.file.Write(append(append([]byte("\n"), b...), '\n')); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	switch e.Kind {
	case kindOwner:
	case kindForget:
		delete(l.left, e.Key)
	default:
		l.left[e.key()] = true
	}
	return nil
}

func (l *Ledger) addProcess(p *Process, exes []exeID) error {
	return l.append(line{Kind: kindProcess, Name: p.name, Pid: p.pid, StartTicks: p.startTicks, Pgid: p.pid, Exes: exes})
}

// forgetProcess does nothing when the ledger is closed: Sweep finds that the
// process is gone.
func (l *Ledger) forgetProcess(p *Process) error {
	l.mu.Lock()
	closed := l.file == nil
	l.mu.Unlock()
	if closed {
		return nil
	}
	return l.append(line{Kind: kindForget, Key: processKey(p.pid, p.startTicks)})
}

// AddDir records a directory, which Sweep then removes with all that is in it.
// Under the state directory it may be recorded before it is made. Elsewhere it
// must exist, and Sweep leaves alone what is another directory by then.
// A symbolic link, or a directory that holds the state directory, is refused.
func (l *Ledger) AddDir(path string) error {
	e, err := l.dirLine(path)
	if err != nil {
		return fmt.Errorf("record directory %s: %w", path, err)
	}
	return l.append(e)
}

func (l *Ledger) dirLine(path string) (line, error) {
	real, err := realPath(path)
	if err != nil {
		return line{}, err
	}
	if holdsState(real, l.stateDir) {
		return line{}, fmt.Errorf("it holds the state directory %s; record a directory of the run's own", l.stateDir)
	}
	e := line{Kind: kindDir, Path: real}
	st, err := os.Lstat(real)
	switch {
	case err == nil && !st.IsDir():
		return line{}, fmt.Errorf("it is not a directory (%s)", st.Mode().Type())
	case err == nil:
		sys := st.Sys().(*syscall.Stat_t)
		e.Device, e.Inode = uint64(sys.Dev), sys.Ino
	case !within(l.stateDir, real) || !errors.Is(err, os.ErrNotExist):
		return line{}, err
	}
	return e, nil
}

// AddCgroup records a cgroup directory, best before it is made. Sweep then
// moves its processes to the parent cgroup and removes it.
func (l *Ledger) AddCgroup(path string) error {
	real, err := realPath(path)
	if err != nil {
		return fmt.Errorf("record cgroup %s: %w", path, err)
	}
	if err := inCgroupFS(filepath.Dir(real)); err != nil {
		return fmt.Errorf("record cgroup %s: %w", path, err)
	}
	return l.append(line{Kind: kindCgroup, Path: real})
}

// Forget takes a directory or cgroup off the list: it has been put back.
func (l *Ledger) Forget(path string) error {
	real, err := realPath(path)
	if err != nil {
		return fmt.Errorf("forget %s: %w", path, err)
	}
	return l.append(line{Kind: kindForget, Key: real})
}

// Close removes the file when nothing is left to put back. Otherwise the file
// stays for Sweep, and the error says what is left.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	var errs []error
	if len(l.left) == 0 {
		errs = append(errs, os.Remove(l.path))
	} else {
		errs = append(errs, fmt.Errorf("close ledger %s: %d things are not put back: %s; they are cleaned by the next start", l.path, len(l.left), strings.Join(sortedKeys(l.left), ", ")))
	}
	errs = append(errs, l.file.Close())
	l.file = nil
	return errors.Join(errs...)
}
