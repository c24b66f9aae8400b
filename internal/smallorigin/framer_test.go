package smallorigin

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seen is what a framer made of a stream.
type seen struct {
	heads   []head
	bodies  int // complete requests
	refused string
	used    int
}

// feed gives the stream to a framer in pieces of the given size (0: all at once)
// in the way a connection does.
func feed(stream []byte, piece int) seen {
	var f framer
	var s seen
	start, end := 0, 0
	for {
		used, ev, r := f.next(stream[start:end])
		start += used
		s.used = start
		if r != nil {
			s.refused = r.status
			return s
		}
		switch ev {
		case gotHead:
			s.heads = append(s.heads, f.head)
		case gotBody:
			s.bodies++
		case needMore:
			if end == len(stream) {
				return s
			}
			if piece == 0 {
				end = len(stream)
			} else {
				end = min(end+piece, len(stream))
			}
		}
	}
}

func TestFraming(t *testing.T) {
	const get = "GET /4k HTTP/1.1\r\nHost: a\r\n\r\n"
	cases := []struct {
		name, stream string
		bodies       int
		refused      string
		check        func(*testing.T, []head)
	}{
		{name: "plain", stream: get, bodies: 1},
		{name: "pipelined", stream: get + get + get, bodies: 3},
		{name: "empty lines between", stream: "\r\n\r\n" + get + "\r\n" + get, bodies: 2},
		{name: "length", stream: "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" + get, bodies: 2},
		{name: "length equal twice", stream: "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi", bodies: 1},
		{name: "body cut", stream: "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhell", bodies: 0},
		{name: "chunked", stream: "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n5;x=\"y\"\r\nhello\r\nA \r\n0123456789\r\n0\r\nT: v\r\n\r\n" + get, bodies: 2},
		{name: "head", stream: "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", bodies: 1, check: func(t *testing.T, h []head) { assert.True(t, h[0].isHEAD) }},
		{name: "close", stream: "GET / HTTP/1.1\r\nConnection: Keep-Alive , CLOSE\r\n\r\n", bodies: 1, check: func(t *testing.T, h []head) { assert.True(t, h[0].close) }},
		{name: "1.0", stream: "GET / HTTP/1.0\r\n\r\n", bodies: 1, check: func(t *testing.T, h []head) { assert.True(t, h[0].close) }},
		{name: "1.0 kept", stream: "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", bodies: 1, check: func(t *testing.T, h []head) { assert.False(t, h[0].close) }},
		{name: "expect", stream: "POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx", bodies: 1, check: func(t *testing.T, h []head) { assert.True(t, h[0].wants100) }},
		{name: "expect without body", stream: "GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n", bodies: 1, check: func(t *testing.T, h []head) { assert.False(t, h[0].wants100) }},
		{name: "lengths differ", stream: "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi", refused: "400"},
		{name: "length and chunked", stream: "POST / HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", refused: "400"},
		{name: "length signed", stream: "POST / HTTP/1.1\r\nContent-Length: +2\r\n\r\nhi", refused: "400"},
		{name: "length above int64", stream: "POST / HTTP/1.1\r\nContent-Length: 9223372036854775808\r\n\r\n", refused: "400"},
		{name: "gzip", stream: "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", refused: "501"},
		{name: "folded", stream: "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", refused: "400"},
		{name: "space before colon", stream: "GET / HTTP/1.1\r\nContent-Length : 3\r\n\r\n", refused: "400"},
		{name: "bare LF in value", stream: "GET / HTTP/1.1\r\nA: b\nContent-Length: 3\r\n\r\n", refused: "400"},
		{name: "HTTP/2", stream: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", refused: "505"},
		{name: "no version", stream: "GET /\r\n\r\n", refused: "400"},
		{name: "chunk longer than said", stream: "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n", refused: "400"},
		{name: "chunk size", stream: "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nhi\r\n", refused: "400"},
		{name: "head too large", stream: "GET / HTTP/1.1\r\nA: " + strings.Repeat("a", maxHead) + "\r\n\r\n", refused: "431"},
		{name: "head without end too large", stream: "GET / HTTP/1.1\r\nA: " + strings.Repeat("a", maxHead), refused: "431"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := feed([]byte(c.stream), 0)
			assert.Equal(t, c.bodies, got.bodies)
			assert.True(t, strings.HasPrefix(got.refused, c.refused) && (c.refused != "") == (got.refused != ""), "refused %q, want %q", got.refused, c.refused)
			if c.check != nil {
				require.NotEmpty(t, got.heads)
				c.check(t, got.heads)
			}
			for _, piece := range []int{1, 2, 3, 7} {
				if len(c.stream) > 1000 && piece < 7 {
					continue
				}
				split := feed([]byte(c.stream), piece)
				assert.Equal(t, got.bodies, split.bodies, "in pieces of %d", piece)
				assert.Equal(t, got.heads, split.heads, "in pieces of %d", piece)
				assert.Equal(t, got.refused, split.refused, "in pieces of %d", piece)
			}
		})
	}
}

// FuzzFraming: where the stream is split changes nothing, and what is taken for a
// request net/http takes for the same request.
func FuzzFraming(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;e\r\nhello\r\n0\r\nT: v\r\n\r\n\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
		"\r\n\r\r\n\r\n",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
	} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		if len(stream) > 8<<10 {
			return
		}
		whole := feed(stream, 0)
		split := feed(stream, max(1, piece&15))
		if whole.bodies != split.bodies || whole.refused != split.refused || whole.used != split.used || !slices.Equal(whole.heads, split.heads) {
			t.Fatalf("whole %+v\nsplit %+v", whole, split)
		}
		if len(whole.heads) == 0 || whole.bodies == 0 {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(bytes.TrimLeft(stream, "\r\n"))))
		if err != nil {
			return // net/http is stricter about targets and hosts
		}
		h := whole.heads[0]
		if (r.Method == "HEAD") != h.isHEAD || r.ContentLength >= 0 && r.ContentLength != h.length || (r.ContentLength < 0) != h.chunked {
			t.Fatalf("net/http: %s length %d, here %+v", r.Method, r.ContentLength, h)
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil && !h.chunked {
			t.Fatalf("net/http cannot read the body: %v", err)
		}
	})
}
