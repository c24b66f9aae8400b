package envoy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/tareperf/tare/internal/child"
)

// Files in the run directory.
const (
	bootstrapFile = "bootstrap.json"
	adminFile     = "admin.txt"
	logFile       = "envoy.log"
)

// Defaults of StartOptions and of Stop.
const (
	defaultReadyTimeout = 15 * time.Second
	stopGrace           = 5 * time.Second
)

// StartOptions says what to start and where.
type StartOptions struct {
	// Binary is the executable, identified. Default: what Proxy.Find finds.
	Binary Binary
	// Proxy is what to run. Required.
	Proxy Proxy
	// Vars are the values of the bootstrap's variables.
	Vars Vars
	// Dir is the run directory: an existing directory of this process alone.
	// bootstrap.json, admin.txt and envoy.log are written there, and it is the
	// working directory, so relative paths in the bootstrap are in it.
	// Required.
	Dir string
	// Name is used in errors and in the ledger. Default: "envoy".
	Name string
	// Ledger gets the process before it can run. Default: none.
	Ledger *child.Ledger
	// Hold is called while the process is held at exec: it has one thread and
	// has run no instruction of Envoy, so it can be placed and counted whole.
	// An error ends the start. Default: nothing is done.
	Hold func(pid int) error
	// ReadyTimeout bounds the time from release to readiness. Default: 15 s.
	ReadyTimeout time.Duration
}

// StartError is an Envoy that did not start, or not within its time. Nothing
// of it is left running.
type StartError struct {
	Name  string
	Cause error  // why: its exit (*child.ExitError), the time-out, the last try
	Log   string // the last lines of its log
	Path  string // of its log
}

func (e *StartError) Error() string {
	log := e.Log
	if log == "" {
		log = "(empty)"
	}
	return fmt.Sprintf("%s did not start: %v; the last lines of %s: %s", e.Name, e.Cause, e.Path, log)
}

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.Cause }

// Process is a running Envoy that Start started.
type Process struct {
	name        string
	dir         string
	binary      Binary
	concurrency int
	child       *child.Process
	admin       *Admin
	listeners   []Listener
	source      map[string]any // the bootstrap before variables were put in
	declaredEnv map[string]string
}

// Start renders the bootstrap, starts Envoy held, calls Hold, lets it run,
// and returns once it is ready: its admin interface says LIVE, all workers
// have started and it says where it listens. ctx bounds the start only. An
// Envoy that did not get ready is a *StartError.
func Start(ctx context.Context, o StartOptions) (*Process, error) {
	if o.Name == "" {
		o.Name = "envoy"
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = defaultReadyTimeout
	}
	fail := func(err error) (*Process, error) { return nil, fmt.Errorf("start %s: %w", o.Name, err) }
	if o.Dir == "" {
		return fail(errors.New("no Dir: give it a directory of its own"))
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fail(err)
	}
	p := &Process{name: o.Name, dir: dir, binary: o.Binary, concurrency: max(o.Proxy.Concurrency, 1), declaredEnv: maps.Clone(o.Proxy.Env)}
	if p.binary.Path == "" {
		if p.binary, err = o.Proxy.Find(); err != nil {
			return fail(err)
		}
	}
	if err := p.writeBootstrap(o); err != nil {
		return fail(err)
	}
	if err := p.hold(ctx, o); err != nil {
		return fail(err)
	}
	if o.Hold != nil {
		if err := o.Hold(p.child.Pid()); err != nil {
			return fail(errors.Join(fmt.Errorf("while it was held (pid %d): %w", p.child.Pid(), err), p.child.Stop(0)))
		}
	}
	err = p.child.Release()
	if err == nil {
		err = p.awaitReady(ctx, o.ReadyTimeout)
	}
	if err != nil {
		err = errors.Join(err, p.child.Stop(stopGrace))
		return nil, &StartError{Name: o.Name, Cause: err, Log: p.lastLog(), Path: p.LogPath()}
	}
	return p, nil
}

