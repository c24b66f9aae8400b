package abtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/nginx"
	"github.com/tareperf/tare/internal/smallorigin"
	"github.com/tareperf/tare/pinning"
)

// originProcess is the origin that runs, whichever it is.
type originProcess struct {
	kind    string
	address string // host:port
	process *child.Process
	// counts asks it for its own counters; that is also how it shows that it
	// answers.
	counts func(ctx context.Context) (OriginCounts, error)
	end    func(grace time.Duration) error
}

// OriginCounts are an origin's own counters: since its start, or in a window.
type OriginCounts struct {
	Requests int64 `json:"requests"` // answered
	Opened   int64 `json:"opened"`   // connections
	Closed   int64 `json:"closed"`   // connections, by whomever

	uncertain uint64 // questions of which it may have counted none or all
}

// since is the window between two counts.
func (c OriginCounts) since(before OriginCounts) *OriginCounts {
	if c.uncertain != before.uncertain {
		return nil // the counts of the window are not exact
	}
	return &OriginCounts{Requests: c.Requests - before.Requests, Opened: c.Opened - before.Opened, Closed: c.Closed - before.Closed}
}

func (s *session) startOrigin(ctx context.Context) (*originProcess, error) {
	dir := filepath.Join(s.dir, "origin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	hold := func(pid int) error { return s.placed.Place(pinning.RoleOrigin, pid) }
	var o *originProcess
	var err error
	switch t := s.e.Origin.(type) {
	case EmbeddedOrigin:
		o, err = s.startEmbeddedOrigin(ctx, t, dir, hold)
	case Nginx:
		o, err = s.startNginx(ctx, t, dir, hold)
	}
	if err != nil {
		return nil, fmt.Errorf("start the origin: %w", err)
	}
	return o, nil
}

func (s *session) startEmbeddedOrigin(ctx context.Context, t EmbeddedOrigin, dir string, hold func(int) error) (*originProcess, error) {
	h, err := startHelper(ctx, helperSpec{
		helper: helperOrigin, name: "origin", dir: dir, hold: hold, ledger: s.ledger,
		config: smallorigin.Config{BodySize: t.BodySize},
	})
	if err != nil {
		return nil, err
	}
	ready, err := h.serverReady(ctx, smallorigin.Name)
	if err != nil {
		return nil, errors.Join(err, h.Stop(0))
	}
	return &originProcess{
		kind: t.Kind(), address: ready.Address, process: h.Process, end: h.Stop,
		counts: func(ctx context.Context) (OriginCounts, error) {
			st, err := smallorigin.ReadAtRest(ctx, ready)
			return OriginCounts{Requests: int64(st.Completed), Opened: int64(st.ConnectionsOpened), Closed: int64(st.ConnectionsClosed())}, err
		},
	}, nil
}

func (s *session) startNginx(ctx context.Context, t Nginx, dir string, hold func(int) error) (_ *originProcess, err error) {
	c, err := nginx.Prepare(s.nginx, dir, nginx.Options{BodySize: t.BodySize})
	if err != nil {
		return nil, err
	}
	// The ports are held until nginx has them, or is not going to. To give up a
	// port that is held cannot fail in a way that matters to what runs.
	defer c.Close()
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	p, err := child.Start(ctx, child.Spec{
		Name: "origin", Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir,
		Stdout: stderr, Stderr: stderr, Ledger: s.ledger,
	})
	if err != nil {
		return nil, err
	}
	status := &nginx.Status{Address: c.StatusAddress}
	if err = hold(p.Pid()); err == nil {
		err = p.Release()
	}
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, helperStartTimeout)
		defer cancel()
		err = c.Await(bounded, p.Done(), status)
	}
	if err != nil {
		return nil, errors.Join(err, p.Stop(0))
	}
	return &originProcess{
		kind: t.Kind(), address: c.Address, process: p, end: p.Stop,
		counts: func(ctx context.Context) (OriginCounts, error) {
			st, err := status.Stats(ctx)
			return OriginCounts{Requests: int64(st.Requests), Opened: int64(st.Accepts), Closed: int64(st.Closed()), uncertain: st.Uncertain}, err
		},
	}, nil
}

func (o *originProcess) stop() error {
	if o == nil {
		return nil
	}
	return o.end(helperGrace)
}
