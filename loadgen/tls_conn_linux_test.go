package loadgen

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

// tlsPeer is the other end of a connection whose handshake is over, played
// record by record.
type tlsPeer struct {
	t       testing.TB
	fd      int
	in, out recordKeys
}

// tlsPair makes a connection and its peer.
func tlsPair(t testing.TB, version uint16) (*tlsConn, *tlsPeer) {
	suite := recordSuites[tls.TLS_AES_128_GCM_SHA256]
	keys := func() (recordKeys, recordKeys) {
		if version == tls.VersionTLS12 {
			client, server, err := masterKeys(suite, bytes.Repeat([]byte{7}, 48), make([]byte, 32), make([]byte, 32))
			require.NoError(t, err)
			return client, server
		}
		client, err := trafficKeys(suite, bytes.Repeat([]byte{1}, 32))
		require.NoError(t, err)
		server, err := trafficKeys(suite, bytes.Repeat([]byte{2}, 32))
		require.NoError(t, err)
		return client, server
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		sys.SocketClose(fds[0])
		sys.SocketClose(fds[1])
	})
	c := &tlsConn{own: true, socket: &tlsSocket{fd: fds[0]}, sealed: make([]byte, 0, maxPlaintext+recordExtra)}
	c.out, c.in = keys()
	p := &tlsPeer{t: t, fd: fds[1]}
	p.in, p.out = keys()
	return c, p
}

func (p *tlsPeer) record(kind recordType, text string) []byte {
	return p.out.seal(make([]byte, 0, len(text)+recordExtra), kind, []byte(text))
}

func (p *tlsPeer) write(b []byte) {
	n, errno := sys.SocketSend(p.fd, b)
	require.Zero(p.t, errno)
	require.Equal(p.t, len(b), n)
}

// read takes everything that has come.
func (p *tlsPeer) read() (b []byte) {
	buf := make([]byte, 64<<10)
	for {
		n, errno := sys.SocketReceive(p.fd, buf)
		if errno == unix.EAGAIN || n == 0 {
			return b
		}
		require.Zero(p.t, errno)
		b = append(b, buf[:n]...)
	}
}

// expect takes the next record of b apart.
func (p *tlsPeer) expect(b []byte) (kind recordType, text string, rest []byte) {
	require.True(p.t, wholeRecord(b))
	size := recordHeader + int(binary.BigEndian.Uint16(b[3:]))
	kind, plain, err := p.in.open(b[:size])
	require.NoError(p.t, err)
	return kind, string(plain), b[size:]
}

// receiveAll reads until there is nothing more.
func receiveAll(c *tlsConn) (text []byte, errno syscall.Errno, end bool) {
	buf := make([]byte, 32<<10)
	for {
		n, more, errno := c.receive(buf)
		text = append(text, buf[:n]...)
		switch {
		case errno != 0:
			return text, errno, false
		case n == 0:
			return text, 0, true
		case !more:
			return text, unix.EAGAIN, false
		}
	}
}

var bothVersions = []uint16{tls.VersionTLS12, tls.VersionTLS13}

// What the peer sends is the same text however it is cut.
func TestTLSRecordsSplitAtEveryByte(t *testing.T) {
	for _, version := range bothVersions {
		for cut := 1; ; cut++ {
			c, p := tlsPair(t, version)
			stream := p.record(recordApplication, "hello")
			stream = append(stream, p.record(recordApplication, "")...)
			stream = append(stream, p.record(recordApplication, " world")...)
			if cut == len(stream) {
				break
			}
			var got []byte
			for part := range slices.Chunk(stream, cut) {
				p.write(part)
				text, errno, _ := receiveAll(c)
				require.Equal(t, unix.EAGAIN, errno)
				got = append(got, text...)
			}
			require.Equal(t, "hello world", string(got), "cut every %d", cut)
			require.EqualValues(t, len(stream), c.wireIn())
		}
	}
}

// A key update that asks for one: RFC 8446, section 4.6.3.
func TestTLSKeyUpdate(t *testing.T) {
	c, p := tlsPair(t, tls.VersionTLS13)
	p.write(p.record(recordApplication, "old"))
	p.write(p.record(recordHandshake, "\x18\x00\x00\x01\x01"))
	require.NoError(t, p.out.update())
	p.write(p.record(recordApplication, "new"))
	text, errno, _ := receiveAll(c)
	require.Equal(t, unix.EAGAIN, errno)
	require.Equal(t, "oldnew", string(text))

	_, errno = c.send([]byte("question"))
	require.Zero(t, errno)
	kind, text2, rest := p.expect(p.read())
	require.Equal(t, recordHandshake, kind)
	require.Equal(t, "\x18\x00\x00\x01\x00", text2)
	require.NoError(t, p.in.update())
	kind, text2, rest = p.expect(rest)
	require.Equal(t, recordApplication, kind)
	require.Equal(t, "question", text2)
	require.Empty(t, rest)
}

