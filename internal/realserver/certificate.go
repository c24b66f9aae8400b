package realserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// pair is the files of a certificate and its key, and of both in one.
type pair struct{ certificate, key, both string }

// newPair makes a P-256 certificate for localhost that has signed itself.
func newPair(o Options) (pair, error) {
	certificate, key, err := selfSigned()
	if err != nil {
		return pair{}, fmt.Errorf("realserver: certificate: %w", err)
	}
	var p pair
	if p.certificate, err = write(o, "cert.pem", certificate); err != nil {
		return p, err
	}
	if p.key, err = write(o, "key.pem", key); err != nil {
		return p, err
	}
	p.both, err = write(o, "both.pem", append(append([]byte{}, certificate...), key...))
	return p, err
}

// WriteCertificate writes what servers here use into dir, for a server that a
// test runs itself.
func WriteCertificate(dir string) (certificate, key string, err error) {
	p, err := newPair(Options{Dir: dir})
	return p.certificate, p.key, err
}

func selfSigned() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "localhost"},
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}
