package realserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/need"
)

// starters are all servers, by the word that TARE_REQUIRE has for them.
var starters = map[string]func(context.Context, Options) (*Server, error){
	"nginx": StartNginx, "envoy": StartEnvoy, "haproxy": StartHAProxy, "apache2": StartApache,
}

// Each answers over each protocol with the body, and its count is the client's.
func TestServersAnswerAndCount(t *testing.T) {
	for name, start := range starters {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s, err := start(ctx, Options{Dir: readable(t), BodySize: 1234})
			if errors.Is(err, ErrNotFound) {
				need.Skip(t, name, err)
			}
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Stop()) }()
			t.Log(s.Name)
			before, err := s.Requests(ctx)
			require.NoError(t, err)
			for _, p := range []struct {
				url   string
				major int
			}{{"http://" + s.Plain, 1}, {"http://" + s.H2C, 2}, {"https://" + s.TLS, 1}, {"https://" + s.TLS, 2}} {
				c := client(t, s, p.major)
				get(t, c, p.url, p.major)
				c.CloseIdleConnections() // Apache counts the last ones then
			}
			const want = 4 * each
			var got int64
			for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline) && got < want; time.Sleep(10 * time.Millisecond) {
				after, err := s.Requests(ctx)
				require.NoError(t, err)
				got = after - before
			}
			require.EqualValues(t, want, got)
		})
	}
}

const each = 25

// readable is a directory that Apache may read too, which is another user.
func readable(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	return dir
}

func get(t *testing.T, c *http.Client, url string, major int) {
	for range each {
		a, err := c.Get(url + "/any/path?q")
		require.NoError(t, err)
		body, err := io.ReadAll(a.Body)
		require.NoError(t, err)
		a.Body.Close()
		require.Equal(t, 200, a.StatusCode)
		require.Len(t, body, 1234)
		require.Equal(t, major, a.ProtoMajor)
		require.False(t, a.Close)
	}
}

func client(t *testing.T, s *Server, major int) *http.Client {
	pem, err := os.ReadFile(s.Certificate)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(pem))
	var protocols http.Protocols
	protocols.SetHTTP1(major == 1)
	protocols.SetHTTP2(major == 2)
	protocols.SetUnencryptedHTTP2(major == 2)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

func TestOptionsThatBreakAConfigurationAreRefused(t *testing.T) {
	for _, o := range []Options{{}, {Dir: "relative"}, {Dir: "/a b"}, {Dir: "/a;b"}, {Dir: "/a", BodySize: 5000}, {Dir: "/a", BodySize: -1}} {
		for _, start := range starters {
			_, err := start(t.Context(), o)
			require.ErrorContains(t, err, "realserver: ")
		}
	}
}

func FuzzHAProxyCount(f *testing.F) {
	f.Add("# pxname,svname,req_tot\nload,FRONTEND,7\n")
	f.Add("# pxname,svname\nload,FRONTEND\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseHAProxy(text); err == nil {
			require.Contains(t, text, "load")
			require.Contains(t, text, "FRONTEND")
			require.Contains(t, text, "req_tot")
		}
	})
}
