package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/pmuvm/job"
)

// builder compiles for the machine.
type builder struct{ root, dir string }

// programs are files of the machine by their path there.
type programs map[string]string

// suites builds what is run without mutants: the proofs of counters, the
// quickstart, and tests of what speaks to the kernel, which here is another
// architecture and has cgroups of version 2 only.
func (b builder) suites(ctx context.Context) (programs, []job.Job, error) {
	p := programs{}
	errs := []error{
		b.init(ctx, p),
		b.test(ctx, p, "/counters.test", "./counters", ""),
		b.test(ctx, p, "/pmuvm.test", "./internal/pmuvm", ""),
		b.test(ctx, p, "/sys.test", "./internal/sys", ""),
		b.test(ctx, p, "/pinning.test", "./pinning", ""),
	}
	var jobs []job.Job
	for _, more := range [][]job.Job{
		countersJob("counters", "/counters.test", countersTests),
		testJob("quickstart", "/pmuvm.test", "^TestPMUQuickstart$", nil, "-test.short"),
		testJob("sys", "/sys.test", "^Test", nil),
		testJob("pinning", "/pinning.test", "^Test", nil),
	} {
		jobs = append(jobs, more...)
	}
	return p, jobs, errors.Join(errs...)
}

func (b builder) init(ctx context.Context, p programs) error {
	out := filepath.Join(b.dir, "init")
	p["/init"], p["/"+job.True] = out, out
	return b.goTool(ctx, "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./internal/pmuvm/init")
}

// test builds the tests of a package, with the files of an overlay if one is
// given (`go help build`).
func (b builder) test(ctx context.Context, p programs, at, pkg, overlay string) error {
	out := filepath.Join(b.dir, filepath.Base(at))
	p[at] = out
	args := []string{"test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w", "-o", out}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	return b.goTool(ctx, append(args, pkg)...)
}

func (b builder) goTool(ctx context.Context, args ...string) error {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return err
	}
	env := append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	p, err := child.Start(ctx, child.Spec{Path: goTool, Args: args, Env: env, Dir: b.root, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		return err
	}
	if err := finish(ctx, p); err != nil {
		return fmt.Errorf("go %v: %w", args, err)
	}
	return nil
}

// finish lets a process run to its end, or stops it when ctx ends.
func finish(ctx context.Context, p *child.Process) error {
	if err := p.Release(); err != nil {
		return err
	}
	select {
	case <-p.Done():
		return p.ExitError()
	case <-ctx.Done():
		if err := p.Stop(0); err != nil {
			return err
		}
		return context.Cause(ctx)
	}
}

// archive writes the machine's first file system. The kernel's configuration,
// if it is there, is where distributions put it: counters look at it.
func (p programs) archive(path, kernel string, jobs []job.Job) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	a := archive{w: f}
	for _, d := range []string{"boot", "dev", "proc", "sys", "tmp"} {
		a.directory(d)
	}
	a.character("dev/console", 5, 1)
	text, err := json.Marshal(jobs)
	if err != nil {
		return err
	}
	a.file(job.File[1:], 0o644, text)
	if release, ok := strings.CutPrefix(filepath.Base(kernel), "vmlinuz-"); ok {
		config, err := os.ReadFile(filepath.Join(filepath.Dir(kernel), "config-"+release))
		if err != nil {
			return err
		}
		a.file("boot/config-"+release, 0o644, config)
	}
	for at, from := range p {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		a.file(at[1:], 0o755, data)
	}
	if err := a.end(); err != nil {
		return err
	}
	return f.Close()
}
