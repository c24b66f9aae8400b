package abtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/smallserver"
)

const helperStartTimeout = 10 * time.Second

// helper is this binary running as one of its helpers: a process that ends
// when its standard input closes, as it does when this process dies.
type helper struct {
	*child.Process
	stderr string   // file
	in     *os.File // the helper's standard input
	out    *bufio.Reader
	raw    *os.File
}

// helperSpec says how to start one.
type helperSpec struct {
	helper string // one of the helper constants
	name   string // for messages and the ledger
	dir    string // its working directory, where its standard error goes
	config any    // given in the environment as JSON; nil for none
	hold   func(pid int) error
	ledger *child.Ledger
}

func startHelper(ctx context.Context, s helperSpec) (_ *helper, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start its %s: %w", s.name, err)
	}
	stderr, err := os.Create(filepath.Join(s.dir, fileStem(s.name)+".stderr"))
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	config, err := json.Marshal(s.config)
	if err != nil {
		return nil, err
	}
	p, in, out, err := child.StartPiped(ctx, child.Spec{
		Name: s.name, Path: self, Dir: s.dir, Ledger: s.ledger,
		Env:    append(helperEnviron(), helperEnv+"="+s.helper, helperConfigEnv+"="+string(config)),
		Stderr: stderr,
	})
	if err != nil {
		return nil, err
	}
	h := &helper{Process: p, stderr: stderr.Name(), in: in, raw: out, out: bufio.NewReaderSize(out, 1<<16)}
	defer func() {
		if err != nil {
			h.Stop(0)
		}
	}()
	if s.hold != nil {
		if err = s.hold(h.Pid()); err != nil {
			return nil, err
		}
	}
	if err = h.Release(); err != nil {
		return nil, err
	}
	return h, nil
}

// helperEnviron keeps what a Go program may need and nothing that changes its
// cost by accident, such as GODEBUG or GOGC of the caller.
func helperEnviron() []string {
	var env []string
	for _, k := range []string{"HOME", "PATH", "TMPDIR", "TZ"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// Stop ends the helper, by force after the grace, and closes its pipes.
func (h *helper) Stop(grace time.Duration) error {
	h.in.Close()
	err := h.Process.Stop(grace)
	h.raw.Close()
	return err
}

// serverReady waits for the ready line of a small server.
func (h *helper) serverReady(ctx context.Context, server string) (smallserver.Ready, error) {
	ctx, cancel := context.WithTimeout(ctx, helperStartTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { h.raw.SetReadDeadline(time.Now()) })
	defer stop()
	ready, err := smallserver.ReadReady(h.out, server)
	if err != nil {
		return ready, fmt.Errorf("%s did not get ready: %w%s", h.Name(), errors.Join(err, h.exitError()), h.lastWords())
	}
	return ready, nil
}

func (h *helper) exitError() error {
	select {
	case <-h.Done():
		return h.ExitError()
	default:
		return nil
	}
}

// lastWords is the end of what it wrote to its standard error.
func (h *helper) lastWords() string {
	text, err := os.ReadFile(h.stderr)
	if err != nil || len(text) == 0 {
		return ""
	}
	return "; its standard error ends in: " + string(text[max(0, len(text)-2000):])
}
