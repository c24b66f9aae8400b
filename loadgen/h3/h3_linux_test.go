package h3

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"
	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/realserver"
	"github.com/tareperf/tare/loadgen"
)

// served is quic-go's own server, which counts.
type served struct {
	server      *http3.Server
	address     string
	certificate string
	requests    atomic.Int64
}

func serve(t *testing.T, h http.HandlerFunc) *served {
	s := &served{}
	certificate, key, err := realserver.WriteCertificate(t.TempDir())
	require.NoError(t, err)
	s.certificate = certificate
	pair, err := tls.LoadX509KeyPair(certificate, key)
	require.NoError(t, err)
	s.server = &http3.Server{
		TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{pair}}),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.requests.Add(1)
			h(w, r)
		}),
	}
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	s.address = socket.LocalAddr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.server.Serve(socket) // ends with Close
	}()
	t.Cleanup(func() {
		s.server.Close()
		<-done
		socket.Close()
	})
	return s
}

func (s *served) generator(t *testing.T, spec loadgen.Spec) *Generator {
	spec.TLS = &loadgen.TLS{CAFile: s.certificate}
	if spec.MaxLate == 0 {
		spec.MaxLate = time.Hour // this machine is busy
	}
	g, err := New(spec, []loadgen.Target{{Name: "served", Address: s.address}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, g.Connect(ctx))
	return g
}

func run(t *testing.T, g *Generator, w loadgen.Window) loadgen.Report {
	r, err := g.Run(t.Context(), w)
	require.NoError(t, err)
	require.NoError(t, r.Check())
	for _, tr := range r.Targets {
		require.Equal(t, tr.Planned, tr.Scheduled)
		require.Equal(t, tr.Completed, tr.Response.Count)
		require.Equal(t, tr.Completed, tr.Service.Count)
	}
	c := r.Total()
	require.Equal(t, c.Sent, r.Generator.Lateness.Count)
	batched := int64(0)
	for _, b := range r.Generator.Batches {
		batched += int64(b.Size) * b.Count
	}
	require.LessOrEqual(t, batched, c.Sent)
	require.GreaterOrEqual(t, r.EndNanoseconds-r.StartNanoseconds, int64(w.Duration))
	return r
}

func ok(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello") }

func TestCountsEqualTheServersOwn(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	g := s.generator(t, loadgen.Spec{Connections: 4, Expect: loadgen.Expect{BodyBytes: 5}})
	for range 2 {
		before := s.requests.Load()
		r := run(t, g, loadgen.Window{Rate: 300, Duration: time.Second, Seed: 1})
		c := r.Total()
		require.EqualValues(t, 300, c.Completed)
		require.EqualValues(t, 300, s.requests.Load()-before)
		require.EqualValues(t, 1500, c.BodyBytes)
		require.Zero(t, c.ConnectionsOpened+c.ConnectionsClosed)
		require.Positive(t, c.TLSBytesOut)
		require.Positive(t, c.TLSBytesIn)
		require.EqualValues(t, -1, c.BytesOut)
		require.LessOrEqual(t, r.Targets[0].Service.Max, r.Targets[0].Response.Max)
		require.Positive(t, r.Targets[0].AnswersLeast)
		t.Logf("%d µs of CPU for a request, server included; late by %v, p99", r.Generator.ProcessCPUNanoseconds/c.Completed/1000, time.Duration(r.Generator.Lateness.P99))
	}
	r := run(t, g, loadgen.Window{Rate: 100, Duration: 200 * time.Millisecond, WarmUp: 200 * time.Millisecond})
	require.EqualValues(t, 20, r.Targets[0].WarmUp.Completed)
	require.EqualValues(t, 20, r.Total().Completed)
	require.EqualValues(t, 640, s.requests.Load())
}

func TestPostWithBody(t *testing.T) {
	t.Parallel()
	var bytes atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		bytes.Add(n)
		if r.Method != "POST" || r.URL.Path != "/p" || r.Header.Get("x-a") != "b" || r.ContentLength != 1000 {
			w.WriteHeader(400)
		}
	})
	g := s.generator(t, loadgen.Spec{Connections: 2, Method: "POST", Path: "/p", BodyBytes: 1000, Headers: []loadgen.Header{{Name: "X-A", Value: "b"}}})
	require.EqualValues(t, 50, run(t, g, loadgen.Window{Rate: 100, Duration: 500 * time.Millisecond}).Total().Completed)
	require.EqualValues(t, 50_000, bytes.Load())
}

// Each wrong answer is in its class, and nowhere else.
func TestWrongAnswersAreFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		spec   loadgen.Spec
		want   loadgen.Failures
	}{
		"status": {func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) }, loadgen.Spec{}, loadgen.Failures{Status: 20}},
		"body":   {ok, loadgen.Spec{Expect: loadgen.Expect{BodyBytes: 4}}, loadgen.Failures{Body: 20}},
		"reset":  {func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, loadgen.Spec{}, loadgen.Failures{Reset: 20}},
		"timeout": {func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, loadgen.Spec{Timeout: 3 * time.Second},
			loadgen.Failures{Timeout: 20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer)
			c.spec.Connections = 2
			r := run(t, s.generator(t, c.spec), loadgen.Window{Rate: 100, Duration: 200 * time.Millisecond})
			require.Equal(t, c.want, r.Total().FailedBy)
			require.EqualValues(t, 20, r.Total().Failed)
		})
	}
}

