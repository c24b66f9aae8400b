package loadgen

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func requireTLSError(t *testing.T, err error) {
	t.Helper()
	var failed *ConnectError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, ConnectTLS, failed.Class, "%v", err)
}

// tlsServer is a net/http server over TLS. It counts what it saw.
type tlsServer struct {
	target            Target
	requests          atomic.Int64
	full, resumed     atomic.Int64 // by connections that carried a request
	names, protocols  atomic.Value // of the last handshake
	clientCertificate atomic.Value
}

func newTLSServer(t testing.TB, config *tls.Config) *tlsServer {
	s := &tlsServer{}
	var seen sync.Map
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if _, again := seen.LoadOrStore(r.RemoteAddr, true); !again {
			if r.TLS.DidResume {
				s.resumed.Add(1)
			} else {
				s.full.Add(1)
			}
			s.names.Store(r.TLS.ServerName)
			s.protocols.Store(r.TLS.NegotiatedProtocol)
			if len(r.TLS.PeerCertificates) > 0 {
				s.clientCertificate.Store(r.TLS.PeerCertificates[0].Subject.CommonName)
			}
		}
		io.Copy(io.Discard, r.Body)
		w.Write(make([]byte, 4096))
	}))
	h.TLS = config
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.StartTLS()
	t.Cleanup(h.Close)
	s.target = Target{Name: "tls", Address: strings.TrimPrefix(h.URL, "https://")}
	return s
}

// N requests for each connection are ceil(sent/N) handshakes, and they are
// full ones or resumed ones as asked: but for the first, all of them.
func TestTLSChurnCountsHandshakes(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, _, pair := a.leaf("server", false, nil)
	for _, version := range []string{"1.2", "1.3"} {
		for _, resume := range []bool{false, true} {
			const each, connections = 5, 8
			s := newTLSServer(t, &tls.Config{Certificates: []tls.Certificate{pair}})
			g := connected(t, Spec{
				Connections: connections, Churn: Churn{Requests: each},
				TLS: &TLS{CAFile: a.file, MinVersion: version, MaxVersion: version, Resume: resume},
			}, s.target)
			r := runWindow(t, g, Window{Rate: 400, Duration: 500 * time.Millisecond})
			c := r.Targets[0]
			require.Zero(t, c.Failed+c.HandshakesFailed)
			handshakes := c.HandshakesFull + c.HandshakesResumed
			before := c.HandshakesFullBefore + c.HandshakesResumedBefore
			require.EqualValues(t, connections, before)
			require.Equal(t, c.ConnectionsOpened, handshakes)
			require.Equal(t, handshakes, c.Handshake.Count)
			if resume {
				require.EqualValues(t, 1, c.HandshakesFull+c.HandshakesFullBefore, "TLS %s", version)
			} else {
				require.Zero(t, c.HandshakesResumed+c.HandshakesResumedBefore, "TLS %s", version)
			}
			// Those that carried something are ceil(sent/N); first lives are
			// shorter where the ends are spread, which is at most one more for
			// each connection, as are those open at the end.
			all := s.full.Load() + s.resumed.Load()
			require.GreaterOrEqual(t, all, (c.Sent+each-1)/each)
			require.LessOrEqual(t, before+handshakes, (c.Sent+each-1)/each+2*connections)
			require.LessOrEqual(t, all, before+handshakes)
			if resume {
				require.LessOrEqual(t, s.full.Load(), int64(1))
			} else {
				require.Zero(t, s.resumed.Load())
			}
			require.Positive(t, r.Generator.HandshakeCPUNanoseconds)
			require.Greater(t, c.TLSBytesOut, c.BytesOut)
			require.Greater(t, c.TLSBytesIn, c.BytesIn)
			t.Logf("TLS %s resume %v: sent %d, handshakes %d+%d full, %d+%d resumed, median %v, CPU of one %v", version, resume, c.Sent,
				c.HandshakesFullBefore, c.HandshakesFull, c.HandshakesResumedBefore, c.HandshakesResumed,
				time.Duration(c.Handshake.P50), time.Duration(r.Generator.HandshakeCPUNanoseconds/max(1, handshakes)))
		}
	}
}

