package grpcorigin

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/realserver"
	"github.com/tareperf/tare/loadgen"
)

// A minute for each kind of call, about 12 minutes:
//
//	cd services && go test ./grpcorigin -run TestLoad -v -count=1 -timeout 30m -load.length 60s -load.rate 2000
var (
	loadLength = flag.Duration("load.length", time.Second, "how long each kind of call is made")
	loadRate   = flag.Float64("load.rate", 200, "calls per second")
)

// kinds are the calls, with how many messages each sends and gets.
var kinds = []struct {
	method  string
	grpc    loadgen.GRPC
	out, in int64
}{
	{"Unary", loadgen.GRPC{}, 1, 1},
	{"ClientStream", loadgen.GRPC{Messages: 5}, 5, 1},
	{"ServerStream", loadgen.GRPC{Answers: 7}, 1, 7},
	{"Echo", loadgen.GRPC{Messages: 4, Answers: 4, Lockstep: true}, 4, 4},
	{"Echo", loadgen.GRPC{Messages: 6, Answers: 6}, 6, 6},
	{"Status", loadgen.GRPC{Status: 9}, 1, 0},
}

func load(t *testing.T, spec loadgen.Spec, address string) loadgen.Counts {
	spec.Connections, spec.Streams = 4, 50
	spec.MaxLate, spec.Queue = time.Hour, 1_000_000 // a busy machine may run this late
	g, err := loadgen.New(spec, []loadgen.Target{{Name: "origin", Address: address}})
	require.NoError(t, err)
	defer g.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*(time.Minute+*loadLength))
	defer cancel()
	require.NoError(t, g.Connect(ctx))
	r, err := g.Run(ctx, loadgen.Window{Rate: *loadRate, Duration: *loadLength, Drain: 30 * time.Second})
	require.NoError(t, err)
	require.NoError(t, r.Check())
	t.Logf("%d calls, response p50 %v p99 %v", r.Total().Completed, time.Duration(r.Targets[0].Response.P50), time.Duration(r.Targets[0].Response.P99))
	return r.Total()
}

// loadKinds makes every kind of call and compares with the origin's counts.
func loadKinds(t *testing.T, s *Server, spec loadgen.Spec, address string) {
	spec.Body = strings.Repeat("m", 100)
	for _, k := range kinds {
		name := k.method
		if k.grpc.Lockstep {
			name += " in lockstep"
		}
		t.Run(name, func(t *testing.T) {
			spec := spec
			spec.Path, spec.GRPC = "/tare.Origin/"+k.method, &k.grpc
			if k.grpc.Status == 0 {
				spec.Expect.BodyBytes = 100 * k.in
			}
			before := s.Stats()
			c := load(t, spec, address)
			after := s.Stats()
			require.EqualValues(t, c.Planned, c.Completed, "%+v", c)
			require.Zero(t, c.Failed+c.Overflow+c.Resent+c.ConnectionsClosed, "%+v", c)
			require.Equal(t, c.Completed, after.Calls-before.Calls)
			require.Equal(t, c.Completed, after.Completed-before.Completed)
			require.Equal(t, c.Completed*k.out, after.MessagesIn-before.MessagesIn)
			require.Equal(t, c.Completed*k.in, after.MessagesOut-before.MessagesOut)
			require.Equal(t, after.MessagesIn-before.MessagesIn, c.MessagesOut)
			require.Equal(t, after.MessagesOut-before.MessagesOut, c.MessagesIn)
		})
	}
}

func TestLoadGRPCCountsEqualTheServersOwn(t *testing.T) {
	certificate, key, err := realserver.WriteCertificate(t.TempDir())
	require.NoError(t, err)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		options Options
		spec    loadgen.Spec
	}{
		"h2c": {Options{Answers: 7}, loadgen.Spec{Protocol: loadgen.H2C}},
		"TLS": {Options{Answers: 7, TLS: &tls.Config{Certificates: []tls.Certificate{pair}}},
			loadgen.Spec{Protocol: loadgen.HTTP2, TLS: &loadgen.TLS{CAFile: certificate}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Start(c.options)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Stop()) }()
			loadKinds(t, s, c.spec, s.Address())
		})
	}
}

// Another status than the one that is right, and a method that is not there.
func TestWrongStatusIsAFailure(t *testing.T) {
	s, err := Start(Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Stop()) }()
	for _, method := range []string{"Status", "Nothing"} {
		c := load(t, loadgen.Spec{Protocol: loadgen.H2C, Path: "/tare.Origin/" + method, GRPC: &loadgen.GRPC{}}, s.Address())
		require.Equal(t, c.Planned, c.Failed)
		require.Equal(t, loadgen.Failures{GRPC: c.Planned}, c.FailedBy)
	}
	require.Equal(t, s.Stats().Calls/2, s.Stats().Unknown)
}

// Through Envoy, whose own counters and the origin's are the generator's.
func TestLoadGRPCThroughEnvoy(t *testing.T) {
	for _, version := range []string{"1.36.2", "1.40.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			proxy := envoy.Proxy{Version: version, Bootstrap: envoy.MustParse(bootstrap)}
			binary, err := proxy.Find()
			var none *envoy.NotFoundError
			if errors.As(err, &none) {
				need.Skip(t, "envoy", err)
			}
			require.NoError(t, err)
			s, err := Start(Options{Answers: 7})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Stop()) }()
			host, port, _ := strings.Cut(s.Address(), ":")
			dir := t.TempDir()
			require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
			p, err := envoy.Start(t.Context(), envoy.StartOptions{Binary: binary, Proxy: proxy, Dir: dir,
				Vars: envoy.Vars{envoy.OriginAddress: host, envoy.OriginPort: port}})
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Stop()) }()
			before, err := p.Admin().Stats(t.Context())
			require.NoError(t, err)
			calls := s.Stats().Calls
			loadKinds(t, s, loadgen.Spec{Protocol: loadgen.H2C}, p.Address())
			after, err := p.Admin().Stats(t.Context())
			require.NoError(t, err)
			delta, err := after.Since(before)
			require.NoError(t, err)
			served, err := envoy.ServedBy(delta)
			require.NoError(t, err)
			require.Equal(t, s.Stats().Calls-calls, served.Requests)
			require.Equal(t, served.Requests, served.Completed)
			require.Zero(t, served.Resets+served.Status5xx+served.Overflow)
		})
	}
}

const bootstrap = `
static_resources:
  listeners:
  - name: calls
    address: {socket_address: {address: 127.0.0.1, port_value: 0}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: calls
          codec_type: HTTP2
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: /}
                route: {cluster: origin, timeout: 0s}
  clusters:
  - name: origin
    type: STATIC
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment:
      cluster_name: origin
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: "${ORIGIN_ADDRESS}", port_value: "${ORIGIN_PORT}"}}}
`
