package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// selfSigned is a certificate for localhost, which is its own authority, and
// serves for clients too.
func selfSigned(t testing.TB) (pair tls.Certificate, certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tester"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	pair, err = tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(t, err)
	return pair, certFile, keyFile
}

// Each TLS flag does what it says, as the server sees it.
func TestLoadTLS(t *testing.T) {
	t.Parallel()
	pair, certFile, keyFile := selfSigned(t)
	authorities := x509.NewCertPool()
	require.True(t, authorities.AppendCertsFromPEM(readFile(t, certFile)))
	var seen atomic.Value
	var full, resumed atomic.Int64
	var connections sync.Map
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := connections.LoadOrStore(r.RemoteAddr, true); !again {
			if r.TLS.DidResume {
				resumed.Add(1)
			} else {
				full.Add(1)
			}
		}
		client := ""
		if len(r.TLS.PeerCertificates) > 0 {
			client = " client=" + r.TLS.PeerCertificates[0].Subject.CommonName
		}
		seen.Store(r.Proto + " " + tls.VersionName(r.TLS.Version) + " " + tls.CipherSuiteName(r.TLS.CipherSuite) + " " +
			r.TLS.CurveID.String() + " " + r.TLS.NegotiatedProtocol + " sni=" + r.TLS.ServerName + client)
		io.WriteString(w, "hello")
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: authorities}
	s.StartTLS()
	defer s.Close()
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	require.NoError(t, err)
	byName, byAddress := "https://localhost:"+port+"/", s.URL+"/"
	run := func(url string, flags ...string) loadResult {
		full.Store(0)
		resumed.Store(0)
		r, o := loadJSON(t, append(append([]string{"--rate", "200", "--duration", "200ms", "--connections", "4"}, flags...), url)...)
		require.Zero(t, o.exit, "%v: %s %s", flags, o.errors, o.out)
		require.EqualValues(t, 40, r.Completed)
		require.Positive(t, r.Report.Targets[0].HandshakesFullBefore)
		return r
	}
	run(byName, "--tls-ca", certFile, "--tls-curves", "P-256", "--tls-min", "1.3")
	require.Equal(t, "HTTP/1.1 TLS 1.3 TLS_AES_128_GCM_SHA256 CurveP256 http/1.1 sni=localhost", seen.Load())
	run(byAddress, "--tls-ca", certFile, "--tls-server-name", "localhost", "--tls-max", "1.2", "--tls-curves", "X25519",
		"--tls-ciphers", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "--tls-cert", certFile, "--tls-key", keyFile)
	require.Equal(t, "HTTP/1.1 TLS 1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 X25519 http/1.1 sni=localhost client=tester", seen.Load())
	run(byAddress, "--tls-insecure", "--protocol", "h2", "--streams", "5", "--tls-curves", "X25519")
	require.Equal(t, "HTTP/2.0 TLS 1.3 TLS_AES_128_GCM_SHA256 X25519 h2 sni=", seen.Load())

	for _, version := range []string{"1.2", "1.3"} {
		r := run(byName, "--tls-ca", certFile, "--churn", "3", "--tls-resume", "--tls-min", version, "--tls-max", version)
		require.EqualValues(t, 1, r.Handshakes.Full+r.Handshakes.FullBefore)
		require.LessOrEqual(t, full.Load(), int64(1))
		require.Positive(t, resumed.Load())
		require.Positive(t, r.Handshakes.Took.Count)
		require.Positive(t, *r.Handshakes.CPU)
		r = run(byName, "--tls-ca", certFile, "--churn", "3", "--tls-min", version, "--tls-max", version)
		require.Zero(t, resumed.Load()+r.Handshakes.Resumed)
	}
	o := tare(t, append([]string{"load", "--rate", "100", "--duration", "100ms", "--tls-ca", certFile, byName}, calm...)...)
	require.Zero(t, o.exit)
	require.Contains(t, o.out, "http/1.1, TLS, 32 connections")
	require.Contains(t, o.out, "handshakes   32 full, 0 resumed, 0 failed")

	// The right authority, but another name.
	o = tare(t, "load", "--rate", "100", "--tls-ca", certFile, byAddress)
	require.Equal(t, exitError, o.exit)
	require.Contains(t, o.errors, "127.0.0.1")
	require.Contains(t, o.errors, "certificate")
}

func readFile(t testing.TB, path string) []byte {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// nighthawk, fortio, k6: resumption that is asked for and does not happen is
// seen.
func TestReportNighthawkResumptionIsProved(t *testing.T) {
	t.Parallel()
	pair, certFile, _ := selfSigned(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: true}
	s.StartTLS()
	defer s.Close()
	url := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	r, o := loadJSON(t, "--rate", "100", "--duration", "300ms", "--connections", "2", "--churn", "3", "--tls-resume", "--tls-ca", certFile, url)
	require.Equal(t, exitNotAsAsked, o.exit)
	require.EqualValues(t, 30, r.Completed)
	require.Contains(t, strings.Join(r.Problems, "\n"), "handshakes were full ones")
}