// Tickets behind an answer are passed over, in one record or in many.
func TestTLSLateTickets(t *testing.T) {
	ticket := "\x04\x00\x01\x2c" + string(make([]byte, 300))
	for _, cut := range []int{1, 2, 3, 5, 100, 304, 1000} {
		c, p := tlsPair(t, tls.VersionTLS13)
		var stream []byte
		for part := range slices.Chunk([]byte(ticket+ticket), cut) {
			stream = append(stream, p.record(recordHandshake, string(part))...)
		}
		p.write(stream)
		p.write(p.record(recordApplication, "text"))
		text, errno, _ := receiveAll(c)
		require.Equal(t, unix.EAGAIN, errno, "cut %d", cut)
		require.Equal(t, "text", string(text))
	}
}

func TestTLSEnds(t *testing.T) {
	for name, test := range map[string]struct {
		version uint16
		kind    recordType
		text    string
		errno   syscall.Errno // 0: the end in order
	}{
		"close notify 1.2":       {tls.VersionTLS12, recordAlert, "\x01\x00", 0},
		"close notify 1.3":       {tls.VersionTLS13, recordAlert, "\x01\x00", 0},
		"fatal alert":            {tls.VersionTLS13, recordAlert, "\x02\x28", unix.EPROTO},
		"warning 1.3":            {tls.VersionTLS13, recordAlert, "\x01\x28", unix.EPROTO},
		"half an alert":          {tls.VersionTLS13, recordAlert, "\x01", unix.EPROTO},
		"unknown type":           {tls.VersionTLS13, 77, "x", unix.EPROTO},
		"certificate request":    {tls.VersionTLS13, recordHandshake, "\x0d\x00\x00\x00", unix.EPROTO},
		"half a message":         {tls.VersionTLS13, recordHandshake, "\x18\x00", unix.EPROTO},
		"half an update":         {tls.VersionTLS13, recordHandshake, "\x18\x00\x00\x01", unix.EPROTO},
		"behind a key update":    {tls.VersionTLS13, recordHandshake, "\x18\x00\x00\x01\x00\x04\x00\x00\x00", unix.EPROTO},
		"ticket 1.2":             {tls.VersionTLS12, recordHandshake, "\x04\x00\x00\x00", unix.EPROTO},
		"hello request":          {tls.VersionTLS12, recordHandshake, "\x00\x00\x00\x00", unix.EAGAIN},
		"warning 1.2":            {tls.VersionTLS12, recordAlert, "\x01\x5a", unix.EAGAIN},
		"user canceled":          {tls.VersionTLS13, recordAlert, "\x01\x5a", unix.EAGAIN},
		"text inside of message": {tls.VersionTLS13, recordHandshake, "\x04\x00\x00\x05x", unix.EPROTO},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := tlsPair(t, test.version)
			p.write(p.record(recordApplication, "before"))
			p.write(p.record(test.kind, test.text))
			p.write(p.record(recordApplication, "after"))
			text, errno, end := receiveAll(c)
			require.Equal(t, test.errno, errno)
			require.Equal(t, test.errno == 0, end)
			if test.errno == unix.EAGAIN {
				require.Equal(t, "beforeafter", string(text))
			} else {
				require.Equal(t, "before", string(text))
			}
		})
	}
}

// A record that was changed on its way, or is none, is no text.
func TestTLSForgedRecords(t *testing.T) {
	for _, version := range bothVersions {
		_, p := tlsPair(t, version)
		whole := p.record(recordApplication, "text")
		for i := range whole {
			c, p := tlsPair(t, version)
			forged := append([]byte(nil), whole...)
			forged[i] ^= 0x40
			p.write(forged)
			text, errno, end := receiveAll(c)
			require.Empty(t, text)
			require.False(t, end)
			if i == 3 || i == 4 { // a length that waits for more is not wrong yet
				continue
			}
			require.Equal(t, unix.EPROTO, errno, "%s byte %d", tls.VersionName(version), i)
		}
		c, p := tlsPair(t, version)
		replayed := p.record(recordApplication, "once")
		p.write(replayed)
		p.write(replayed)
		text, errno, _ := receiveAll(c)
		require.Equal(t, "once", string(text))
		require.Equal(t, unix.EPROTO, errno)
	}
	c, p := tlsPair(t, tls.VersionTLS13)
	p.write([]byte{recordApplication, 3, 3, 0xff, 0xff, 0})
	_, errno, _ := receiveAll(c)
	require.Equal(t, unix.EPROTO, errno)
}

// The end of the stream without a word is no end in order: what was sent may
// have been cut.
func TestTLSEndWithoutCloseNotify(t *testing.T) {
	c, p := tlsPair(t, tls.VersionTLS13)
	p.write(p.record(recordApplication, "half"))
	require.NoError(t, unix.Shutdown(p.fd, unix.SHUT_WR))
	text, errno, end := receiveAll(c)
	if errno == unix.EAGAIN { // the end had not come yet
		await(t, c.socket.fd, unix.POLLIN)
		_, errno, end = receiveAll(c)
	}
	require.Equal(t, "half", string(text))
	require.Equal(t, unix.ECONNRESET, errno)
	require.False(t, end)
}