// Exactly ceil(sent/N), where one connection follows the other.
func TestTLSOneConnectionAfterTheOther(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, _, pair := a.leaf("server", false, nil)
	s := newTLSServer(t, &tls.Config{Certificates: []tls.Certificate{pair}})
	g := connected(t, Spec{
		Connections: 1, Churn: Churn{Requests: 7}, Queue: 100, TLS: &TLS{CAFile: a.file, Resume: true},
	}, s.target)
	r, err := g.Run(t.Context(), Window{Rate: 200, Duration: 500 * time.Millisecond})
	require.NoError(t, err)
	c := r.Targets[0]
	require.EqualValues(t, 100, c.Completed)
	require.EqualValues(t, 15, s.full.Load()+s.resumed.Load()) // ceil(100/7)
	require.EqualValues(t, 14, s.resumed.Load())
	require.EqualValues(t, 15, c.HandshakesFull+c.HandshakesFullBefore+c.HandshakesResumed)
}

// The handshakes of several workers and targets, each with its own sessions.
func TestTLSWorkersAndTargets(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, _, pair := a.leaf("server", false, nil)
	one := newTLSServer(t, &tls.Config{Certificates: []tls.Certificate{pair}})
	two := newTLSServer(t, &tls.Config{Certificates: []tls.Certificate{pair}})
	g := connected(t, Spec{Connections: 6, Workers: 2, Churn: Churn{Requests: 3}, TLS: &TLS{CAFile: a.file, Resume: true}}, one.target, two.target)
	r := runWindow(t, g, Window{Rate: 150, Duration: 500 * time.Millisecond})
	for i, s := range []*tlsServer{one, two} {
		c := r.Targets[i]
		require.Zero(t, c.Failed+c.HandshakesFailed)
		require.EqualValues(t, 2, c.HandshakesFull+c.HandshakesFullBefore) // the first of each worker
		require.Equal(t, c.Sent, s.requests.Load())
		require.LessOrEqual(t, s.full.Load(), int64(2))
	}
}

// Client certificates, SNI and ALPN arrive at the server as asked.
func TestTLSClientCertificateNameAndProtocol(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, _, pair := a.leaf("server", true, func(c *x509.Certificate) { c.DNSNames = []string{"shop.example"} })
	for _, useRSA := range []bool{false, true} {
		cert, key, _ := a.leaf("client", useRSA, nil)
		for _, version := range []string{"1.2", "1.3"} {
			s := newTLSServer(t, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool})
			o := TLS{CAFile: a.file, MinVersion: version, MaxVersion: version, ServerName: "shop.example", CertificateFile: cert, KeyFile: key}
			g := connected(t, Spec{Connections: 20, TLS: &o}, s.target)
			require.EqualValues(t, 20, runWindow(t, g, Window{Rate: 100, Duration: 200 * time.Millisecond}).Total().Completed)
			require.Equal(t, "client", s.clientCertificate.Load())
			require.Equal(t, "shop.example", s.names.Load())
			require.Equal(t, "http/1.1", s.protocols.Load())

			// Without a certificate TLS 1.2 refuses in the handshake, and TLS 1.3
			// behind it: no request is ever completed.
			o.CertificateFile, o.KeyFile = "", ""
			bare, err := New(Spec{Connections: 2, TLS: &o, MaxLate: time.Hour}, []Target{s.target})
			require.NoError(t, err)
			defer bare.Close()
			err = bare.Connect(t.Context())
			if version == "1.2" {
				requireTLSError(t, err)
				continue
			}
			if err == nil {
				r, err := bare.Run(t.Context(), Window{Rate: 50, Duration: 200 * time.Millisecond})
				if err == nil {
					require.NoError(t, r.Check())
					require.Zero(t, r.Total().Completed)
				}
			}
		}
	}
}

