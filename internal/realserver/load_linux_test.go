package realserver

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/loadgen"
)

// The whole of it, a minute for each server and protocol, about 13 minutes with
// two of them at a time:
//
//	go test ./internal/realserver -run TestLoad -v -count=1 -timeout 60m -load.length 60s -load.rate 2000
var (
	loadLength = flag.Duration("load.length", time.Second, "how long each server is loaded over each protocol")
	loadRate   = flag.Float64("load.rate", 300, "requests per second")
)

// The generator loads each server over each protocol: nothing fails, and the
// server has counted the same.
func TestLoadCountsEqualTheServersOwn(t *testing.T) {
	for _, c := range []struct {
		word, name string // of TARE_REQUIRE
		start      func(context.Context, Options) (*Server, error)
		version    string
	}{
		{"nginx", "nginx", StartNginx, ""}, {"envoy", "envoy 1.36.2", StartEnvoy, "1.36.2"}, {"envoy", "envoy 1.40.0", StartEnvoy, "1.40.0"},
		{"haproxy", "haproxy", StartHAProxy, ""}, {"apache2", "apache2", StartApache, ""}, {"", "net/http", startGo, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 5*(time.Minute+*loadLength))
			defer cancel()
			s, err := c.start(ctx, Options{Dir: readable(t), BodySize: 1000, Version: c.version})
			if errors.Is(err, ErrNotFound) {
				need.Skip(t, c.word, err)
			}
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Stop()) }()
			secure := &loadgen.TLS{CAFile: s.Certificate}
			for name, load := range map[string]struct {
				address string
				spec    loadgen.Spec
			}{
				"HTTP/1.1":           {s.Plain, loadgen.Spec{Connections: 32}},
				"HTTP/1.1 over TLS":  {s.TLS, loadgen.Spec{Connections: 32, TLS: secure}},
				"HTTP/2":             {s.TLS, loadgen.Spec{Connections: 4, Streams: 20, Protocol: loadgen.HTTP2, TLS: secure}},
				"HTTP/2 without TLS": {s.H2C, loadgen.Spec{Connections: 4, Streams: 20, Protocol: loadgen.H2C}},
			} {
				t.Run(name, func(t *testing.T) { loadOne(ctx, t, s, loadgen.Target{Name: s.Name, Address: load.address}, load.spec) })
			}
		})
	}
}

func loadOne(ctx context.Context, t *testing.T, s *Server, target loadgen.Target, spec loadgen.Spec) {
	spec.Path, spec.Expect.BodyBytes = "/1k?x=y", 1000
	// A busy machine may run this late; what is due is sent all the same.
	spec.MaxLate, spec.Queue = time.Hour, 1_000_000
	g, err := loadgen.New(spec, []loadgen.Target{target})
	require.NoError(t, err)
	defer g.Close()
	before, err := s.Requests(ctx)
	require.NoError(t, err)
	require.NoError(t, g.Connect(ctx))
	r, err := g.Run(ctx, loadgen.Window{Rate: *loadRate, Duration: *loadLength, Drain: 30 * time.Second})
	require.NoError(t, err)
	require.NoError(t, r.Check())
	c := r.Total()
	require.EqualValues(t, c.Planned, c.Completed, "%+v", c)
	require.Zero(t, c.Failed+c.Overflow+c.InFlightAtEnd+c.Resent, "%+v", c)
	require.Zero(t, c.ConnectionsClosed+c.ConnectFailures+c.ProtocolErrors+c.Unsolicited, "%+v", c)
	require.EqualValues(t, c.Completed*1000, c.BodyBytes)
	require.NoError(t, g.Close()) // Apache counts the last ones then
	var served int64
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline) && served < c.Completed; time.Sleep(10 * time.Millisecond) {
		after, err := s.Requests(ctx)
		require.NoError(t, err)
		served = after - before
	}
	require.Equal(t, c.Completed, served)
	t.Logf("%s: %d completed, %d served, response p50 %v p99 %v, %.1f µs of generator CPU for a request", s.Name, c.Completed, served,
		time.Duration(r.Targets[0].Response.P50), time.Duration(r.Targets[0].Response.P99), float64(r.Generator.CPUNanoseconds)/float64(c.Completed)/1e3)
}

// startGo is net/http in this process, in the place of a program.
func startGo(_ context.Context, o Options) (*Server, error) {
	certificate, key, err := WriteCertificate(o.Dir)
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	var requests atomic.Int64
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Protocols: &protocols, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			_, _ = w.Write(o.body()) // a failure shows at the client
		}),
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	secure, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(plain) }()
	go func() { ended <- server.ServeTLS(secure, "", "") }()
	return &Server{
		Name: "net/http of " + runtime.Version(), Plain: plain.Addr().String(), H2C: plain.Addr().String(), TLS: secure.Addr().String(), Certificate: certificate,
		requests: func(context.Context) (int64, error) { return requests.Load(), nil },
		stop: func() error {
			err := server.Close()
			for range 2 {
				if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
					err = errors.Join(err, e)
				}
			}
			return err
		},
	}, nil
}