// What the socket has no room for is sent later, in order.
func TestTLSSendsWhatHadNoRoom(t *testing.T) {
	c, p := tlsPair(t, tls.VersionTLS13)
	require.NoError(t, unix.SetsockoptInt(c.socket.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 8<<10))
	sent := make([]byte, 300<<10)
	rand.Read(sent)
	for part := range slices.Chunk(sent, 50_000) {
		n, errno := c.send(part)
		require.Zero(t, errno)
		require.Equal(t, len(part), n)
	}
	require.True(t, c.pending())
	var stream []byte
	for c.pending() {
		stream = append(stream, p.read()...)
		require.Zero(t, c.flush())
	}
	stream = append(stream, p.read()...)
	c.close()
	stream = append(stream, p.read()...)
	require.EqualValues(t, len(stream), c.wireOut())
	var got []byte
	for {
		kind, text, rest := p.expect(stream)
		stream = rest
		if kind == recordAlert {
			require.Equal(t, "\x01\x00", text)
			break
		}
		got = append(got, text...)
	}
	require.Empty(t, stream)
	require.True(t, bytes.Equal(sent, got))
}

// Nothing is allocated for a request and its answer, however they are cut.
func TestTLSAllocatesNothing(t *testing.T) {
	for _, version := range bothVersions {
		c, p := tlsPair(t, version)
		question, answer, buf := make([]byte, 300), string(make([]byte, 5000)), make([]byte, 64<<10)
		var halves [][]byte
		for range 1002 {
			r := p.record(recordApplication, answer)
			halves = append(halves, r[:1000], r[1000:])
		}
		round := func() {
			if _, errno := c.send(question); errno != 0 {
				t.Fatal(errno)
			}
			for range 2 {
				sys.SocketSend(p.fd, halves[0])
				halves = halves[1:]
				c.receive(buf)
			}
			for errno := syscall.Errno(0); errno == 0; _, errno = sys.SocketReceive(p.fd, buf) {
			}
		}
		round()
		require.Zero(t, testing.AllocsPerRun(1000, round), tls.VersionName(version))
	}
}

// BenchmarkTLSRecords is a request of 300 bytes and an answer of 5,000 with
// both ends' protection and four calls to the kernel.
func BenchmarkTLSRecords(b *testing.B) {
	c, p := tlsPair(b, tls.VersionTLS13)
	question, answer, buf := make([]byte, 300), make([]byte, 5000), make([]byte, 64<<10)
	sealed := make([]byte, 0, maxPlaintext+recordExtra)
	b.ReportAllocs()
	for b.Loop() {
		c.send(question)
		sys.SocketReceive(p.fd, buf)
		sys.SocketSend(p.fd, p.out.seal(sealed[:0], recordApplication, answer))
		if n, _, _ := c.receive(buf); n != len(answer) {
			b.Fatal(n)
		}
	}
}

// Whatever comes, in whatever pieces, there is no panic, no more text than was
// sent, and the end stays the end.
func FuzzTLSReceive(f *testing.F) {
	_, p := tlsPair(f, tls.VersionTLS13)
	f.Add(p.record(recordApplication, "text"), 3, true)
	f.Add([]byte{23, 3, 3, 0, 0, 23, 3, 3, 0, 1, 0}, 4, true)
	f.Add([]byte{21, 3, 3, 0, 2, 1, 0}, 7, false)
	f.Fuzz(func(t *testing.T, stream []byte, cut int, newer bool) {
		c, _ := tlsPair(t, map[bool]uint16{true: tls.VersionTLS13, false: tls.VersionTLS12}[newer])
		buf := make([]byte, 256<<10)
		total := 0
		for part := range slices.Chunk(stream, max(1, cut)) {
			n := copy(buf, c.partial)
			n += copy(buf[n:], part)
			if c.over {
				require.NotZero(t, c.end) // none of these can say the end in order
				return
			}
			total += c.open(buf[:n])
			if len(c.partial) > maxRecord+len(part) {
				t.Fatalf("%d bytes are kept", len(c.partial))
			}
		}
		require.LessOrEqual(t, total, len(stream))
	})
}

// BenchmarkTLSProtection is what TLS adds to a request of 120 bytes and an
// answer of 4,300: one record sealed and one opened, without the kernel.
func BenchmarkTLSProtection(b *testing.B) {
	c, p := tlsPair(b, tls.VersionTLS13)
	question, answer := make([]byte, 120), p.record(recordApplication, string(make([]byte, 4300)))
	out, in := make([]byte, 0, maxPlaintext+recordExtra), make([]byte, len(answer))
	b.ReportAllocs()
	for b.Loop() {
		c.out.seal(out, recordApplication, question)
		copy(in, answer)
		c.in.seq = 0
		if _, _, err := c.in.open(in); err != nil {
			b.Fatal(err)
		}
	}
}