// What does not verify is named before a request is sent, and Insecure takes
// it.
func TestTLSRefusesBeforeTheRun(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	_, _, good := a.leaf("good", false, nil)
	_, _, expired := a.leaf("expired", false, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	_, _, name := a.leaf("name", false, func(c *x509.Certificate) { c.IPAddresses = nil })
	serve := func(p tls.Certificate, change func(*tls.Config)) *tlsServer {
		c := &tls.Config{Certificates: []tls.Certificate{p}}
		if change != nil {
			change(c)
		}
		return newTLSServer(t, c)
	}
	plain := newScript(t, func(_ *script, c net.Conn, in *bufio.Reader, _ int) {
		in.ReadByte()
		io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	closes := newScript(t, func(*script, net.Conn, *bufio.Reader, int) {})
	for what, test := range map[string]struct {
		target Target
		tls    TLS
		text   string
	}{
		"unknown authority":  {serve(good, nil).target, TLS{CAFile: other.file}, "unknown authority"},
		"system authorities": {serve(good, nil).target, TLS{}, "unknown authority"},
		"expired":            {serve(expired, nil).target, TLS{CAFile: a.file}, "expired"},
		"another name":       {serve(name, nil).target, TLS{CAFile: a.file}, "127.0.0.1"},
		"old version":        {serve(good, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }).target, TLS{CAFile: a.file, MinVersion: "1.3"}, "protocol version"},
		"no common cipher": {serve(good, func(c *tls.Config) { c.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256} }).target,
			TLS{CAFile: a.file, MaxVersion: "1.2", Ciphers: []string{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}}, "handshake failure"},
		"no common protocol": {serve(good, func(c *tls.Config) { c.NextProtos = []string{"acme"} }).target, TLS{CAFile: a.file}, "no application protocol"},
		"plain server":       {plain.target(), TLS{CAFile: a.file}, "does not look like a TLS handshake"},
		"closes":             {closes.target(), TLS{CAFile: a.file}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			g, err := New(Spec{Connections: 4, TLS: &test.tls}, []Target{test.target})
			require.NoError(t, err)
			defer g.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			err = g.Connect(ctx)
			requireTLSError(t, err)
			require.ErrorContains(t, err, test.text)
			require.NoError(t, ctx.Err())
			if test.target == plain.target() || test.target == closes.target() || strings.Contains(what, "common") || what == "old version" {
				return
			}
			insecure := connected(t, Spec{Connections: 5, TLS: &TLS{Insecure: true}}, test.target)
			require.EqualValues(t, 5, runWindow(t, insecure, Window{Rate: 50, Duration: 100 * time.Millisecond}).Total().Completed)
		})
	}
	require.Zero(t, plain.requests.Load())
}

// A certificate that is changed for a bad one in the middle: what cannot be
// opened any more is counted, with its reason, and no arrival is forgotten.
func TestTLSCertificateThatChangesMidRun(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	_, _, good := a.leaf("good", false, nil)
	_, _, bad := other.leaf("bad", false, nil)
	var handshakes atomic.Int64
	s := newTLSServer(t, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if handshakes.Add(1) > 8 {
			return &bad, nil
		}
		return &good, nil
	}})
	g := connected(t, Spec{Connections: 4, Churn: Churn{Requests: 4}, TLS: &TLS{CAFile: a.file, ServerName: "localhost"}}, s.target)
	r, err := g.Run(t.Context(), Window{Rate: 50, Duration: 2 * time.Second})
	require.NoError(t, err)
	c := r.Total()
	require.EqualValues(t, 100, c.Scheduled)
	require.Equal(t, s.requests.Load(), c.Completed)
	require.Positive(t, c.Completed)
	require.Positive(t, c.HandshakesFailed)
	require.Equal(t, c.HandshakesFailed, c.ConnectFailuresBy.TLS)
	require.Equal(t, c.ConnectFailuresBy.TLS, c.ConnectFailures)
	require.EqualValues(t, 8, c.HandshakesFull+c.HandshakesFullBefore)
	require.GreaterOrEqual(t, c.Overflow, int64(100-8*4)) // eight connections of four requests

	_, err = g.Run(t.Context(), Window{Rate: 200, Duration: time.Second})
	requireTLSError(t, err)
	var unknown x509.UnknownAuthorityError
	require.ErrorAs(t, err, &unknown)
}

// What handshakes of the warm-up cost is not of the window.
func TestTLSHandshakesOfTheWarmUp(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, _, pair := a.leaf("server", false, nil)
	s := newTLSServer(t, &tls.Config{Certificates: []tls.Certificate{pair}})
	g := connected(t, Spec{Connections: 20, TLS: &TLS{CAFile: a.file}, Churn: Churn{Requests: 5, Together: true}}, s.target)
	for range 20 { // a busy machine may move the handshakes from one to the other
		before := g.workers[0].tls.cpuNanoseconds()
		r, err := g.Run(t.Context(), Window{Rate: 500, WarmUp: 500 * time.Millisecond, Duration: 20 * time.Millisecond})
		require.NoError(t, err)
		c := r.Targets[0]
		require.Equal(t, c.HandshakesFull, c.Handshake.Count)
		if c.HandshakesFull*4 < c.HandshakesFullBefore {
			require.Less(t, r.Generator.HandshakeCPUNanoseconds, (g.workers[0].tls.cpuNanoseconds()-before)/2)
			return
		}
	}
	t.Fatal("no window had its handshakes in the warm-up")
}

