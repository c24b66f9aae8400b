package loadgen

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/nginx"
	"github.com/tareperf/tare/internal/realserver"
)

// h2cTarget is a net/http server of HTTP/2 without TLS.
func h2cTarget(t testing.TB, h http.HandlerFunc) Target {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return Target{Name: "net/http", Address: strings.TrimPrefix(s.URL, "http://")}
}

// What net/http gets is what was asked for: head, headers in sets, body.
func TestH2AgainstGo(t *testing.T) {
	const body, answer = 100_000, 70_000 // both above the windows that HTTP/2 starts with
	var served, wrong atomic.Int64
	target := h2cTarget(t, func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n != body || r.ContentLength != body || r.Proto != "HTTP/2.0" || r.Method != "POST" || r.URL.String() != "/a?b=c" ||
			r.Host != "some.host" || r.Header.Get("X-User") != "value" || len(r.Header.Get("X-Tare-0004")) != 40-len("X-Tare-0004") {
			wrong.Add(1)
		}
		w.Header().Set("X-Count", strconv.FormatInt(served.Load(), 10)) // a new entry of the table each time
		w.WriteHeader(201)
		w.Write(make([]byte, answer))
	})
	for _, workers := range []int{1, 2} {
		served.Store(0)
		g := connected(t, Spec{
			Protocol: H2C, Connections: 4, Streams: 100, Workers: workers, Method: "POST", Path: "/a?b=c", Host: "some.host",
			Headers: []Header{{"X-User", "value"}}, Generated: GeneratedHeaders{Count: 5, Bytes: 40, Sets: 3}, BodyBytes: body,
			Expect: Expect{Status: 201, BodyBytes: answer},
		}, target)
		c := runH2(t, g, Window{Rate: 300, Duration: 500 * time.Millisecond})
		require.EqualValues(t, 150, c.Completed)
		require.EqualValues(t, 150, served.Load())
		require.Zero(t, wrong.Load())
		require.EqualValues(t, 150*answer, c.BodyBytes)
		require.Greater(t, c.BytesOut, int64(150*body))
	}
}

// Two targets get the same number of requests, over connections of their own.
func TestH2Duet(t *testing.T) {
	var served [2]atomic.Int64
	var targets []Target
	for i := range served {
		targets = append(targets, h2cTarget(t, func(w http.ResponseWriter, r *http.Request) {
			served[i].Add(1)
			io.WriteString(w, r.Host)
		}))
	}
	g := connected(t, Spec{Protocol: H2C, Connections: 4, Streams: 100, Workers: 2}, targets...)
	r := runWindow(t, g, Window{Rate: 400, Duration: 500 * time.Millisecond})
	for i := range served {
		require.EqualValues(t, 200, served[i].Load())
		require.EqualValues(t, 200, r.Targets[i].Completed)
		require.EqualValues(t, 200*len(targets[i].Address), r.Targets[i].BodyBytes)
	}
}

// The price of a header table, in both directions, with the bytes of each
// request the same from the second one on.
func TestH2HeaderTableBytes(t *testing.T) {
	target := h2cTarget(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("v", 200))
	})
	bytes := func(h H2) (out, in int64) {
		g := connected(t, Spec{Protocol: H2C, Connections: 1, H2: h, Generated: GeneratedHeaders{Count: 20, Bytes: 100}}, target)
		runH2(t, g, Window{Rate: 100, Duration: 100 * time.Millisecond})
		c := runH2(t, g, Window{Rate: 100, Duration: 100 * time.Millisecond})
		require.EqualValues(t, 10, c.Completed)
		return c.HeaderBytesOut / c.Completed, c.HeaderBytesIn / c.Completed
	}
	out, in := bytes(H2{})
	noneOut, noneIn := bytes(H2{HeaderTable: -1, AnswerHeaderTable: -1})
	t.Logf("with tables %d bytes out, %d in; without %d, %d", out, in, noneOut, noneIn)
	require.Less(t, out, int64(40))
	require.Greater(t, noneOut, int64(1000))
	require.Less(t, in+100, noneIn)
}