// writeBootstrap puts the rendered configuration into the run directory, and
// takes away an address file that another start left.
func (p *Process) writeBootstrap(o StartOptions) error {
	rendered, err := o.Proxy.Bootstrap.Render(o.Vars)
	if err != nil {
		return err
	}
	if p.source, err = o.Proxy.Bootstrap.ready(); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(p.dir, adminFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(filepath.Join(p.dir, bootstrapFile), rendered, 0o600)
}

func (p *Process) hold(ctx context.Context, o StartOptions) error {
	flags, err := o.Proxy.flags()
	if err != nil {
		return err
	}
	env, err := o.Proxy.environment()
	if err != nil {
		return err
	}
	log, err := os.Create(p.LogPath())
	if err != nil {
		return err
	}
	defer log.Close()
	// Relative names: the command lines of all arms are the same.
	args := append(arguments(flags), "--config-path", bootstrapFile, "--admin-address-path", adminFile)
	p.child, err = child.Start(ctx, child.Spec{
		Name: o.Name, Path: p.binary.Path, Args: args, Env: env, Dir: p.dir,
		Stdout: log, Stderr: log, Ledger: o.Ledger,
	})
	return err
}

// Name is what it was called in StartOptions.
func (p *Process) Name() string { return p.name }

// Pid is its process id.
func (p *Process) Pid() int { return p.child.Pid() }

// Dir is its run directory.
func (p *Process) Dir() string { return p.dir }

// LogPath is the file that has its standard error, Envoy's own log.
func (p *Process) LogPath() string { return filepath.Join(p.dir, logFile) }

// Binary is the executable that runs.
func (p *Process) Binary() Binary { return p.binary }

// Admin asks it.
func (p *Process) Admin() *Admin { return p.admin }

// Child is the process itself.
func (p *Process) Child() *child.Process { return p.child }

// Address is where its first listener listens, host:port; empty if it has
// none with a socket address.
func (p *Process) Address() string {
	if len(p.listeners) == 0 {
		return ""
	}
	return p.listeners[0].Address
}

// Listeners are all listeners with a socket address, in Envoy's order.
func (p *Process) Listeners() []Listener { return append([]Listener(nil), p.listeners...) }

// Done is closed once the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.child.Done() }

// ExitError is nil while it lives and after exit code 0, else a
// *child.ExitError.
func (p *Process) ExitError() error { return p.child.ExitError() }

// Stop ends it: SIGTERM, on which Envoy exits at once, and SIGKILL after 5 s.
// It may be called again. The files in Dir stay.
func (p *Process) Stop() error {
	if err := p.child.Stop(stopGrace); err != nil {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	return nil
}

// Effective reads what it really runs. It costs the proxy some ten
// milliseconds: once after the start, not in a window.
func (p *Process) Effective(ctx context.Context) (Effective, error) {
	e := Effective{SHA256: p.binary.SHA256, BuildID: p.binary.BuildID}
	info, err := p.admin.ServerInfo(ctx)
	if err != nil {
		return Effective{}, err
	}
	e.Version, e.CommandLine = info.Version, info.CommandLine
	dump, err := p.admin.ConfigDump(ctx)
	if err != nil {
		return Effective{}, err
	}
	if e.Bootstrap, err = effectiveBootstrap(dump, p.source); err != nil {
		return Effective{}, fmt.Errorf("%s: %w", p.name, err)
	}
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Pid()), "environ"))
	if err != nil {
		return Effective{}, fmt.Errorf("%s: %w", p.name, err)
	}
	if e.Environment, err = parseEnviron(text); err != nil {
		return Effective{}, fmt.Errorf("%s: %w", p.name, err)
	}
	drop := []string{child.TokenVariable}
	if p.child.Method() == child.ByGate { // the shell's own
		drop = append(drop, "PWD", "OLDPWD", "SHLVL", "_")
	}
	for _, name := range drop {
		if _, declared := p.declaredEnv[name]; !declared {
			delete(e.Environment, name)
		}
	}
	return e, nil
}

func joinHostPort(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
