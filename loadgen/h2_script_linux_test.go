package loadgen

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Peer is one connection of a scripted HTTP/2 server, made of the framer
// and the header coder of x/net.
type h2Peer struct {
	*http2.Framer
	s     *script
	conn  net.Conn
	block bytes.Buffer
	coder *hpack.Encoder
	out   *bufio.Writer
}

// newH2Script plays a server; the part begins behind the client's preface.
func newH2Script(t testing.TB, play func(p *h2Peer, n int)) *script {
	return newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		preface := make([]byte, len(h2Preface))
		if _, err := io.ReadFull(in, preface); err != nil || string(preface) != http2.ClientPreface {
			return
		}
		p := &h2Peer{s: s, conn: c, out: bufio.NewWriterSize(c, 64<<10)}
		p.Framer = http2.NewFramer(p.out, in)
		p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		p.coder = hpack.NewEncoder(&p.block)
		p.AllowIllegalWrites = true
		play(p, n)
	})
}

// greet sends the first SETTINGS.
func (p *h2Peer) greet(settings ...http2.Setting) {
	p.WriteSettings(settings...)
	p.out.Flush()
}

// request is the stream of the next request; false at the end. The settings
// of the client are acknowledged on the way.
func (p *h2Peer) request() (uint32, bool) {
	for {
		f, err := p.ReadFrame()
		if err != nil {
			return 0, false
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				p.WriteSettingsAck()
				p.out.Flush()
			}
		case *http2.MetaHeadersFrame:
			p.s.requests.Add(1)
			return f.StreamID, true
		}
	}
}

// head sends the head of an answer.
func (p *h2Peer) head(stream uint32, ends bool, pairs ...string) {
	p.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		p.coder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: p.block.Bytes(), EndHeaders: true, EndStream: ends})
}

// answer sends a right answer.
func (p *h2Peer) answer(stream uint32) {
	p.head(stream, false, ":status", "200", "content-length", "2")
	p.WriteData(stream, true, []byte("ok"))
	p.out.Flush()
}

// serve answers requests until the end.
func (p *h2Peer) serve() {
	for {
		stream, ok := p.request()
		if !ok {
			return
		}
		p.answer(stream)
	}
}

func h2cSpec(connections, streams int) Spec {
	return Spec{Protocol: H2C, Connections: connections, Streams: streams, Expect: Expect{BodyBytes: 2}}
}

// runH2 runs a window and checks what holds for HTTP/2.
func runH2(t testing.TB, g *Generator, w Window) Counts {
	c := runWindow(t, g, w).Total()
	if c.Sent > 0 {
		require.Positive(t, c.HeaderBytesOut)
		require.Less(t, c.HeaderBytesOut, c.BytesOut)
	}
	return c
}