// Real servers: every request is answered, and the server has counted the
// same.
func TestH2AgainstRealServers(t *testing.T) {
	for name, start := range map[string]func(context.Context, realserver.Options) (*realserver.Server, error){
		"nginx": realserver.StartNginx, "envoy": realserver.StartEnvoy, "haproxy": realserver.StartHAProxy, "apache2": realserver.StartApache,
		"envoy-1.36.2": func(ctx context.Context, o realserver.Options) (*realserver.Server, error) {
			o.Version = "1.36.2"
			return realserver.StartEnvoy(ctx, o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			dir := t.TempDir()
			require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // for Apache, which is another user
			s, err := start(ctx, realserver.Options{Dir: dir, BodySize: 1234})
			if errors.Is(err, realserver.ErrNotFound) {
				need.Skip(t, name, err)
			}
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Stop()) }()
			for _, over := range []struct {
				protocol Protocol
				address  string
				tls      *TLS
			}{{H2C, s.H2C, nil}, {HTTP2, s.TLS, &TLS{CAFile: s.Certificate}}} {
				var before int64
				require.Eventually(t, func() bool { // Apache makes its log a moment after it listens
					before, err = s.Requests(ctx)
					return err == nil
				}, 5*time.Second, 20*time.Millisecond)
				g := connected(t, Spec{Protocol: over.protocol, TLS: over.tls, Connections: 8, Streams: 10, Expect: Expect{BodyBytes: 1234}}, Target{name, over.address})
				c := runH2(t, g, Window{Rate: 1000, Duration: time.Second / 2})
				require.EqualValues(t, 500, c.Completed+c.Overflow)
				require.Equal(t, c.Sent, c.Completed)
				require.Zero(t, c.ConnectionsClosed+c.Resent+c.Resets+c.GoAways)
				require.Equal(t, over.tls != nil, c.HandshakesFullBefore == 8)
				require.NoError(t, g.Close()) // Apache counts the last request of a connection when something else happens on it
				var counted int64
				for deadline := time.Now().Add(5 * time.Second); counted != c.Completed && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
					after, err := s.Requests(ctx)
					require.NoError(t, err)
					counted = after - before
				}
				require.Equal(t, c.Completed, counted)
				t.Logf("%s over %s: %d answered, %d bytes of heads out and %d in for each", s.Name, over.protocol, c.Completed, c.HeaderBytesOut/c.Completed, c.HeaderBytesIn/c.Completed)
			}
		})
	}
}

