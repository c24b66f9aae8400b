package loadgen

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// TLS says how connections are secured. The zero value verifies the server
// against the system's authorities, speaks TLS 1.2 or 1.3 with the choices of
// crypto/tls, and makes every handshake a full one.
//
// What does not verify is never loaded: Connect fails with a *ConnectError of
// the class "tls" that has the reason as its cause.
//
// Each worker has a second thread that makes the handshakes, so that their
// public key operations make no arrival late. How many there were (full,
// resumed, failed), how long they took and what CPU they cost is reported
// apart; a connection takes requests when its handshake is over, so they are
// in no latency. What follows is protected without allocation where the suite
// is AES-GCM. The end of a connection counts as one in order if the server
// announces it (close_notify); an answer that has no length but the end of the
// connection is complete only then.
type TLS struct {
	// ServerName is the name that the certificate must be for, which is sent
	// as SNI unless it is an address; "" = the host of Spec.Host, or of the
	// target's address.
	ServerName string `json:"server_name,omitempty"`
	// CAFile holds the authorities that may sign the server's certificate, as
	// PEM; "" = the system's.
	CAFile string `json:"ca_file,omitempty"`
	// CertificateFile and KeyFile are the client's certificate with its chain,
	// leaf first, and its key, as PEM; "" = none is shown.
	CertificateFile string `json:"certificate_file,omitempty"`
	KeyFile         string `json:"key_file,omitempty"`
	// Insecure accepts any certificate for any name. The handshake then costs
	// less than one that verifies.
	Insecure bool `json:"insecure,omitempty"`
	// MinVersion and MaxVersion are "1.2" or "1.3"; "" = 1.2 and 1.3.
	MinVersion string `json:"min_version,omitempty"`
	MaxVersion string `json:"max_version,omitempty"`
	// Ciphers are the suites offered for TLS 1.2, by their IANA names, such as
	// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256. They need MaxVersion 1.2, because
	// those of TLS 1.3 cannot be chosen; nil = what crypto/tls offers.
	Ciphers []string `json:"ciphers,omitempty"`
	// Curves are the groups offered for the key exchange: X25519, P-256,
	// P-384, P-521, X25519MLKEM768; nil = what crypto/tls offers.
	Curves []string `json:"curves,omitempty"`
	// ALPN is the protocols offered; nil = the one that is spoken.
	ALPN []string `json:"alpn,omitempty"`
	// Resume offers the session of an earlier connection to the same target in
	// each handshake. Whether the server took it is counted for each
	// connection: Counts.HandshakesResumed. It needs a server that gives
	// tickets. The first handshake of each worker and target goes alone, so
	// that the others have a session; servers that give them with their first
	// answer only (BoringSSL with TLS 1.3, and so Envoy) get full handshakes
	// until then. False = no session is kept and each handshake is a full one.
	Resume bool `json:"resume,omitempty"`
}

var tlsVersions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

var tlsCurves = map[string]tls.CurveID{
	"X25519": tls.X25519, "P-256": tls.CurveP256, "P-384": tls.CurveP384, "P-521": tls.CurveP521,
	"X25519MLKEM768": tls.X25519MLKEM768,
}

// tlsSuite finds a suite of TLS 1.2 by name, those that crypto/tls warns of
// included: what they cost may be the question.
func tlsSuite(name string) (id uint16, ok bool) {
	for _, list := range [][]*tls.CipherSuite{tls.CipherSuites(), tls.InsecureCipherSuites()} {
		for _, s := range list {
			if s.Name == name && s.SupportedVersions[0] <= tls.VersionTLS12 {
				return s.ID, true
			}
		}
	}
	return 0, false
}

// validate returns nil or an *InvalidError. It opens no file.
func (t TLS) validate() error {
	low, ok := tlsVersions[or(t.MinVersion, "1.2")]
	if !ok {
		return invalid("Spec.TLS.MinVersion", t.MinVersion, `"1.2" or "1.3"`)
	}
	high, ok := tlsVersions[or(t.MaxVersion, "1.3")]
	switch {
	case !ok:
		return invalid("Spec.TLS.MaxVersion", t.MaxVersion, `"1.2" or "1.3"`)
	case high < low:
		return invalid("Spec.TLS.MaxVersion", t.MaxVersion, "not below MinVersion "+t.MinVersion)
	case len(t.Ciphers) > 0 && high > tls.VersionTLS12:
		return invalid("Spec.TLS.Ciphers", strings.Join(t.Ciphers, ","), "MaxVersion 1.2 beside it, as suites cannot be chosen for TLS 1.3")
	case (t.CertificateFile == "") != (t.KeyFile == ""):
		return invalid("Spec.TLS.KeyFile", t.KeyFile, "a key for a certificate, and none without one")
	case t.Insecure && t.CAFile != "":
		return invalid("Spec.TLS.CAFile", t.CAFile, "none beside Insecure, which would not use it")
	case strings.ContainsFunc(t.ServerName, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '/' }):
		return invalid("Spec.TLS.ServerName", t.ServerName, "a host name or an address, without a port")
	}
	for i, name := range t.Ciphers {
		if _, ok := tlsSuite(name); !ok {
			return invalid(fmt.Sprintf("Spec.TLS.Ciphers[%d]", i), name, "a suite of TLS 1.2 that crypto/tls has, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
		}
	}
	for i, name := range t.Curves {
		if _, ok := tlsCurves[name]; !ok {
			return invalid(fmt.Sprintf("Spec.TLS.Curves[%d]", i), name, "X25519, P-256, P-384, P-521 or X25519MLKEM768")
		}
	}
	for i, name := range t.ALPN {
		if name == "" || len(name) > 255 {
			return invalid(fmt.Sprintf("Spec.TLS.ALPN[%d]", i), name, "a protocol name of 1 to 255 bytes")
		}
	}
	return nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// config makes the configuration of crypto/tls for one target. spoken is the
// protocol that will be spoken, in the words of ALPN. The spec is valid; an
// error is of its files, and an *InvalidError.
func (t TLS) config(host, address, spoken string) (*tls.Config, error) {
	c := &tls.Config{
		ServerName:             or(t.ServerName, hostOf(or(host, address))),
		InsecureSkipVerify:     t.Insecure,
		MinVersion:             tlsVersions[or(t.MinVersion, "1.2")],
		MaxVersion:             tlsVersions[or(t.MaxVersion, "1.3")],
		NextProtos:             t.ALPN,
		SessionTicketsDisabled: !t.Resume,
	}
	if c.NextProtos == nil {
		c.NextProtos = []string{spoken}
	}
	for _, name := range t.Ciphers {
		id, _ := tlsSuite(name)
		c.CipherSuites = append(c.CipherSuites, id)
	}
	for _, name := range t.Curves {
		c.CurvePreferences = append(c.CurvePreferences, tlsCurves[name])
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err == nil {
			if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
				err = errors.New("it holds none")
			}
		}
		if err != nil {
			return nil, invalid("Spec.TLS.CAFile", t.CAFile, fmt.Sprintf("a file of certificates in PEM: %v", err))
		}
	}
	if t.CertificateFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertificateFile, t.KeyFile)
		if err != nil {
			return nil, invalid("Spec.TLS.CertificateFile", t.CertificateFile, fmt.Sprintf("a certificate and, in KeyFile, its key, in PEM: %v", err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// hostOf is an address without its port and brackets.
func hostOf(s string) string {
	if host, _, err := net.SplitHostPort(s); err == nil {
		return host
	}
	return strings.Trim(s, "[]")
}
