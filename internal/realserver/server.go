package realserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/tareperf/tare/internal/child"
)

var (
	// ErrNotFound is wrapped by errors about a server that is not installed.
	ErrNotFound = errors.New("not found")
	// ErrNotSupported is wrapped by every error on systems other than Linux.
	ErrNotSupported = child.ErrNotSupported
)

// Options are how a server runs.
type Options struct {
	// Dir is the run directory: existing, empty, absolute, of this server alone,
	// and open to all readers, as Apache reads it under another user. Required.
	Dir string
	// BodySize is the size of each answer's body, 1 to 4096 bytes. Default: 2.
	BodySize int
	// CPUs are those that the server may run on. Default: all.
	CPUs []int
	// Version is the release of Envoy to use. Default: any.
	Version string
	// QUIC adds an HTTP/3 port to Envoy. Default: none.
	QUIC bool
}

// maxBodySize is Envoy's limit of a direct response.
const maxBodySize = 4096

func (o Options) withDefaults() (Options, error) {
	if o.BodySize == 0 {
		o.BodySize = 2
	}
	if o.BodySize < 1 || o.BodySize > maxBodySize {
		return o, fmt.Errorf("realserver: body size is %d bytes; give 1 to %d", o.BodySize, maxBodySize)
	}
	if !filepath.IsAbs(o.Dir) || bytes.ContainsAny([]byte(o.Dir), " \"'\\${};\n") {
		return o, fmt.Errorf("realserver: run directory %q goes into configurations: give an absolute path without spaces and quotes", o.Dir)
	}
	return o, nil
}

// newServer has ports and a certificate for a server to be started. The ports
// are held until the caller releases them; status, unless it is nil, gets one
// more, where the server answers questions.
func newServer(o Options, name string, status *string) (s *Server, tls pair, held *ports, err error) {
	s, held = &Server{Name: name}, &ports{}
	if err = held.holdFor(s, status); err == nil {
		tls, err = newPair(o)
	}
	if err != nil {
		held.release()
		return nil, pair{}, nil, err
	}
	s.Certificate = tls.certificate
	return s, tls, held, nil
}

func (o Options) body() []byte { return bytes.Repeat([]byte("x"), o.BodySize) }

// Server is a running server.
type Server struct {
	// Name is the kind with its version, such as "nginx 1.22.1".
	Name string
	// Plain, H2C and TLS are where it listens, host:port; QUIC is a UDP port,
	// empty unless it was asked for.
	Plain, H2C, TLS, QUIC string
	// Certificate is the PEM file of the certificate, which has signed itself.
	Certificate string
	// Pid is the first process of the server: the one that works, but for Apache.
	Pid int

	requests func(context.Context) (int64, error)
	stop     func() error
}

// Requests is how many requests the server has counted since its start.
func (s *Server) Requests(ctx context.Context) (int64, error) {
	n, err := s.requests(ctx)
	if err != nil {
		return 0, fmt.Errorf("realserver: requests of %s: %w", s.Name, err)
	}
	return n, nil
}

// Stop ends the server.
func (s *Server) Stop() error { return s.stop() }

const (
	readyTimeout = 15 * time.Second
	stopGrace    = 3 * time.Second
)

// launch starts a program and waits until all addresses take connections. What
// it says goes to a file in the run directory, whose end is in errors.
func launch(ctx context.Context, o Options, name, path string, args []string, addresses ...string) (*child.Process, error) {
	log := filepath.Join(o.Dir, "output.log")
	out, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("realserver: %w", err)
	}
	defer out.Close()
	p, err := child.Start(ctx, child.Spec{
		Name: name, Path: path, Args: args, Dir: o.Dir, Env: []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"},
		Stdout: out, Stderr: out, Affinity: o.CPUs,
	})
	if err != nil {
		return nil, fmt.Errorf("realserver: %w", err)
	}
	err = p.Release()
	for _, a := range addresses {
		if err == nil {
			err = awaitPort(ctx, p, a)
		}
	}
	if err != nil {
		_ = p.Stop(0)
		said, _ := os.ReadFile(log)
		return nil, fmt.Errorf("realserver: %s: %w; it said: %s", name, err, bytes.TrimSpace(said[max(0, len(said)-2000):]))
	}
	return p, nil
}

func awaitPort(ctx context.Context, p *child.Process, address string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	network := "tcp"
	if filepath.IsAbs(address) {
		network = "unix"
	}
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-p.Done():
			return fmt.Errorf("ended before it listened: %w", p.ExitError())
		case <-ctx.Done():
			return fmt.Errorf("does not listen on %s: %w", address, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// find looks for a system program.
func find(name, pkg string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
		path := filepath.Join(dir, name)
		if _, err := exec.LookPath(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("realserver: %s: %w in PATH, /usr/sbin and /usr/local/sbin; install Debian's %s", name, ErrNotFound, pkg)
}

func write(o Options, name string, content []byte) (string, error) {
	path := filepath.Join(o.Dir, name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return "", fmt.Errorf("realserver: %w", err)
	}
	return path, nil
}