// nginx closes a connection of HTTP/2 after so many requests, by a GOAWAY
// with streams open (golang/go#18112, with more than one of them).
func TestReportGo18112NginxClosesAfterRequests(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	binary, err := nginx.Find(ctx)
	if err != nil {
		need.Skip(t, "nginx", err)
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	l.Close()
	config := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/log warn; events {} http { access_log off;
client_body_temp_path %[1]s/1; proxy_temp_path %[1]s/2; fastcgi_temp_path %[1]s/3; uwsgi_temp_path %[1]s/4; scgi_temp_path %[1]s/5;
server { listen %[2]s http2; keepalive_requests 50; location / { return 200 "ok"; } } }`, dir, address)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o644))
	c := exec.CommandContext(ctx, binary.Path, "-c", filepath.Join(dir, "nginx.conf"), "-e", filepath.Join(dir, "log"))
	c.Stderr = os.Stderr
	require.NoError(t, c.Start())
	defer func() {
		c.Process.Signal(syscall.SIGTERM)
		c.Wait()
	}()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 10*time.Second, 5*time.Millisecond)
	spec := h2cSpec(4, 10)
	spec.Arrival, spec.BurstSize = Burst, 12
	g := connected(t, spec, Target{"nginx", address})
	got := runH2(t, g, Window{Rate: 1200, Duration: time.Second})
	require.Zero(t, got.Failed)
	require.Equal(t, got.Sent, got.Completed)
	require.Positive(t, got.GoAways)
	require.GreaterOrEqual(t, got.GoAways, got.Completed/50-4) // four connections have not come to their end
	require.Equal(t, got.GoAways, got.ConnectionsClosed)
	t.Logf("%d answered, %d GOAWAY, %d sent again, %d overflow", got.Completed, got.GoAways, got.Resent, got.Overflow)
}

// grpcTarget speaks gRPC with net/http: it answers each message with one, and
// with none if the service is "None"; the last part of the path may be a
// status.
func grpcTarget(t testing.TB, messages *atomic.Int64) Target {
	return h2cTarget(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, status, _ := strings.Cut(r.URL.Path[1:], "/")
		defer func() { w.Header().Set("Grpc-Status", status) }()
		if r.Header.Get("Te") != "trailers" || r.Header.Get("Content-Type") != "application/grpc" || r.Method != "POST" {
			status = "13"
			return
		}
		if strings.HasPrefix(r.URL.Path, "/Only/") { // an answer of nothing but trailers
			w.Header().Del("Trailer")
			return
		}
		w.WriteHeader(200)
		http.NewResponseController(w).Flush()
		for {
			var prefix [grpcPrefix]byte
			if _, err := io.ReadFull(r.Body, prefix[:]); err != nil {
				return
			}
			message := make([]byte, binary.BigEndian.Uint32(prefix[1:]))
			if _, err := io.ReadFull(r.Body, message); err != nil {
				return
			}
			messages.Add(1)
			times := 1
			switch {
			case strings.HasPrefix(r.URL.Path, "/None/"):
				times = 0
			case strings.HasPrefix(r.URL.Path, "/Many/"):
				times = 7
			}
			for range times {
				w.Write(grpcMessage(string(message)))
			}
			http.NewResponseController(w).Flush()
		}
	})
}

// Unary calls and all kinds of streams, and the statuses that are wrong.
func TestGRPCAgainstGo(t *testing.T) {
	const calls, size = 20, 1000
	var received atomic.Int64
	target := grpcTarget(t, &received)
	for _, k := range []struct {
		name    string
		path    string
		grpc    GRPC
		answers int64 // messages of one call
		failed  func(*Failures)
	}{
		{name: "unary", path: "/Echo/0", answers: 1},
		{name: "client streaming", path: "/Echo/0", grpc: GRPC{Messages: 5, Answers: 5}, answers: 5},
		{name: "server streaming", path: "/Many/0", grpc: GRPC{Answers: 7}, answers: 7},
		{name: "bidirectional", path: "/Echo/0", grpc: GRPC{Messages: 50, Answers: 50}, answers: 50},
		{name: "lockstep", path: "/Echo/0", grpc: GRPC{Messages: 10, Answers: 10, Lockstep: true}, answers: 10},
		{name: "any number", path: "/Many/0", grpc: GRPC{Messages: 2, Answers: -1}, answers: 14},
		{name: "expected status", path: "/None/5", grpc: GRPC{Status: 5}},
		{name: "trailers only", path: "/Only/7", grpc: GRPC{Status: 7}},
		{name: "wrong status", path: "/Echo/14", answers: 1, failed: func(f *Failures) { f.GRPC = calls }},
		{name: "no status", path: "/Echo/", answers: 1, failed: func(f *Failures) { f.GRPC = calls }},
		{name: "too few answers", path: "/None/0", failed: func(f *Failures) { f.Body = calls }},
		{name: "too many", path: "/Many/0", answers: 7, failed: func(f *Failures) { f.Body = calls }},
	} {
		t.Run(k.name, func(t *testing.T) {
			received.Store(0)
			g := connected(t, Spec{Protocol: H2C, Connections: 2, Streams: 20, Path: k.path, GRPC: &k.grpc, BodyBytes: size}, target)
			c := runH2(t, g, Window{Rate: 100, Duration: calls * time.Second / 100})
			var want Failures
			if k.failed != nil {
				k.failed(&want)
			}
			require.Equal(t, want, c.FailedBy)
			require.EqualValues(t, calls, c.Completed+c.Failed)
			require.Equal(t, calls*k.answers, c.MessagesIn)
			require.EqualValues(t, calls*max(k.grpc.Messages, 1), c.MessagesOut)
			if !strings.HasPrefix(k.path, "/Only/") {
				require.Equal(t, c.MessagesOut, received.Load())
			}
			if k.failed == nil {
				require.Equal(t, calls*k.answers*size, c.BodyBytes)
			}
		})
	}
}
