package loadgen

import (
	"bytes"
	"errors"
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

// What breaks a connection, and the code the peer is told.
func TestH2Broken(t *testing.T) {
	raw := func(length int, kind, flags uint8, stream uint32, payload string) func(*h2Pair) {
		return func(p *h2Pair) { p.toC.Write(append(appendH2Header(nil, length, kind, flags, stream), payload...)) }
	}
	cases := []struct {
		name string
		play func(p *h2Pair)
		want *h2Error
	}{
		{"frame too long", raw(h2MaxFrame+1, h2FrameData, 0, 1, ""), errH2FrameSize},
		{"unknown frame too long", raw(h2MaxFrame+1, 0xbe, 0, 1, ""), errH2FrameSize},
		{"ping of 7", raw(7, h2FramePing, 0, 0, "1234567"), errH2FrameSize},
		{"ping on a stream", raw(8, h2FramePing, 0, 1, "12345678"), errH2StreamZero},
		{"settings of 5", raw(5, h2FrameSettings, 0, 0, "12345"), errH2FrameSize},
		{"settings on a stream", raw(0, h2FrameSettings, 0, 1, ""), errH2StreamZero},
		{"acknowledgement with settings", raw(6, h2FrameSettings, h2FlagAck, 0, "\x00\x03\x00\x00\x00\x01"), errH2FrameSize},
		{"push on", raw(6, h2FrameSettings, 0, 0, "\x00\x02\x00\x00\x00\x01"), errH2Setting},
		{"initial window too large", raw(6, h2FrameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00"), errH2Window},
		{"frame size too small", raw(6, h2FrameSettings, 0, 0, "\x00\x05\x00\x00\x3f\xff"), errH2Setting},
		{"goaway of 7", raw(7, h2FrameGoAway, 0, 0, "1234567"), errH2FrameSize},
		{"window update of 0", raw(4, h2FrameWindow, 0, 0, "\x00\x00\x00\x00"), errH2WindowZero},
		{"window update of 0 on a stream", raw(4, h2FrameWindow, 0, 1, "\x00\x00\x00\x00"), errH2WindowZero},
		{"window too large", raw(4, h2FrameWindow, 0, 0, "\x7f\xff\xff\xff"), errH2Window},
		{"stream window too large", raw(4, h2FrameWindow, 0, 1, "\x7f\xff\xff\xff"), errH2Window},
		{"push", raw(5, h2FramePush, h2FlagEndHeaders, 1, "\x00\x00\x00\x02\x88"), errH2Push},
		{"data on stream 0", raw(1, h2FrameData, 0, 0, "x"), errH2StreamZero},
		{"data on an idle stream", raw(1, h2FrameData, 0, 9, "x"), errH2IdleStream},
		{"data on an even stream", raw(1, h2FrameData, 0, 2, "x"), errH2IdleStream},
		{"head on an idle stream", raw(1, h2FrameHeaders, h2FlagEndHeaders, 9, "\x88"), errH2IdleStream},
		{"reset of an idle stream", raw(4, h2FrameReset, 0, 9, "1234"), errH2IdleStream},
		{"reset on stream 0", raw(4, h2FrameReset, 0, 0, "1234"), errH2StreamZero},
		{"padding of all", raw(3, h2FrameData, h2FlagPadded, 1, "\x03xx"), errH2Padding},
		{"padded without", raw(0, h2FrameData, h2FlagPadded, 1, ""), errH2Padding},
		{"head with too much padding", raw(2, h2FrameHeaders, h2FlagPadded|h2FlagEndHeaders, 1, "\x02\x88"), errH2Padding},
		{"continuation without head", raw(1, h2FrameContinuation, h2FlagEndHeaders, 1, "\x88"), errH2Continuation},
		{"ping inside a block", raw(1, h2FrameHeaders, 0, 1, "\x88\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"), errH2Continuation},
		{"continuation of another", raw(1, h2FrameHeaders, 0, 1, "\x88\x00\x00\x00\x09\x04\x00\x00\x00\x03"), errH2Continuation},
		{"index that is not there", raw(1, h2FrameHeaders, h2FlagEndHeaders, 1, "\xc0"), errH2Compression},
		{"half a field", raw(1, h2FrameHeaders, h2FlagEndHeaders, 1, "\x40"), errH2Compression},
		{"answer on a stream that has ended", func(p *h2Pair) {
			p.headers(1, true, ":status", "200")
			require.NoError(p.t, p.receive())
			p.c.release(p.take()[0].slot)
			p.headers(1, true, ":status", "200")
		}, errH2ClosedStream},
		{"data on a stream that has ended", func(p *h2Pair) {
			p.headers(1, true, ":status", "200")
			require.NoError(p.t, p.receive())
			p.c.release(p.take()[0].slot)
			p.data(1, true, "x")
		}, errH2ClosedStream},
		{"block without end", func(p *h2Pair) {
			b := make([]byte, h2MaxFrame)
			require.NoError(p.t, p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b}))
			for range 64 {
				require.NoError(p.t, p.framer.WriteContinuation(1, false, b))
			}
		}, errH2BlockTooLong},
		{"goaway that rises", func(p *h2Pair) {
			p.framer.WriteGoAway(1, http2.ErrCodeNo, nil)
			p.framer.WriteGoAway(3, http2.ErrCodeNo, nil)
		}, errH2GoAwayRises},
		{"pings that are not read", func(p *h2Pair) {
			for range h2OutFlood / 16 {
				p.framer.WritePing(false, [8]byte{})
			}
		}, errH2Flood},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newH2Pair(t, testOptions())
			p.framer.AllowIllegalWrites = true
			p.start()
			c.play(p)
			err := p.receive()
			var broken *h2Error
			require.True(t, errors.As(err, &broken), "%v", err)
			require.Equal(t, c.want, broken)
			require.True(t, p.c.retired())
			_, _, again := p.c.feed([]byte("x"))
			require.Equal(t, err, again)
			var last http2.Frame
			for f := p.next(); f != nil; f = p.next() {
				last = f
			}
			require.EqualValues(t, broken.code, last.(*http2.GoAwayFrame).ErrCode)
		})
	}
}

// A server that speaks something else is told by its first bytes.
func TestH2NotSpoken(t *testing.T) {
	for in, want := range map[string]*h2Error{
		"HTTP/1.1 400 Bad Request\r\n":         errH2NotSpoken,
		"\x00\x00\x08\x06\x00\x00\x00\x00\x00": errH2NoSettings,
		"\x00\x00\x00\x04\x01\x00\x00\x00\x00": errH2NoSettings,
		"SSH-2.0-OpenSSH":                      errH2NoSettings,
	} {
		c := &h2Codec{}
		c.init(testOptions())
		require.False(t, c.settled)
		for i := range len(in) { // byte by byte
			if _, _, err := c.feed([]byte(in[i : i+1])); err != nil {
				require.Equal(t, want, err)
				break
			}
		}
		require.Equal(t, want, c.broken)
	}
}
