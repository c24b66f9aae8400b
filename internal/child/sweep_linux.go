package child

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Sweep puts back what dead owners of ledgers under stateDir left, and reports
// each thing it looked at. It kills processes (those of this boot that match by
// pid, start time and executable, and whatever carries the ledger's token in
// its environment), moves what is in recorded cgroups to the parent and
// removes the cgroups, removes recorded directories, and then the ledger. A
// ledger stays, for the next Sweep, when something in it could not be put
// back. A ledger whose owner lives, or that another Sweep works on, is not
// touched. No stateDir or no ledgers is no error.
func Sweep(stateDir string) ([]Swept, error) {
	stateDir, err := filepath.Abs(stateDir)
	if err == nil {
		stateDir, err = filepath.EvalSymlinks(stateDir)
	}
	var paths []string
	if err == nil {
		if err = notForeign(ledgerDir(stateDir)); err == nil {
			paths, err = filepath.Glob(filepath.Join(ledgerDir(stateDir), "*.jsonl"))
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sweep %s: %w", stateDir, err)
	}
	var swept []Swept
	var errs []error
	for _, path := range paths {
		if !ledgerName.MatchString(filepath.Base(path)) {
			continue // not ours
		}
		s := sweeper{stateDir: stateDir, path: path}
		if err := s.run(); err != nil {
			errs = append(errs, fmt.Errorf("sweep %s: %w; the next start tries again, or put it right by hand and remove this file", path, err))
		}
		swept = append(swept, s.swept...)
	}
	return swept, errors.Join(errs...)
}

// notForeign refuses to act on ledgers that someone else may have written.
func notForeign(dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return err
	}
	return privateDir(dir)
}

// sweeper works on one ledger.
type sweeper struct {
	stateDir, path string
	owner          line
	sameBoot       bool
	swept          []Swept
}

func (s *sweeper) run() error {
	f, err := os.OpenFile(s.path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // its owner or another Sweep was faster
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := flock(f, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil
	} else if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	b, err := os.ReadFile(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	owner, entries := parseLedger(b)
	if owner.Pid == 0 {
		owner.Pid, owner.StartTicks = ownerOfName(filepath.Base(s.path))
	}
	s.owner = owner
	alive, err := s.ownerLives()
	if err != nil || alive {
		return err
	}
	var errs []error
	errs = append(errs, s.processes(entries))
	for _, e := range slices.Backward(entries) { // inner cgroups and directories were recorded last
		switch e.Kind {
		case kindCgroup:
			errs = append(errs, s.cgroup(e))
		case kindDir:
			errs = append(errs, s.dir(e))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := os.Remove(s.path); err != nil {
		return err
	}
	s.report(kindLedger, s.path, owner.Pid, "removed")
	return nil
}

const kindLedger = "ledger"

func (s *sweeper) report(kind, what string, pid int, action string) {
	s.swept = append(s.swept, Swept{Kind: kind, What: what, Pid: pid, Action: action})
}

// ownerLives also says yes when it cannot tell.
func (s *sweeper) ownerLives() (bool, error) {
	boot, err := proc.BootID()
	if err != nil {
		return false, err
	}
	s.sameBoot = s.owner.BootID == boot
	if s.owner.BootID != "" && !s.sameBoot {
		return false, nil
	}
	if s.owner.PidNamespace != "" {
		ns, err := os.Readlink("/proc/self/ns/pid")
		if err != nil {
			return false, err
		}
		if ns != s.owner.PidNamespace {
			s.report(kindLedger, s.path, s.owner.Pid, "left alone: its owner belongs to "+s.owner.PidNamespace+", which cannot be seen from here")
			return true, nil
		}
	}
	st, err := proc.Process(s.owner.Pid)
	switch {
	case gone(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return st.StartTicks == s.owner.StartTicks && !dead(st), nil
}

// parseLedger returns the owner and the entries that were not forgotten, in
// order. Lines that are no JSON are skipped: a kill can cut the last one.
func parseLedger(b []byte) (owner line, entries []line) {
	for _, text := range bytes.Split(b, []byte("\n")) {
		var e line
		if len(text) == 0 || json.Unmarshal(text, &e) != nil {
			continue
		}
		switch e.Kind {
		case kindOwner:
			owner = e
		case kindForget:
			entries = slices.DeleteFunc(entries, func(o line) bool { return o.key() == e.Key })
		case kindDir, kindCgroup:
			entries = append(entries, e)
		case kindProcess:
			if e.Pid > 0 { // zero and less mean groups, or everyone, to kill(2)
				entries = append(entries, e)
			}
		}
	}
	return owner, entries
}

var ledgerName = regexp.MustCompile(`^(\d+)-(\d+)(-\d+)?\.jsonl$`)

func ownerOfName(base string) (pid int, startTicks uint64) {
	m := ledgerName.FindStringSubmatch(base)
	pid, _ = strconv.Atoi(m[1])
	startTicks, _ = strconv.ParseUint(m[2], 10, 64)
	return pid, startTicks
}