// Files that are wrong are named before anything is opened.
func TestTLSFiles(t *testing.T) {
	a := newAuthority(t)
	cert, key, _ := a.leaf("client", false, nil)
	_, otherKey, _ := a.leaf("other", false, nil)
	for _, test := range []struct {
		tls   TLS
		field string
	}{
		{TLS{CAFile: "/no/such/file"}, "Spec.TLS.CAFile"},
		{TLS{CAFile: key}, "Spec.TLS.CAFile"},
		{TLS{CertificateFile: cert, KeyFile: otherKey}, "Spec.TLS.CertificateFile"},
		{TLS{CertificateFile: cert, KeyFile: "/no/such/file"}, "Spec.TLS.CertificateFile"},
	} {
		g, err := New(Spec{TLS: &test.tls}, []Target{{Name: "x", Address: "127.0.0.1:9"}})
		require.NoError(t, err)
		var wrong *InvalidError
		require.ErrorAs(t, g.Connect(t.Context()), &wrong)
		require.Equal(t, test.field, wrong.Field)
		require.NoError(t, g.Close())
	}
}

func TestTLSValidate(t *testing.T) {
	for field, o := range map[string]TLS{
		"Spec.TLS.MinVersion": {MinVersion: "1.1"},
		"Spec.TLS.MaxVersion": {MinVersion: "1.3", MaxVersion: "1.2"},
		"Spec.TLS.Ciphers":    {Ciphers: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}},
		"Spec.TLS.Ciphers[1]": {MaxVersion: "1.2", Ciphers: []string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"}},
		"Spec.TLS.Curves[0]":  {Curves: []string{"P-257"}},
		"Spec.TLS.ALPN[0]":    {ALPN: []string{""}},
		"Spec.TLS.KeyFile":    {CertificateFile: "x"},
		"Spec.TLS.CAFile":     {CAFile: "x", Insecure: true},
		"Spec.TLS.ServerName": {ServerName: "a b"},
	} {
		var wrong *InvalidError
		require.ErrorAs(t, Spec{TLS: &o}.Validate(), &wrong, field)
		require.Equal(t, field, wrong.Field)
	}
	require.NoError(t, Spec{TLS: &TLS{}}.Validate())
}

// A handshake that does not end runs into the time-out, and closing the
// generator does not wait for one.
func TestTLSHandshakeThatNeverEnds(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(_ *script, c net.Conn, in *bufio.Reader, _ int) { io.Copy(io.Discard, in) })
	g, err := New(Spec{Connections: 4, Timeout: 100 * time.Millisecond, TLS: &TLS{Insecure: true}}, []Target{s.target()})
	require.NoError(t, err)
	err = g.Connect(t.Context())
	requireTLSError(t, err)
	require.ErrorIs(t, err, unix.ETIMEDOUT)
	require.NoError(t, g.Close())

	g, err = New(Spec{Connections: 4, TLS: &TLS{Insecure: true, Resume: true}}, []Target{s.target()})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	requireConnectError(t, g.Connect(ctx), ConnectTimeout, context.DeadlineExceeded)
	require.NoError(t, g.Close())
}

// A server that resumes nothing is seen: every handshake is a full one.
func TestTLSServerWithoutTickets(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, _, pair := a.leaf("server", false, nil)
	s := newTLSServer(t, &tls.Config{Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: true})
	g := connected(t, Spec{Connections: 4, Churn: Churn{Requests: 2}, TLS: &TLS{CAFile: a.file, Resume: true}}, s.target)
	c := runWindow(t, g, Window{Rate: 50, Duration: 200 * time.Millisecond}).Total()
	require.Zero(t, c.Failed)
	require.Zero(t, c.HandshakesResumed+c.HandshakesResumedBefore)
	require.Positive(t, c.HandshakesFull)
}

// No allocation for a request over TLS, in the generator's own process, once
// each connection has had its first answer.
func TestTLSRequestsAllocateNothing(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, _, pair := a.leaf("server", false, nil)
	s := newTLSServer(t, &tls.Config{Certificates: []tls.Certificate{pair}})
	for _, o := range []TLS{{MaxVersion: "1.2"}, {MinVersion: "1.3"}, {MinVersion: "1.3", Resume: true}} {
		o.CAFile = a.file
		g, _ := generatorProcess(t)
		require.NoError(t, g.Open(t.Context(), Spec{Connections: 32, MaxLate: time.Hour, TLS: &o}, []Target{s.target}))
		require.NoError(t, g.Connect(t.Context()))
		w := Window{Rate: 2000, Duration: 500 * time.Millisecond}
		_, err := g.Run(t.Context(), w)
		require.NoError(t, err)
		r, err := g.Run(t.Context(), w)
		require.NoError(t, err)
		require.Zero(t, r.Total().Failed)
		require.Less(t, r.Generator.Allocations, int64(100)) // for 1000 requests
		t.Logf("%+v: %d allocations for %d requests, %d ns of thread CPU each", o, r.Generator.Allocations, r.Total().Sent, r.Generator.CPUNanoseconds/r.Total().Sent)
	}
}
