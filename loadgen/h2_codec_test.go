package loadgen

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Pair is a connection and, on the other end of two buffers, a server made
// of the framer and the header coder of x/net.
type h2Pair struct {
	t      testing.TB
	c      *h2Codec
	fromC  bytes.Buffer
	toC    bytes.Buffer
	framer *http2.Framer
	block  bytes.Buffer
	coder  *hpack.Encoder
	events []h2Event
}

func testOptions() *h2Options {
	return &h2Options{
		sets:    [][]hpack.HeaderField{{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "peer"}, {Name: ":path", Value: "/"}, {Name: "x-test", Value: "v"}}},
		streams: 8, tableOut: 4096, tableIn: 4096, streamSpace: 1 << 20, connSpace: 1 << 20,
	}
}

// newH2Pair greets and, unless settings is nil, exchanges SETTINGS.
func newH2Pair(t testing.TB, o *h2Options, settings ...http2.Setting) *h2Pair {
	p := &h2Pair{t: t, c: &h2Codec{}}
	p.c.init(o)
	p.framer = http2.NewFramer(&p.toC, &p.fromC)
	p.framer.ReadMetaHeaders = hpack.NewDecoder(65536, nil)
	p.framer.MaxHeaderListSize = 1 << 20
	p.coder = hpack.NewEncoder(&p.block)
	p.send()
	preface := make([]byte, len(h2Preface))
	_, err := io.ReadFull(&p.fromC, preface)
	require.NoError(t, err)
	require.Equal(t, http2.ClientPreface, string(preface))
	f := p.next()
	require.IsType(t, &http2.SettingsFrame{}, f)
	if o.connSpace > h2DefaultWindow {
		require.IsType(t, &http2.WindowUpdateFrame{}, p.next())
	}
	require.NoError(t, p.framer.WriteSettings(settings...))
	require.NoError(t, p.framer.WriteSettingsAck())
	require.NoError(t, p.receive())
	require.Equal(t, []h2Event{{kind: h2Changed}}, p.take())
	require.True(t, p.next().(*http2.SettingsFrame).IsAck())
	return p
}

// send moves what the connection has written to the server.
func (p *h2Pair) send() {
	for b := p.c.pending(); len(b) > 0; b = p.c.pending() {
		p.fromC.Write(b)
		p.c.taken(len(b))
	}
}

// next is the next frame the server reads, nil if there is none.
func (p *h2Pair) next() http2.Frame {
	p.send()
	if p.fromC.Len() == 0 {
		return nil
	}
	f, err := p.framer.ReadFrame()
	require.NoError(p.t, err)
	return f
}

// receive feeds the connection what the server has written.
func (p *h2Pair) receive() error {
	b := bytes.Clone(p.toC.Bytes())
	p.toC.Reset()
	for {
		n, e, err := p.c.feed(b)
		b = b[n:]
		if err != nil {
			return err
		}
		if e.kind != h2Nothing {
			p.events = append(p.events, e)
			continue
		}
		if len(b) == 0 {
			return nil
		}
	}
}

func (p *h2Pair) take() []h2Event {
	e := p.events
	p.events = nil
	return e
}

func (p *h2Pair) encode(pairs ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		require.NoError(p.t, p.coder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}))
	}
	return p.block.Bytes()
}

func (p *h2Pair) headers(stream uint32, ends bool, pairs ...string) {
	require.NoError(p.t, p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: p.encode(pairs...), EndHeaders: true, EndStream: ends}))
}

func (p *h2Pair) data(stream uint32, ends bool, body string) {
	require.NoError(p.t, p.framer.WriteData(stream, ends, []byte(body)))
}

// begin begins a request in a free slot.
func (p *h2Pair) begin() int32 {
	require.False(p.t, p.c.retired())
	require.True(p.t, p.c.settled)
	for i := range p.c.streams {
		if p.c.streams[i].id == 0 {
			p.c.start(int32(i), 0)
			return int32(i)
		}
	}
	p.t.Fatal("no slot is free")
	return -1
}

