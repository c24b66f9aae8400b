package loadgen

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/nginx"
)

// runServer starts a program for one test, which ends with it, and waits
// until something listens on the address.
func runServer(t *testing.T, address, path string, args ...string) {
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	require.NoError(t, err)
	defer said.Close()
	// Not os/exec: Envoy ends with the thread that started it, which may be
	// one that a worker then takes with it.
	p, err := child.Start(t.Context(), child.Spec{Path: path, Args: args, Stdout: said, Stderr: said})
	require.NoError(t, err)
	t.Cleanup(func() { p.Stop(0) })
	require.NoError(t, p.Release())
	deadline := time.Now().Add(30 * time.Second)
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-p.Done():
			text, _ := os.ReadFile(said.Name())
			t.Fatalf("%s ended: %s", path, text)
		default:
		}
		require.True(t, time.Now().Before(deadline), "%s does not listen on %s", path, address)
		time.Sleep(10 * time.Millisecond)
	}
}

func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// churnOverTLS loads a server with connections of five requests.
func churnOverTLS(t *testing.T, address string, o TLS) TargetReport {
	g := connected(t, Spec{Connections: 4, Churn: Churn{Requests: 5}, Queue: 100, TLS: &o, Expect: Expect{BodyBytes: 5}},
		Target{Name: "server", Address: address})
	r, err := g.Run(t.Context(), Window{Rate: 400, Duration: 250 * time.Millisecond})
	require.NoError(t, err)
	c := r.Targets[0]
	require.EqualValues(t, 100, c.Completed)
	// What was replaced at the very end is open before another window begins.
	r, err = g.Run(t.Context(), Window{Idle: true, Duration: time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, g.Close())
	last := r.Targets[0]
	require.Zero(t, last.HandshakesFull+last.HandshakesResumed)
	c.HandshakesFull += last.HandshakesFullBefore
	c.HandshakesResumed += last.HandshakesResumedBefore
	c.ConnectionsOpened += last.ConnectionsBefore
	require.Zero(t, c.HandshakesFailed)
	if full := c.HandshakesFull + c.HandshakesFullBefore; o.Resume {
		// BoringSSL gives the tickets of TLS 1.3 with the first answer only.
		require.Zero(t, c.HandshakesFull)
		require.Positive(t, c.HandshakesResumed)
	} else {
		require.Zero(t, c.HandshakesResumed+c.HandshakesResumedBefore)
		require.Positive(t, full)
	}
	return c
}

// Against nginx with OpenSSL: what the server logged of each connection is
// what we counted.
func TestTLSNginx(t *testing.T) {
	t.Parallel()
	bin, err := nginx.Find(t.Context())
	need.Skip(t, "nginx", err)
	a := newAuthority(t)
	cert, key, _ := a.leaf("server", true, nil)
	clientCert, clientKey, _ := a.leaf("client", true, nil)
	for i, o := range []TLS{
		{MaxVersion: "1.2"}, {MaxVersion: "1.2", Resume: true}, {MinVersion: "1.3"}, {MinVersion: "1.3", Resume: true},
		{MaxVersion: "1.2", Resume: true, Ciphers: []string{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"}},
		{MaxVersion: "1.2", Ciphers: []string{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}, Curves: []string{"P-384"}},
	} {
		dir, address := t.TempDir(), freeAddress(t)
		config := filepath.Join(dir, "nginx.conf")
		require.NoError(t, os.WriteFile(config, []byte(fmt.Sprintf(`
daemon off; master_process off; worker_processes 1; pid %[1]s/pid; error_log stderr;
events {}
http {
	log_format tls '$connection $ssl_protocol $ssl_session_reused $ssl_cipher $ssl_curve $ssl_client_verify $ssl_server_name';
	access_log %[1]s/log tls;
	client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	server {
		listen %[2]s ssl;
		ssl_certificate %[3]s; ssl_certificate_key %[4]s; ssl_protocols TLSv1.2 TLSv1.3; ssl_ecdh_curve X25519:P-256:P-384;
		ssl_client_certificate %[5]s; ssl_verify_client on;
		location / { return 200 "hello"; }
	}
}`, dir, address, cert, key, a.file)), 0o600))
		runServer(t, address, bin.Path, "-c", config, "-p", dir)
		o.CAFile, o.CertificateFile, o.KeyFile = a.file, clientCert, clientKey
		o.ServerName = "localhost"
		c := churnOverTLS(t, address, o)

		log, err := os.ReadFile(filepath.Join(dir, "log"))
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(string(log)), "\n")
		require.Len(t, lines, 100)
		full, resumed, seen := 0, 0, map[string]bool{}
		for _, line := range lines {
			f := strings.Fields(line)
			if seen[f[0]] {
				continue
			}
			seen[f[0]] = true
			if f[2] == "r" {
				resumed++
			} else {
				full++
			}
			require.Equal(t, "SUCCESS", f[5], line)
			require.Equal(t, "localhost", f[6], line)
			if len(o.Curves) > 0 {
				require.Equal(t, "secp384r1", f[4], line)
			}
			if i == 4 {
				require.Contains(t, f[3], "CHACHA20", line)
			}
		}
		// Those that carried a request: all but the ones open at the end.
		require.LessOrEqual(t, int64(len(seen)), c.ConnectionsBefore+c.ConnectionsOpened)
		require.GreaterOrEqual(t, len(seen), 20)
		if o.Resume {
			require.LessOrEqual(t, full, 1)
			require.EqualValues(t, 1, c.HandshakesFullBefore)
		} else {
			require.Zero(t, resumed)
		}
		t.Logf("%s: %d+%d handshakes full+resumed, nginx saw %d+%d, %s", lines[len(lines)-1],
			c.HandshakesFull+c.HandshakesFullBefore, c.HandshakesResumed+c.HandshakesResumedBefore, full, resumed, time.Duration(c.Handshake.P50))
	}
}

// Against Envoy with BoringSSL: its own counters are ours.
func TestTLSEnvoy(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	cert, key, _ := a.leaf("server", false, nil)
	clientCert, clientKey, _ := a.leaf("client", true, nil)
	for _, release := range []string{"1.36.2", "1.40.0"} {
		bin, err := envoy.Find(envoy.FindOptions{Version: release})
		need.Skip(t, "envoy", err)
		dir, address, adminAddress := t.TempDir(), freeAddress(t), freeAddress(t)
		config := filepath.Join(dir, "envoy.json")
		require.NoError(t, os.WriteFile(config, envoyOverTLS(t, address, adminAddress, cert, key, a.file), 0o600))
		runServer(t, adminAddress, bin.Path, "-c", config, "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "error")
		admin := envoy.NewAdmin(adminAddress)
		require.Eventually(t, func() bool { return admin.Ready(t.Context()) == nil }, 30*time.Second, 20*time.Millisecond)
		for _, o := range []TLS{{MaxVersion: "1.2"}, {MaxVersion: "1.2", Resume: true}, {MinVersion: "1.3"}, {MinVersion: "1.3", Resume: true}} {
			o.CAFile, o.CertificateFile, o.KeyFile = a.file, clientCert, clientKey
			before := envoyStats(t, admin)
			c := churnOverTLS(t, address, o)
			delta, err := envoyStats(t, admin).Since(before)
			require.NoError(t, err)
			full, resumed := c.HandshakesFull+c.HandshakesFullBefore, c.HandshakesResumed+c.HandshakesResumedBefore
			for name, want := range map[string]int64{
				"listener.tls.ssl.handshake":          full + resumed,
				"listener.tls.ssl.session_reused":     resumed,
				"listener.tls.ssl.connection_error":   0,
				"http.tls.downstream_rq_2xx":          c.Completed,
				"http.tls.downstream_cx_ssl_total":    full + resumed,
				"listener.tls.downstream_cx_total":    full + resumed,
				"http.tls.downstream_rq_completed":    c.Completed,
				"listener.tls.downstream_cx_overflow": 0,
			} {
				got, ok := delta.Counter(name)
				require.True(t, ok || want == 0, name)
				require.Equal(t, want, got, "%s of Envoy %s, TLS %+v", name, release, o)
			}
			t.Logf("Envoy %s, TLS %s%s: %d full, %d resumed, as Envoy counts; %s", release, o.MinVersion, o.MaxVersion, full, resumed, time.Duration(c.Handshake.P50))
		}
	}
}

func envoyStats(t *testing.T, admin *envoy.Admin) envoy.Stats {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	stats, err := admin.Stats(ctx)
	require.NoError(t, err)
	return stats
}

// envoyOverTLS answers hello itself, to clients with a certificate.
func envoyOverTLS(t *testing.T, address, admin, cert, key, ca string) []byte {
	socket := func(address string) map[string]any {
		host, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		var n int
		_, err = fmt.Sscan(port, &n)
		require.NoError(t, err)
		return map[string]any{"socket_address": map[string]any{"address": host, "port_value": n}}
	}
	type m = map[string]any
	const v3 = "type.googleapis.com/envoy.extensions."
	text, err := json.Marshal(m{
		"admin": m{"address": socket(admin)},
		"static_resources": m{"listeners": []m{{
			"name": "tls", "stat_prefix": "tls", "address": socket(address),
			"filter_chains": []m{{
				"transport_socket": m{"name": "tls", "typed_config": m{
					"@type":                      v3 + "transport_sockets.tls.v3.DownstreamTlsContext",
					"require_client_certificate": true,
					"common_tls_context": m{
						"tls_certificates":   []m{{"certificate_chain": m{"filename": cert}, "private_key": m{"filename": key}}},
						"validation_context": m{"trusted_ca": m{"filename": ca}},
						"alpn_protocols":     []string{"h2", "http/1.1"},
					},
				}},
				"filters": []m{{"name": "hcm", "typed_config": m{
					"@type": v3 + "filters.network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": "tls",
					"http_filters": []m{{"name": "router", "typed_config": m{"@type": v3 + "filters.http.router.v3.Router"}}},
					"route_config": m{"virtual_hosts": []m{{"name": "all", "domains": []string{"*"}, "routes": []m{{
						"match": m{"prefix": "/"}, "direct_response": m{"status": 200, "body": m{"inline_string": "hello"}},
					}}}}},
				}}},
			}},
		}}},
	})
	require.NoError(t, err)
	return text
}

// A chain with an authority between, and a client that is shown more than the
// leaf.
func TestTLSChain(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	cert, key := a.between(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	require.Len(t, pair.Certificate, 2)
	s := newTLSServer(t, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool})
	g := connected(t, Spec{Connections: 10, TLS: &TLS{CAFile: a.file, CertificateFile: cert, KeyFile: key}}, s.target)
	require.EqualValues(t, 10, runWindow(t, g, Window{Rate: 100, Duration: 100 * time.Millisecond}).Total().Completed)
	require.Equal(t, "leaf", s.clientCertificate.Load())

	pair.Certificate = pair.Certificate[:1]
	s = newTLSServer(t, &tls.Config{Certificates: []tls.Certificate{pair}})
	short, err := New(Spec{Connections: 2, TLS: &TLS{CAFile: a.file}}, []Target{s.target})
	require.NoError(t, err)
	defer short.Close()
	err = short.Connect(t.Context())
	requireTLSError(t, err)
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown)
}

// An answer that is cut off is no answer, over TLS too.
func TestTLSServerClosesMidAnswer(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, _, pair := a.leaf("server", false, nil)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	require.NoError(t, err)
	s := scriptOn(t, l, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		for k := 0; s.request(in); k++ {
			if n == 0 && k == 1 {
				c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"))
				return
			}
			c.Write([]byte(okAnswer))
		}
	})
	g := connected(t, Spec{Connections: 2, Queue: 100, TLS: &TLS{CAFile: a.file}}, s.target())
	r, err := g.Run(t.Context(), Window{Rate: 100, Duration: 200 * time.Millisecond})
	require.NoError(t, err)
	c := r.Total()
	require.EqualValues(t, 1, c.FailedBy.Closed)
	require.EqualValues(t, 19, c.Completed)
	require.EqualValues(t, 1, c.ConnectionsClosed)
	require.Equal(t, c.ConnectionsOpened+2, s.accepted.Load())
}