// A stalled server makes overflow and requests in flight at the end; nothing is
// queued or lost from the counts.
func TestStalledServer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { <-release })
	defer close(release)
	g := s.generator(t, loadgen.Spec{Connections: 2, Streams: 5})
	r := run(t, g, loadgen.Window{Rate: 100, Duration: 500 * time.Millisecond, Drain: 50 * time.Millisecond})
	c := r.Total()
	require.EqualValues(t, 50, c.Scheduled)
	require.EqualValues(t, 10, c.Sent)
	require.EqualValues(t, 40, c.OverflowBusy)
	require.EqualValues(t, 10, c.InFlightAtEnd)
	require.EqualValues(t, 10, c.MaxInFlight)
	require.EqualValues(t, 10, r.Generator.Lateness.Count)
}

func TestInterruptedWindowIsReportedWhole(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	g := s.generator(t, loadgen.Spec{Connections: 2})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r, err := g.Run(ctx, loadgen.Window{Rate: 100, Duration: time.Minute})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, r.Check())
	require.True(t, r.Interrupted)
	c := r.Total()
	require.EqualValues(t, 6000, c.Planned)
	require.Positive(t, c.Completed)
	require.Less(t, c.Scheduled, int64(6000))
	require.GreaterOrEqual(t, s.requests.Load(), c.Completed)
	require.LessOrEqual(t, s.requests.Load(), c.Sent)
}

// A server that goes away is closed connections and then overflow.
func TestServerThatCloses(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	g := s.generator(t, loadgen.Spec{Connections: 3, Timeout: 3 * time.Second})
	go func() {
		time.Sleep(200 * time.Millisecond)
		s.server.Close()
	}()
	r := run(t, g, loadgen.Window{Rate: 100, Duration: time.Second})
	c := r.Total()
	require.EqualValues(t, 100, c.Scheduled)
	require.EqualValues(t, 3, c.ConnectionsClosed)
	require.Positive(t, c.OverflowDown)
	require.Equal(t, c.Failed, c.FailedBy.Closed)
	_, err := g.Run(t.Context(), loadgen.Window{Rate: 100, Duration: time.Second})
	var connect *loadgen.ConnectError
	require.ErrorAs(t, err, &connect)
}

func TestCertificateThatDoesNotVerify(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	g, err := New(loadgen.Spec{Connections: 1}, []loadgen.Target{{Name: "s", Address: s.address}}) // the system's authorities
	require.NoError(t, err)
	defer g.Close()
	var connect *loadgen.ConnectError
	require.ErrorAs(t, g.Connect(t.Context()), &connect)
	require.Equal(t, loadgen.ConnectTLS, connect.Class)
	_, err = g.Run(t.Context(), loadgen.Window{Rate: 1, Duration: time.Second})
	require.Error(t, err)
	require.Zero(t, s.requests.Load())
}

func TestWhatIsNotSupportedIsRefused(t *testing.T) {
	t.Parallel()
	target := []loadgen.Target{{Name: "x", Address: "127.0.0.1:1"}}
	for _, s := range []loadgen.Spec{
		{Protocol: loadgen.HTTP1}, {Workers: 2}, {GRPC: &loadgen.GRPC{}}, {Queue: 1}, {Churn: loadgen.Churn{Requests: 1}},
		{Generated: loadgen.GeneratedHeaders{Count: 1}}, {Reuse: loadgen.MostRecent}, {TLS: &loadgen.TLS{Resume: true}}, {Rate: -1},
	} {
		_, err := New(s, target)
		var invalid *loadgen.InvalidError
		require.ErrorAs(t, err, &invalid, "%+v", s)
	}
	g, err := New(loadgen.Spec{Protocol: Protocol}, target)
	require.NoError(t, err)
	for _, w := range []loadgen.Window{{InFlight: 1, Duration: 1}, {Idle: true, Duration: 1}, {Rate: 1}, {Duration: 1}} {
		_, err := g.Run(t.Context(), w)
		var invalid *loadgen.InvalidError
		require.ErrorAs(t, err, &invalid, "%+v", w)
	}
	require.NoError(t, g.Close())
	_, err = g.Run(t.Context(), loadgen.Window{Rate: 1, Duration: time.Second})
	require.ErrorIs(t, err, loadgen.ErrClosed)
	require.ErrorIs(t, g.Connect(t.Context()), loadgen.ErrClosed)
}

// Envoy's listener for HTTP/3 counts what this says it sent.
func TestEnvoyCountsTheSame(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.36.2", "1.40.0"} {
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s, err := realserver.StartEnvoy(ctx, realserver.Options{Dir: dir, BodySize: 1000, Version: version, QUIC: true})
			if errors.Is(err, realserver.ErrNotFound) {
				need.Skip(t, "envoy", err)
			}
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Stop()) }()
			before, err := s.Requests(ctx)
			require.NoError(t, err)
			spec := loadgen.Spec{Connections: 8, MaxLate: time.Hour, TLS: &loadgen.TLS{CAFile: s.Certificate}, Expect: loadgen.Expect{BodyBytes: 1000}}
			g, err := New(spec, []loadgen.Target{{Name: s.Name, Address: s.QUIC}})
			require.NoError(t, err)
			defer g.Close()
			require.NoError(t, g.Connect(ctx))
			r := run(t, g, loadgen.Window{Rate: 500, Duration: 2 * time.Second})
			after, err := s.Requests(ctx)
			require.NoError(t, err)
			c := r.Total()
			require.EqualValues(t, 1000, c.Completed)
			require.EqualValues(t, 1000, after-before)
			t.Logf("%s: %d µs of CPU for a request, response p99 %v", s.Name, r.Generator.ProcessCPUNanoseconds/c.Completed/1000, time.Duration(r.Targets[0].Response.P99))
		})
	}
}
