package envoy

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// awaitReady asks until Envoy is ready, races that against its exit and the
// time-out, and reports the last answer when it loses.
func (p *Process) awaitReady(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-p.child.Done():
			if err := p.child.ExitError(); err != nil {
				return err
			}
			return fmt.Errorf("pid %d ended by itself with exit code 0 before it was ready", p.child.Pid())
		case <-ctx.Done():
			return fmt.Errorf("pid %d was not ready: %w (last: %v)", p.child.Pid(), ctx.Err(), last)
		case <-tick.C:
		}
		if last = p.tryReady(ctx); last == nil {
			return p.identify(ctx)
		}
	}
}

func (p *Process) tryReady(ctx context.Context) error {
	if p.admin == nil {
		text, err := os.ReadFile(filepath.Join(p.dir, adminFile))
		if err != nil {
			return err
		}
		// The file is written in one piece, but nothing says that it is.
		if _, port, err := net.SplitHostPort(string(text)); err != nil || port == "" || port == "0" {
			return fmt.Errorf("%s holds %q, want host:port", adminFile, clip(string(text), 60))
		}
		a := NewAdmin(string(text))
		if err := a.Ready(ctx); err != nil {
			return err
		}
		a.source = fmt.Sprintf("%s (pid %d)", a.address, p.child.Pid())
		p.admin = a
	}
	s, err := p.admin.Stats(ctx)
	if err != nil {
		return err
	}
	if n, ok := s.Gauge("listener_manager.workers_started"); !ok || n != 1 {
		return fmt.Errorf("listener_manager.workers_started is %d (known: %t), want 1", n, ok)
	}
	if n, ok := s.Gauge("server.concurrency"); !ok || n != int64(p.concurrency) {
		return fmt.Errorf("server.concurrency is %d (known: %t), want %d workers", n, ok, p.concurrency)
	}
	p.listeners, err = p.admin.Listeners(ctx)
	if err != nil {
		return err
	}
	for _, l := range p.listeners {
		if strings.HasSuffix(l.Address, ":0") {
			return fmt.Errorf("listener %s is not bound yet", l.Name)
		}
	}
	return nil
}

// identify makes sure that what runs is what was inspected.
func (p *Process) identify(ctx context.Context) error {
	info, err := p.admin.ServerInfo(ctx)
	if err != nil {
		return err
	}
	v, err := ParseVersion(info.Version)
	if err != nil {
		return err
	}
	if v.BuildType != "RELEASE" {
		return &BuildTypeError{Path: p.binary.Path, Version: v}
	}
	if p.binary.Full != "" && v.Full != p.binary.Full {
		return fmt.Errorf("the running Envoy says it is %s, its file was %s: it was replaced in between; start again", v.Full, p.binary.Full)
	}
	p.admin.release = v.Release
	return nil
}
