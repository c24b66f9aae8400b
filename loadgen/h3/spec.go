package h3

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/tareperf/tare/loadgen"
)

// Protocol is what Spec.Protocol may be here, beside "".
const Protocol loadgen.Protocol = "h3"

func refuse(field string, value any, want string) error {
	return &loadgen.InvalidError{Field: field, Value: fmt.Sprint(value), Want: want}
}

// resolve checks a spec and fills in its defaults. What it returns has the
// protocol of HTTP/2, whose other rules are the same.
func resolve(s loadgen.Spec) (loadgen.Spec, error) {
	if s.Protocol != "" && s.Protocol != Protocol {
		return s, refuse("Spec.Protocol", s.Protocol, `"" or "h3"`)
	}
	s.Protocol = loadgen.HTTP2
	if err := s.Validate(); err != nil {
		return s, err
	}
	s = s.WithDefaults()
	const none = "none with HTTP/3"
	switch {
	case s.Workers > 1:
		return s, refuse("Spec.Workers", s.Workers, "1 with HTTP/3")
	case s.GRPC != nil:
		return s, refuse("Spec.GRPC", "set", none)
	case s.Queue != 0:
		return s, refuse("Spec.Queue", s.Queue, none)
	case s.Churn.Requests != 0:
		return s, refuse("Spec.Churn.Requests", s.Churn.Requests, none)
	case s.Generated.Count != 0:
		return s, refuse("Spec.Generated.Count", s.Generated.Count, none)
	case s.Reuse != loadgen.RoundRobin:
		return s, refuse("Spec.Reuse", s.Reuse, `"round-robin" with HTTP/3`)
	case s.TLS.Resume:
		return s, refuse("Spec.TLS.Resume", true, "false with HTTP/3")
	case s.TLS.MaxVersion == "1.2" || len(s.TLS.Ciphers) > 0 || len(s.TLS.Curves) > 0 || len(s.TLS.ALPN) > 0:
		return s, refuse("Spec.TLS", "set", "no versions, ciphers, curves and ALPN with HTTP/3")
	}
	return s, nil
}

// checkWindow refuses windows that have no rate.
func checkWindow(w loadgen.Window) error {
	switch {
	case w.InFlight != 0:
		return refuse("Window.InFlight", w.InFlight, "0 with HTTP/3, which is sent at a rate")
	case w.Idle:
		return refuse("Window.Idle", true, "false with HTTP/3")
	case w.ProgressEvery != 0:
		return refuse("Window.ProgressEvery", w.ProgressEvery, "0 with HTTP/3")
	}
	return nil
}

// request makes the request of one target, and its body.
func request(s loadgen.Spec, t loadgen.Target) (*http.Request, string, error) {
	host := s.Host
	if host == "" {
		host = t.Address
	}
	u, err := url.Parse("https://" + t.Address + s.Path)
	if err != nil {
		return nil, "", refuse("Spec.Path", s.Path, "a path that net/url understands")
	}
	r := &http.Request{Method: s.Method, URL: u, Host: host, Header: http.Header{}}
	for _, h := range s.Headers {
		r.Header.Add(h.Name, h.Value)
	}
	if r.Header.Get("User-Agent") == "" {
		r.Header["User-Agent"] = nil // as little as package loadgen sends
	}
	body := s.Body
	if s.BodyBytes > 0 {
		body = strings.Repeat("x", int(s.BodyBytes))
	}
	r.ContentLength = int64(len(body))
	return r, body, nil
}

// tlsConfig is that of one target. An error is of its files.
func tlsConfig(s loadgen.Spec, t loadgen.Target) (*tls.Config, error) {
	c := &tls.Config{ServerName: s.TLS.ServerName, InsecureSkipVerify: s.TLS.Insecure, NextProtos: []string{"h3"}, MinVersion: tls.VersionTLS13}
	for _, from := range []string{s.Host, t.Address} {
		if c.ServerName != "" || from == "" {
			continue
		}
		c.ServerName = from
		if host, _, err := net.SplitHostPort(from); err == nil {
			c.ServerName = host
		}
	}
	if s.TLS.CAFile != "" {
		pem, err := os.ReadFile(s.TLS.CAFile)
		if err == nil {
			c.RootCAs = x509.NewCertPool()
			if !c.RootCAs.AppendCertsFromPEM(pem) {
				err = errors.New("no certificate in it")
			}
		}
		if err != nil {
			return nil, refuse("Spec.TLS.CAFile", s.TLS.CAFile, fmt.Sprintf("a PEM file with certificates (%v)", err))
		}
	}
	if s.TLS.CertificateFile != "" {
		pair, err := tls.LoadX509KeyPair(s.TLS.CertificateFile, s.TLS.KeyFile)
		if err != nil {
			return nil, refuse("Spec.TLS.CertificateFile", s.TLS.CertificateFile, fmt.Sprintf("a certificate and its key in PEM (%v)", err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
