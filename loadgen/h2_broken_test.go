package loadgen

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

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
