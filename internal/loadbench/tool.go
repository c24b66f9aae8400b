package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/loadgen"
)

// job is one run of one tool. Without a rate it saturates.
type job struct {
	server server
	h2     bool
	rate   float64
	length time.Duration
	round  int
}

func (j job) address() string {
	if j.h2 {
		return j.server.h2c
	}
	return j.server.plain
}

func (j job) url() string { return "http://" + j.address() + "/" }

// tool is a load generator.
type tool struct {
	name    string
	version string
	start   func(context.Context, *rig, job) (*running, error)
}

// running is a tool at work.
type running struct {
	pid  int
	wait func() (outcome, error) // until the process has ended
}

// findTools looks for the programs of others.
func (r *rig) findTools(ctx context.Context) {
	perConnection := strconv.FormatFloat(rate/connections, 'g', -1, 64)
	for _, p := range []struct {
		name, pkg, version string // version: the flag
		args               func(job) []string
		parse              func(string) (outcome, error)
	}{
		{"wrk", "wrk", "-v", func(j job) []string {
			return []string{"-t1", "-c" + strconv.Itoa(connections), "-d" + seconds(j.length), "--latency", j.url()}
		}, parseWrk},
		{"h2load", "nghttp2-client", "--version", func(j job) []string {
			args := []string{"-t1", "-D", strconv.FormatInt(j.length.Milliseconds(), 10) + "ms"}
			if j.h2 {
				args = append(args, "-c"+strconv.Itoa(h2Connections), "-m"+strconv.Itoa(h2Streams))
			} else {
				args = append(args, "--h1", "-c"+strconv.Itoa(connections), "-m1")
			}
			if j.rate > 0 {
				args = append(args, "--rps", perConnection)
			}
			return append(args, j.url())
		}, parseH2load},
		{"hey", "hey", "", func(j job) []string {
			return []string{"-z", j.length.String(), "-c", strconv.Itoa(connections), "-q", perConnection, j.url()}
		}, parseHey},
	} {
		path, err := exec.LookPath(p.name)
		if err != nil {
			r.absent = append(r.absent, fmt.Sprintf("%s: install Debian's %s (%v)", p.name, p.pkg, err))
			continue
		}
		t := tool{name: p.name, version: p.name}
		if p.version != "" { // hey does not tell its
			said, _ := child.Output(ctx, child.Spec{Path: path, Args: []string{p.version}}, 4<<10) // wrk answers with exit code 1
			if first, _, _ := strings.Cut(said, "\n"); first != "" {
				t.version, _, _ = strings.Cut(first, " [")
			}
		}
		t.start = func(ctx context.Context, r *rig, j job) (*running, error) {
			return r.startProgram(ctx, p.name, path, p.args(j), p.parse)
		}
		r.tools = append(r.tools, t)
	}
}

// seconds are rounded up for a tool that takes whole ones only.
func seconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

// find is one of the tools that are here.
func (r *rig) find(name string) (tool, bool) {
	for _, t := range r.tools {
		if t.name == name {
			return t, true
		}
	}
	return tool{}, false
}

// startProgram starts a tool whose words are read when it has ended.
func (r *rig) startProgram(ctx context.Context, name, path string, args []string, parse func(string) (outcome, error)) (*running, error) {
	out, err := os.Create(filepath.Join(r.dir, "output"))
	if err != nil {
		return nil, err
	}
	p, err := child.Start(ctx, child.Spec{Name: name, Path: path, Args: args, Stdout: out, Stderr: out, Affinity: []int{r.generatorCPU}})
	if err == nil {
		err = p.Release()
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return &running{p.Pid(), func() (outcome, error) {
		defer out.Close()
		if err := await(ctx, p); err != nil {
			return outcome{}, err
		}
		said, err := os.ReadFile(out.Name())
		if err := errors.Join(err, p.ExitError()); err != nil {
			return outcome{}, fmt.Errorf("%w: it said %.500q", err, said)
		}
		return parse(string(said))
	}}, nil
}

// await waits for a process, and ends it when ctx ends.
func await(ctx context.Context, p *child.Process) error {
	select {
	case <-p.Done():
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Stop(0))
	}
}

var vegetaTool = tool{name: "vegeta", start: func(ctx context.Context, r *rig, j job) (*running, error) {
	arg, err := json.Marshal(vegetaJob{URL: j.url(), Length: j.length})
	if err != nil {
		return nil, err
	}
	in, out, p, err := r.startSelf(ctx, roleVegeta, r.generatorCPU, string(arg))
	if err != nil {
		return nil, err
	}
	return &running{p.Pid(), func() (outcome, error) {
		defer in.Close()
		defer out.Close()
		if err := await(ctx, p); err != nil { // what it says fits into the pipe
			return outcome{}, err
		}
		said, err := io.ReadAll(out)
		if err := errors.Join(err, p.ExitError()); err != nil {
			return outcome{}, err
		}
		var o outcome
		return o, json.Unmarshal(said, &o)
	}}, nil
}}

// tare is this module's generator, in one way of spacing its arrivals.
func tare(name string, arrival loadgen.Arrival, coarse time.Duration) tool {
	return tool{name: name, start: func(ctx context.Context, r *rig, j job) (*running, error) {
		in, out, p, err := r.startSelf(ctx, roleGenerator, r.generatorCPU)
		if err != nil {
			return nil, err
		}
		return &running{p.Pid(), func() (outcome, error) {
			o, err := drive(ctx, in, out, j, arrival, coarse)
			_ = in.Close() // the remote has closed it, unless it failed
			select {
			case <-p.Done(): // its whole life is measured, so it ends by itself
			case <-time.After(5 * time.Second):
				err = errors.Join(err, errors.New("the generator does not end"))
			}
			return o, errors.Join(err, p.Stop(0), p.ExitError(), out.Close())
		}}, nil
	}}
}

func drive(ctx context.Context, in, out *os.File, j job, arrival loadgen.Arrival, coarse time.Duration) (outcome, error) {
	remote := loadgen.NewRemote(in, out)
	spec := loadgen.Spec{Connections: connections, Arrival: arrival, Coarse: coarse, Expect: loadgen.Expect{BodyBytes: bodySize}}
	window := loadgen.Window{Rate: j.rate, Duration: j.length, Seed: uint64(j.round)}
	if j.h2 {
		spec.Protocol, spec.Connections, spec.Streams = loadgen.H2C, h2Connections, h2Streams
	}
	if j.rate == 0 {
		window.InFlight = spec.Connections * max(spec.Streams, 1)
	}
	if err := remote.Open(ctx, spec, []loadgen.Target{{Name: j.server.name, Address: j.address()}}); err != nil {
		return outcome{}, err
	}
	if err := remote.Connect(ctx); err != nil {
		return outcome{}, err
	}
	report, err := remote.Run(ctx, window)
	if err != nil {
		return outcome{}, err
	}
	c := report.Total()
	t := report.Targets[0]
	return outcome{
		Completed: c.Completed, Failed: c.Failed + c.Overflow + c.InFlightAtEnd,
		Rate: float64(c.Completed) / j.length.Seconds(),
		P99:  time.Duration(t.Response.P99), Max: time.Duration(t.Response.Max),
	}, remote.Close()
}
