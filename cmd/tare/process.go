package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/loadgen"
)

// generatorGrace is how long the generator may take to end by itself.
const generatorGrace = 3 * time.Second

// process is the generator: this program again, in a process that ends with
// this one however that ends.
type process struct {
	*child.Process
	*loadgen.Remote
	in, out *os.File
}

// startGenerator starts it on the given CPUs; none = any.
func startGenerator(ctx context.Context, cpus []int) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to start its generator: %w", err)
	}
	p := &process{}
	p.Process, p.in, p.out, err = child.StartPiped(ctx, child.Spec{
		Name: "generator", Path: self, Args: []string{generatorCommand}, Affinity: cpus,
		Env: generatorEnvironment(), Stderr: os.Stderr,
	})
	if err != nil {
		return nil, fmt.Errorf("start the generator: %w", err)
	}
	if err := p.Release(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the generator: %w", err), p.end())
	}
	p.Remote = loadgen.NewRemote(p.in, p.out)
	return p, nil
}

// generatorEnvironment keeps what a Go program needs to resolve names and find
// authorities, and nothing that changes its cost by accident, such as GOGC.
func generatorEnvironment() []string {
	env := []string{}
	for _, k := range []string{"HOME", "PATH", "TMPDIR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "LOCALDOMAIN", "RES_OPTIONS"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// end stops it, by force after the grace.
func (p *process) end() error {
	var err error
	if p.Remote != nil {
		err = p.Remote.Close() // closes in too
	}
	p.in.Close()
	err = errors.Join(err, p.Process.Stop(generatorGrace))
	p.out.Close()
	return err
}
