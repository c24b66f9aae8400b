package loadgen

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

// authority is made for one test: its file, and what it has signed.
type authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
	file string
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t, dir: t.TempDir(), pool: x509.NewCertPool()}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	require.NoError(t, err)
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.pool.AddCert(a.cert)
	a.file = a.write("ca.pem", &pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

func (a *authority) write(name string, blocks ...*pem.Block) string {
	var text []byte
	for _, b := range blocks {
		text = append(text, pem.EncodeToMemory(b)...)
	}
	path := filepath.Join(a.dir, name)
	require.NoError(a.t, os.WriteFile(path, text, 0o600))
	return path
}

// leaf signs a certificate for 127.0.0.1 and localhost, or a client's.
func (a *authority) leaf(name string, useRSA bool, change func(*x509.Certificate)) (certFile, keyFile string, pair tls.Certificate) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if change != nil {
		change(template)
	}
	var public, private any
	if useRSA {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		require.NoError(a.t, err)
		public, private = &key.PublicKey, key
	} else {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(a.t, err)
		public, private = &key.PublicKey, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key)
	require.NoError(a.t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(a.t, err)
	certFile = a.write(name+".pem", &pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyFile = a.write(name+".key", &pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	pair, err = tls.LoadX509KeyPair(certFile, keyFile)
	require.NoError(a.t, err)
	return certFile, keyFile, pair
}

// between signs a leaf by an authority between, and writes the chain.
func (a *authority) between(t testing.TB) (certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "between"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	between := &authority{t: t, dir: a.dir, key: key}
	between.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	certFile, keyFile, pair := between.leaf("leaf", false, nil)
	between.write("leaf.pem", &pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	return certFile, keyFile
}

// tlsEcho answers what it is sent, over TLS.
func tlsEcho(t testing.TB, config *tls.Config) string {
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// oneHandshaker serves a test that has one slot.
type oneHandshaker struct {
	*handshaker
	t      testing.TB
	notify int
}

func newOneHandshaker(t testing.TB, o TLS, address string) *oneHandshaker {
	require.NoError(t, o.validate())
	clock, err := newMonotonic()
	require.NoError(t, err)
	notify, err := sys.EventFD()
	require.NoError(t, err)
	w := &worker{
		spec: Spec{TLS: &o, Protocol: HTTP1}, clock: clock, named: []Target{{Address: address}},
		targets: make([]workerTarget, 1), conns: make([]conn, 1), wakefd: notify,
	}
	h, err := newHandshaker(w)
	require.NoError(t, err)
	t.Cleanup(func() {
		h.stop()
		sys.SocketClose(notify)
	})
	return &oneHandshaker{h, t, notify}
}

func await(t testing.TB, fd int, events int16) {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, 10_000)
		if err == unix.EINTR {
			continue
		}
		require.NoError(t, err)
		require.Positive(t, n, "nothing happened for 10 s")
		return
	}
}

func dial(t testing.TB, address string) int {
	a, err := netip.ParseAddrPort(address)
	require.NoError(t, err)
	to := sys.NewSocketAddress(a)
	fd, err := sys.ConnectStart(&to)
	require.NoError(t, err)
	await(t, fd, unix.POLLOUT)
	return fd
}

func (h *oneHandshaker) shake(fd int) handshakeEnd {
	h.start(0, fd)
	for {
		await(h.t, h.notify, unix.POLLIN)
		var count [8]byte
		unix.Read(h.notify, count[:])
		if ends := h.take(); len(ends) > 0 {
			if ends[0].err == nil {
				h.t.Cleanup(func() { sys.SocketClose(fd) })
			}
			return ends[0]
		}
	}
}

// exchange sends b and reads as much back.
func exchange(t testing.TB, c *tlsConn, b, buf []byte) {
	n, errno := c.send(b)
	require.Zero(t, errno)
	require.Equal(t, len(b), n)
	for got := 0; got < len(b); {
		n, _, errno := c.receive(buf)
		switch errno {
		case 0:
			require.Positive(t, n)
			require.Equal(t, b[got:got+n], buf[:n])
			got += n
		case unix.EAGAIN:
			events := int16(unix.POLLIN)
			if c.pending() {
				events |= unix.POLLOUT
			}
			await(t, c.socket.fd, events)
			if c.pending() {
				require.Zero(t, c.flush())
			}
		default:
			t.Fatalf("receive: %v", errno)
		}
	}
}

// Every suite and version, with and without resumption, with texts below and
// above a record, against crypto/tls.
func TestTLSExchanges(t *testing.T) {
	a := newAuthority(t)
	_, _, ec := a.leaf("ec", false, nil)
	_, _, rsaPair := a.leaf("rsa", true, nil)
	address := tlsEcho(t, &tls.Config{Certificates: []tls.Certificate{ec, rsaPair}, CipherSuites: allSuites()})
	cases := []TLS{{}, {MinVersion: "1.3"}}
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if s.SupportedVersions[0] <= tls.VersionTLS12 {
			cases = append(cases, TLS{MaxVersion: "1.2", Ciphers: []string{s.Name}})
		}
	}
	for curve := range tlsCurves {
		cases = append(cases, TLS{Curves: []string{curve}, MinVersion: "1.3"})
	}
	big := make([]byte, 40<<10)
	rand.Read(big)
	buf := make([]byte, 64<<10)
	for _, o := range cases {
		o.CAFile = a.file
		for _, o.Resume = range []bool{false, true} {
			h := newOneHandshaker(t, o, address)
			for n := range 2 {
				end := h.shake(dial(t, address))
				require.NoError(t, end.err, "%+v", o)
				require.Positive(t, end.took)
				c := end.conn
				require.Equal(t, o.Resume && n > 0, c.resumed, "%+v handshake %d", o, n)
				if len(o.Ciphers) > 0 {
					require.Equal(t, o.Ciphers[0], tls.CipherSuiteName(c.suite))
				}
				for _, size := range []int{1, 700, maxPlaintext, len(big), 3} {
					exchange(t, c, big[:size], buf)
				}
				_, ours := recordSuites[c.suite]
				require.Equal(t, ours, c.std == nil, "%s", tls.CipherSuiteName(c.suite))
				c.close()
				errno := syscall.Errno(unix.EAGAIN)
				for errno == unix.EAGAIN { // the echo closes in order upon our end
					await(t, c.socket.fd, unix.POLLIN)
					n, _, errno = c.receive(buf)
				}
				require.Zero(t, errno)
				require.Zero(t, n)
			}
		}
	}
}

func allSuites() (ids []uint16) {
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		ids = append(ids, s.ID)
	}
	return ids
}
