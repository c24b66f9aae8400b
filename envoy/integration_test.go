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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/internal/need"
)

const baseYAML = `
static_resources:
  listeners:
  - name: ingress
    address:
      socket_address: {address: 0.0.0.0, port_value: 10000}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: ingress
          route_config:
            name: everything
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: /}
                route: {cluster: origin}
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
  - name: origin
    type: STATIC
    circuit_breakers:
      thresholds:
      - {max_connections: 50000, max_pending_requests: 50000, max_requests: 50000, max_retries: 50000}
    load_assignment:
      cluster_name: origin
      endpoints:
      - lb_endpoints:
        - endpoint:
            address:
              socket_address:
                address: ${ORIGIN_ADDRESS}
                port_value: ${ORIGIN_PORT}
`

// find gives a real Envoy of a release, or skips.
func find(t testing.TB, release string) envoy.Binary {
	t.Helper()
	t.Setenv(envoy.EnvBinary, "")
	bin, err := envoy.Find(envoy.FindOptions{Version: release})
	need.Skip(t, "envoy", err)
	return bin
}

// origin answers every request; the result is the bootstrap's variables.
func origin(t testing.TB) envoy.Vars {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello")
	})}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	host, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return envoy.Vars{envoy.OriginAddress: host, envoy.OriginPort: port}
}

func start(t testing.TB, bin envoy.Binary, name string, p envoy.Proxy, vars envoy.Vars) *envoy.Process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	proc, err := envoy.Start(ctx, envoy.StartOptions{Binary: bin, Proxy: p, Vars: vars, Dir: t.TempDir(), Name: name})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, proc.Stop()) })
	return proc
}

// request sends n requests over a few connections, each answered with 200.
func request(t testing.TB, address string, n int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer client.CloseIdleConnections()
	for range n {
		resp, err := client.Get("http://" + address + "/x")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
}

// Two arms side by side, on both releases: each serves what it was sent, the
// log's proof holds where the log is and nowhere else, and what differs
// between the running processes is what was declared.
func TestAccessLogArmsSideBySide(t *testing.T) {
	for _, release := range []string{"1.40.0", "1.36.2"} {
		t.Run(release, func(t *testing.T) {
			bin := find(t, release)
			vars := origin(t)
			ctx := context.Background()
			base := envoy.MustParse(baseYAML)
			off := envoy.Proxy{Bootstrap: base}
			offProc := start(t, bin, "off", off, vars)
			offEffective, err := offProc.Effective(ctx)
			require.NoError(t, err)

			for _, change := range []envoy.Change{envoy.FileAccessLog("access.log"), envoy.JSONAccessLog("access.log", nil)} {
				on := envoy.Proxy{Bootstrap: base.With(change)}
				require.NoError(t, on.Check())
				proc := start(t, bin, "on", on, vars)
				require.NoError(t, envoy.Validate(ctx, bin, filepath.Join(proc.Dir(), "bootstrap.json")))

				const n = 1000
				for _, arm := range []struct {
					proc *envoy.Process
					has  bool
				}{{offProc, false}, {proc, true}} {
					before, err := arm.proc.Admin().Stats(ctx)
					require.NoError(t, err)
					request(t, arm.proc.Address(), n)
					after, err := arm.proc.Admin().Stats(ctx)
					require.NoError(t, err)
					delta, err := after.Since(before)
					require.NoError(t, err)
					served, err := envoy.ServedBy(delta)
					require.NoError(t, err)
					require.EqualValues(t, n, served.Requests)
					require.EqualValues(t, n, served.Completed)
					require.EqualValues(t, n, served.Status2xx)
					require.EqualValues(t, n, served.UpstreamRequests)
					require.Zero(t, served.Overflow)
					require.Zero(t, served.Status5xx+served.Resets+served.Timeouts+served.ProtocolErrors+served.UpstreamConnectFailures)
					if arm.has {
						require.NoError(t, envoy.CheckProof(change.Proof, delta, n))
						var proof *envoy.ProofError
						require.ErrorAs(t, envoy.CheckProof(change.Proof, delta, n+1), &proof)
						require.ErrorAs(t, envoy.CheckProofAbsent(change.Proof, delta), &proof)
					} else {
						require.NoError(t, envoy.CheckProofAbsent(change.Proof, delta))
						var proof *envoy.ProofError
						require.ErrorAs(t, envoy.CheckProof(change.Proof, delta, n), &proof)
					}
				}
				effective, err := proc.Effective(ctx)
				require.NoError(t, err)
				differ, err := envoy.CompareEffective(offEffective, effective)
				require.NoError(t, err)
				declared, err := envoy.DeclaredDifference(off, on)
				require.NoError(t, err)
				require.Len(t, declared, 1)
				require.NoError(t, envoy.CheckEffective(declared, differ))
				t.Log(declared, differ)

				workers, err := envoy.WorkerRunNanoseconds(proc.Pid())
				require.NoError(t, err)
				require.Len(t, workers, 1)
				require.Positive(t, workers[0].RunNanoseconds)
				problems, err := proc.LogProblems()
				require.NoError(t, err)
				require.Empty(t, problems)

				require.NoError(t, proc.Stop())
				require.NoError(t, proc.ExitError())
				log, err := os.ReadFile(filepath.Join(proc.Dir(), "access.log"))
				require.NoError(t, err)
				require.Equal(t, n, countLines(log))
			}
		})
	}
}

func countLines(text []byte) int {
	n := 0
	for _, b := range text {
		if b == '\n' {
			n++
		}
	}
	return n
}
