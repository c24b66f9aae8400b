//go:build linux

package envoy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/internal/need"
)

// catalogueReleases are those of every run; TARE_ENVOY_RELEASES names others,
// such as all that Install knows, separated by commas.
func catalogueReleases() []string {
	if named := os.Getenv("TARE_ENVOY_RELEASES"); named != "" {
		return strings.Split(named, ",")
	}
	return []string{"1.40.0", "1.36.2"}
}

// catalogue has each setting.
func catalogue(t *testing.T) []envoy.Change {
	grpc := grpcService(t)
	return []envoy.Change{
		envoy.ExtAuthzHTTP(httpService(t)),
		envoy.ExtAuthzGRPC(grpc),
		envoy.OpenTelemetry(grpc, 0),
		envoy.OpenTelemetry(grpc, 50),
		envoy.OpenTelemetry(grpc, 100),
		envoy.CORS("https://example.com"),
		envoy.FileAccessLog("access.log"),
		envoy.JSONAccessLog("access.log", nil),
		envoy.StdoutAccessLog(nil),
		envoy.BufferLimit(4096),
		envoy.RetryPolicy("5xx,reset", 2),
		envoy.HPACKTable(0),
		envoy.ExactBalance(),
		envoy.PoolPerDownstream(),
		envoy.PoolMaxRequests(50),
		envoy.PoolMaxDuration(20 * time.Millisecond),
		envoy.PoolIdleTimeout(5 * time.Second),
		envoy.HTTP2Codec(envoy.Nghttp2),
		envoy.HTTP2Codec(envoy.Oghttp2),
		envoy.RequestHeaders(24),
		envoy.ResponseHeaders(24),
		envoy.LocalRateLimit(1_000_000),
		envoy.Lua(""),
		envoy.RBAC(),
		envoy.GzipCompression(30),
		envoy.Routes(500, "origin"),
		envoy.Routes(5000, "origin"),
	}
}

// serve sends n requests over four connections and returns what Envoy's
// counters did meanwhile.
func serve(t *testing.T, p *envoy.Process, n int) envoy.StatsDelta {
	t.Helper()
	before, err := p.Admin().Stats(context.Background())
	require.NoError(t, err)
	const connections = 4
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections, DisableCompression: true}}
	defer client.CloseIdleConnections()
	failed := make([]error, connections)
	var all sync.WaitGroup
	for c := range connections {
		all.Go(func() {
			for range n / connections {
				if failed[c] = get(client, "http://"+p.Address()+"/x"); failed[c] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	after, err := p.Admin().Stats(context.Background())
	require.NoError(t, err)
	delta, err := after.Since(before)
	require.NoError(t, err)
	return delta
}

func get(client *http.Client, url string) error {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("Origin", "https://example.com")
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// httpService answers everything with 200.
func httpService(t *testing.T) string {
	v := textOrigin(t)
	return net.JoinHostPort(v[envoy.OriginAddress], v[envoy.OriginPort])
}

// grpcService answers every call with an empty message and status 0: for
// external authorization that is yes, for an OTLP collector thanks.
func grpcService(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(make([]byte, 5))
		w.Header().Set("Grpc-Status", "0")
	})}
	s.Protocols.SetUnencryptedHTTP2(true)
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// textOrigin answers with a text that is worth compressing.
func textOrigin(t *testing.T) envoy.Vars {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	body := strings.Repeat("hello, world. ", 20)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, body)
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	host, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return envoy.Vars{envoy.OriginAddress: host, envoy.OriginPort: port}
}

// Every entry on every release: it validates, starts, serves 1,000 requests,
// its proof holds and does not hold for the baseline, and the running
// configuration differs from the baseline's in the entry and nothing else.
func TestCatalogue(t *testing.T) {
	const n = 1000
	for _, release := range catalogueReleases() {
		t.Run(release, func(t *testing.T) {
			bin, err := envoy.Find(envoy.FindOptions{Version: release})
			need.Skip(t, "envoy", err)
			ctx := context.Background()
			vars := textOrigin(t)
			base := envoy.MustParse(baseYAML)
			off := envoy.Proxy{Bootstrap: base}
			baseline := start(t, bin, "off", off, vars)
			baseDelta := serve(t, baseline, n)
			baseEffective, err := baseline.Effective(ctx)
			require.NoError(t, err)
			slots := make(chan struct{}, 4)
			for _, change := range catalogue(t) {
				t.Run(change.Name, func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					defer func() { <-slots }()
					on := envoy.Proxy{Bootstrap: base.With(change)}
					require.NoError(t, on.Check())
					proc := start(t, bin, "on", on, vars)
					defer func() { require.NoError(t, proc.Stop()) }()
					require.NoError(t, envoy.Validate(ctx, bin, filepath.Join(proc.Dir(), "bootstrap.json")))
					delta := serve(t, proc, n)
					served, err := envoy.ServedBy(delta)
					require.NoError(t, err)
					require.EqualValues(t, n, served.Status2xx)
					require.EqualValues(t, n, served.Requests)
					require.EqualValues(t, n, delta.Counters["cluster.origin.upstream_rq_total"])

					require.NoError(t, envoy.CheckProof(change.Proof, delta, n))
					require.NoError(t, envoy.CheckProofAbsent(change.Proof, baseDelta))
					for _, e := range change.Proof {
						if e.Is != envoy.IsZero {
							require.Error(t, envoy.CheckProof([]envoy.Expect{e}, baseDelta, n), "%s holds for the baseline too", e.Stat)
						}
					}
					problems, err := proc.LogProblems()
					require.NoError(t, err)
					require.Empty(t, problems)
					effective, err := proc.Effective(ctx)
					require.NoError(t, err)
					differ, err := envoy.CompareEffective(baseEffective, effective)
					require.NoError(t, err)
					declared, err := envoy.DeclaredDifference(off, on)
					require.NoError(t, err)
					require.NotEmpty(t, declared)
					require.NoError(t, envoy.CheckEffective(declared, differ))
					require.Error(t, envoy.CheckEffective(declared, nil), "the dump proves nothing")
				})
			}
		})
	}
}