// start begins a request and has the server read its head.
func (p *h2Pair) start() (slot int32, stream uint32) {
	slot = p.begin()
	f := p.next().(*http2.MetaHeadersFrame)
	require.Equal(p.t, p.c.opt.sets[0], f.Fields)
	require.Equal(p.t, p.c.opt.bodies == 0, f.StreamEnded())
	return slot, f.StreamID
}

func TestH2OneAnswer(t *testing.T) {
	p := newH2Pair(t, testOptions())
	for i := range 5 {
		slot, stream := p.start()
		require.EqualValues(t, 2*i+1, stream)
		p.headers(stream, false, ":status", "200", "content-length", "5", "server", "x")
		p.data(stream, false, "he")
		require.NoError(t, p.framer.WriteDataPadded(stream, true, []byte("llo"), make([]byte, 100)))
		require.NoError(t, p.receive())
		require.Equal(t, []h2Event{{kind: h2Answered, slot: slot}}, p.take())
		s := &p.c.streams[slot]
		require.Equal(t, 200, s.fields.status)
		require.EqualValues(t, 5, s.bodyBytes)
		p.c.release(slot)
		require.Nil(t, p.next())
	}
	require.EqualValues(t, 5, p.c.answers)
	require.Zero(t, p.c.active)
}

// What an answer can be, and what it counts as.
func TestH2Answers(t *testing.T) {
	head := []string{":status", "200", "content-length", "2"}
	cases := []struct {
		name string
		opt  func(*h2Options)
		play func(p *h2Pair, stream uint32)
		want h2EventKind
	}{
		{name: "no body", want: h2Answered, play: func(p *h2Pair, s uint32) { p.headers(s, true, ":status", "204") }},
		{name: "length 0", want: h2Answered, play: func(p *h2Pair, s uint32) { p.headers(s, true, ":status", "200", "content-length", "0") }},
		{name: "empty last frame", want: h2Answered, play: func(p *h2Pair, s uint32) { p.headers(s, false, head...); p.data(s, false, "ok"); p.data(s, true, "") }},
		{name: "informational first", want: h2Answered, play: func(p *h2Pair, s uint32) {
			p.headers(s, false, ":status", "100")
			p.headers(s, false, ":status", "103", "link", "x")
			p.headers(s, false, head...)
			p.data(s, true, "ok")
		}},
		{name: "trailers", want: h2Answered, play: func(p *h2Pair, s uint32) {
			p.headers(s, false, head...)
			p.data(s, false, "ok")
			p.headers(s, true, "x-trailer", "v")
		}},
		{name: "continuation", want: h2Answered, play: func(p *h2Pair, s uint32) {
			b := bytes.Clone(p.encode(":status", "200", "x-long", strings.Repeat("v", 100)))
			require.NoError(t, p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: b[:1], EndStream: true}))
			require.NoError(t, p.framer.WriteContinuation(s, false, b[1:10]))
			require.NoError(t, p.framer.WriteContinuation(s, true, b[10:]))
		}},
		{name: "padded head with priority", want: h2Answered, play: func(p *h2Pair, s uint32) {
			require.NoError(t, p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: p.encode(":status", "200"), EndHeaders: true, EndStream: true, PadLength: 9, Priority: http2.PriorityParam{StreamDep: 3, Weight: 1}}))
		}},
		{name: "HEAD", opt: func(o *h2Options) { o.noBody = true }, want: h2Answered, play: func(p *h2Pair, s uint32) { p.headers(s, true, head...) }},
		{name: "304 with length", want: h2Answered, play: func(p *h2Pair, s uint32) { p.headers(s, true, ":status", "304", "content-length", "2") }},
		{name: "HEAD with a body", opt: func(o *h2Options) { o.noBody = true }, want: h2Malformed, play: func(p *h2Pair, s uint32) { p.headers(s, false, head...); p.data(s, true, "ok") }},
		{name: "shorter than said", want: h2Malformed, play: func(p *h2Pair, s uint32) { p.headers(s, false, head...); p.data(s, true, "o") }},
		{name: "longer than said", want: h2Malformed, play: func(p *h2Pair, s uint32) { p.headers(s, false, head...); p.data(s, true, "okk") }},
		{name: "no status", want: h2Malformed, play: func(p *h2Pair, s uint32) { p.headers(s, true, "server", "x") }},
		{name: "status behind a field", want: h2Malformed, play: func(p *h2Pair, s uint32) { p.headers(s, true, "server", "x", ":status", "200") }},
		{name: "two lengths", want: h2Malformed, play: func(p *h2Pair, s uint32) {
			p.headers(s, true, ":status", "200", "content-length", "0", "content-length", "1")
		}},
		{name: "connection field", want: h2Malformed, play: func(p *h2Pair, s uint32) { p.headers(s, true, ":status", "200", "connection", "close") }},
		{name: "101", want: h2Malformed, play: func(p *h2Pair, s uint32) { p.headers(s, false, ":status", "101") }},
		{name: "informational that ends", want: h2Malformed, play: func(p *h2Pair, s uint32) { p.headers(s, true, ":status", "103") }},
		{name: "data before the head", want: h2Malformed, play: func(p *h2Pair, s uint32) { p.data(s, false, "x") }},
		{name: "trailers that do not end", want: h2Malformed, play: func(p *h2Pair, s uint32) { p.headers(s, false, ":status", "200"); p.headers(s, false, "x", "y") }},
		{name: "status in trailers", want: h2Malformed, play: func(p *h2Pair, s uint32) { p.headers(s, false, ":status", "200"); p.headers(s, true, ":status", "200") }},
		{name: "reset", want: h2WasReset, play: func(p *h2Pair, s uint32) {
			p.headers(s, false, head...)
			p.framer.WriteRSTStream(s, http2.ErrCodeInternal)
		}},
		{name: "refused", want: h2Unprocessed, play: func(p *h2Pair, s uint32) { p.framer.WriteRSTStream(s, http2.ErrCodeRefusedStream) }},
		{name: "refused after the head", want: h2WasReset, play: func(p *h2Pair, s uint32) {
			p.headers(s, false, head...)
			p.framer.WriteRSTStream(s, http2.ErrCodeRefusedStream)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := testOptions()
			if c.opt != nil {
				c.opt(o)
			}
			// Played whole, and cut at every byte.
			for cut := 0; ; cut++ {
				p := newH2Pair(t, o)
				p.framer.AllowIllegalWrites = true
				slot, stream := p.start()
				c.play(p, stream)
				b := bytes.Clone(p.toC.Bytes())
				p.toC.Reset()
				for _, piece := range [][]byte{b[:min(cut, len(b))], b[min(cut, len(b)):]} {
					p.toC.Write(piece)
					require.NoError(t, p.receive())
				}
				events := p.take()
				require.Len(t, events, 1, "cut at %d", cut)
				require.Equal(t, c.want, events[0].kind, "cut at %d", cut)
				require.Equal(t, slot, events[0].slot)
				p.c.release(slot)
				f := p.next()
				if reset := p.c.streams[slot]; c.want == h2Malformed && !reset.done {
					require.Equal(t, http2.ErrCodeProtocol, f.(*http2.RSTStreamFrame).ErrCode)
				} else {
					require.Nil(t, f)
				}
				// The connection is as good as before, its header table too.
				slot, stream = p.start()
				p.headers(stream, true, ":status", "200", "server", "x")
				require.NoError(t, p.receive())
				require.Equal(t, []h2Event{{kind: h2Answered, slot: slot}}, p.take())
				if cut >= len(b) {
					break
				}
			}
		})
	}
}
