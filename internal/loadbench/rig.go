package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tareperf/tare/internal/arrivals"
	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/realserver"
)

// server is one that tools are run against.
type server struct {
	name       string
	plain, h2c string // h2c is empty where it speaks none
	requests   func(context.Context) (int64, error)
}

// rig is what stays the same through all runs.
type rig struct {
	settings
	self     string // this program
	dir      string
	recorder *arrivals.Remote
	servers  []server
	absent   []string // servers and tools that are not here, with the reason
	tools    []tool   // those that are, by name, beside tare and vegeta
	stops    []func() error
}

func newRig(ctx context.Context, s settings) (_ *rig, err error) {
	r := &rig{settings: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.self, err = os.Executable(); err != nil {
		return r, err
	}
	if r.dir, err = os.MkdirTemp("", "loadbench-"); err != nil {
		return r, err
	}
	if err := os.Chmod(r.dir, 0o755); err != nil {
		return r, err
	}
	online, err := procfs.FS{}.OnlineCPUs()
	if err != nil {
		return r, err
	}
	for _, cpu := range []int{s.generatorCPU, s.serverCPU} {
		if !contains(online, cpu) {
			return r, fmt.Errorf("CPU %d is not online: those are %s", cpu, procfs.FormatCPUList(online))
		}
	}
	if err := r.startRecorder(ctx); err != nil {
		return r, err
	}
	for _, start := range []func(context.Context, realserver.Options) (*realserver.Server, error){realserver.StartNginx, realserver.StartEnvoy} {
		if err := r.startServer(ctx, start); err != nil {
			return r, err
		}
	}
	r.findTools(ctx)
	return r, nil
}

func contains(list []int, x int) bool {
	for _, v := range list {
		if v == x {
			return true
		}
	}
	return false
}

func (r *rig) startRecorder(ctx context.Context) error {
	in, out, p, err := r.startSelf(ctx, roleRecorder, r.serverCPU)
	if err != nil {
		return err
	}
	r.stops = append(r.stops, func() error {
		err := errors.Join(in.Close(), p.Stop(5*time.Second)) // its input ends, and so does it
		return errors.Join(err, out.Close())
	})
	if r.recorder, err = arrivals.NewRemote(in, out); err != nil {
		return err
	}
	r.servers = append(r.servers, server{name: "recorder", plain: r.recorder.Address()})
	return nil
}

func (r *rig) startServer(ctx context.Context, start func(context.Context, realserver.Options) (*realserver.Server, error)) error {
	dir := filepath.Join(r.dir, fmt.Sprint(len(r.servers)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	s, err := start(ctx, realserver.Options{Dir: dir, BodySize: bodySize, CPUs: []int{r.serverCPU}})
	if errors.Is(err, realserver.ErrNotFound) {
		r.absent = append(r.absent, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	r.stops = append(r.stops, s.Stop)
	r.servers = append(r.servers, server{name: s.Name, plain: s.Plain, h2c: s.H2C, requests: s.Requests})
	return nil
}

// startSelf runs this program again in a role, with pipes to its standard input
// and output.
func (r *rig) startSelf(ctx context.Context, role string, cpu int, args ...string) (in, out *os.File, p *child.Process, err error) {
	p, in, out, err = child.StartPiped(ctx, child.Spec{
		Name: role, Path: r.self, Args: args, Env: append(os.Environ(), roleVariable+"="+role), Stderr: os.Stderr, Affinity: []int{cpu},
	})
	if err != nil {
		return nil, nil, nil, err
	}
	if err := p.Release(); err != nil {
		return nil, nil, nil, errors.Join(err, in.Close(), p.Stop(0), out.Close())
	}
	return in, out, p, nil
}

func (r *rig) close() error {
	var errs []error
	for k := len(r.stops) - 1; k >= 0; k-- {
		errs = append(errs, r.stops[k]())
	}
	if r.dir != "" {
		errs = append(errs, os.RemoveAll(r.dir))
	}
	return errors.Join(errs...)
}

func (r *rig) describe() string {
	var b strings.Builder
	var fs procfs.FS
	model, err := fs.CPUModel()
	if err != nil {
		model.Model = err.Error()
	}
	kernel, err := fs.ReadProc("sys/kernel/osrelease")
	if err != nil {
		kernel = err.Error()
	}
	fmt.Fprintf(&b, "%s, Linux %s; generator on CPU %d, server on CPU %d\n", model.Model, kernel, r.generatorCPU, r.serverCPU)
	fmt.Fprintf(&b, "%d rounds; runs of %v at %v/s over %d connections, of %v saturated; answers of %d bytes\n", r.rounds, r.length, rate, connections, r.saturated, bodySize)
	for _, s := range r.servers {
		fmt.Fprintf(&b, "server: %s\n", s.name)
	}
	fmt.Fprintf(&b, "tools: tare, vegeta (library)")
	for _, t := range r.tools {
		fmt.Fprintf(&b, ", %s", t.version)
	}
	b.WriteString("\n")
	for _, a := range r.absent {
		fmt.Fprintf(&b, "not here: %s\n", a)
	}
	return b.String()
}
