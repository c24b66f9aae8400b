package loadgen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type parsed struct {
	status    int
	body      int64
	keepAlive bool
	left      int // bytes after the end
}

// framing is the corpus: every answer form with its right reading.
var framing = []struct {
	name string
	head bool // the request was HEAD
	eof  bool // the connection ends after the bytes
	in   string
	want parsed
	err  error
}{
	{name: "length", in: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", want: parsed{200, 5, true, 0}},
	{name: "length zero", in: "HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", want: parsed{200, 0, true, 0}},
	{name: "no reason", in: "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", want: parsed{200, 1, true, 0}},
	{name: "bare line feeds", in: "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", want: parsed{200, 1, true, 0}},
	{name: "two lengths that agree", in: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\nab", want: parsed{200, 2, true, 0}},
	{name: "two lengths that do not", in: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nab", err: errLength},
	{name: "negative length", in: "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n", err: errLength},
	{name: "plus length", in: "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n", err: errLength},
	{name: "empty length", in: "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n", err: errLength},
	{name: "length beyond any", in: "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n", err: errLength},
	{name: "space before colon", in: "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n", err: errHeader},
	{name: "folded length", in: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n 3\r\n\r\n", err: errHeader},
	{name: "folded other", in: "HTTP/1.1 200 OK\r\nX: a\r\n\tb: c\r\nContent-Length: 1\r\n\r\nx", want: parsed{200, 1, true, 0}},
	{name: "header without colon", in: "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", err: errHeader},
	{name: "long header", in: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 700) + "\r\nContent-Length: 1\r\n\r\nx", want: parsed{200, 1, true, 0}},
	{name: "long header name", in: "HTTP/1.1 200 OK\r\n" + strings.Repeat("y", 700) + ": z\r\nContent-Length: 1\r\n\r\nx", want: parsed{200, 1, true, 0}},
	{name: "chunked", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n", want: parsed{200, 15, true, 0}},
	{name: "chunk extensions and trailers", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;a=b;c=\"d\"\r\nabc\r\n0;last\r\nT: 1\r\nContent-Length: 9\r\n\r\n", want: parsed{200, 3, true, 0}},
	{name: "last of two codings", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", want: parsed{200, 1, true, 0}},
	{name: "coding not chunked", eof: true, in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc", want: parsed{200, 3, false, 0}},
	{name: "chunked twice", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", err: errEncoding},
	{name: "chunked and length", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", err: errLength},
	{name: "chunk size not hex", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", err: errChunk},
	{name: "chunk size too long", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1234567890abcdef\r\n", err: errChunk},
	{name: "chunk longer than said", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", err: errChunk},
	{name: "204 bare", in: "HTTP/1.1 204 No Content\r\n\r\n", want: parsed{204, 0, true, 0}},
	{name: "204 with length", in: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", want: parsed{204, 0, true, 0}},
	{name: "304 with length", in: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", want: parsed{304, 0, true, 0}},
	{name: "HEAD with length", head: true, in: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", want: parsed{200, 0, true, 0}},
	{name: "HEAD chunked", head: true, in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", want: parsed{200, 0, true, 0}},
	{name: "100 and 103 first", in: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 7\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", want: parsed{200, 2, true, 0}},
	{name: "100 without end", in: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 101), err: errTooManyLeads},
	{name: "101", in: "HTTP/1.1 101 Switching Protocols\r\n\r\n", err: errSwitched},
	{name: "connection close", in: "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\nx", want: parsed{200, 1, false, 0}},
	{name: "1.0 closes", in: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", want: parsed{200, 1, false, 0}},
	{name: "1.0 keep-alive", in: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", want: parsed{200, 1, true, 0}},
	{name: "1.0 keep-alive and close", in: "HTTP/1.0 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", want: parsed{200, 1, false, 0}},
	{name: "ends with the connection", eof: true, in: "HTTP/1.1 200 OK\r\n\r\nall of it", want: parsed{200, 9, false, 0}},
	{name: "ends at once", eof: true, in: "HTTP/1.1 200 OK\r\n\r\n", want: parsed{200, 0, false, 0}},
	{name: "two answers in one read", in: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n\r\n", want: parsed{200, 1, true, 19}},
	{name: "closed before", eof: true, in: "", err: errNothingBefore},
	{name: "closed in status line", eof: true, in: "HTTP/1", err: errEarlyEnd},
	{name: "closed in header", eof: true, in: "HTTP/1.1 200 OK\r\nContent-", err: errEarlyEnd},
	{name: "closed in body", eof: true, in: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", err: errEarlyEnd},
	{name: "closed before last chunk", eof: true, in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", err: errEarlyEnd},
	{name: "HTTP/2", in: "HTTP/2.0 200 OK\r\n\r\n", err: errStatusLine},
	{name: "not HTTP", in: "SSH-2.0-OpenSSH_9\r\n", err: errStatusLine},
	{name: "status of two digits", in: "HTTP/1.1 20 OK\r\n\r\n", err: errStatusLine},
	{name: "status 600", in: "HTTP/1.1 600 OK\r\n\r\n", err: errStatusLine},
	{name: "endless head", in: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", maxHeadBytes), err: errHeadTooLong},
}

// feedPieces parses in, cut at the given places.
func feedPieces(in string, head, eof bool, cuts ...int) (parsed, error) {
	var r response
	r.reset(head)
	from := 0
	for _, to := range append(cuts, len(in)) {
		n, done, err := r.feed([]byte(in[from:to]))
		if err != nil {
			return parsed{}, err
		}
		if done {
			return parsed{r.status, r.bodyBytes, r.keepAlive, len(in) - from - n}, nil
		}
		from = to
	}
	if !eof {
		return parsed{}, errEarlyEnd
	}
	if err := r.end(); err != nil {
		return parsed{}, err
	}
	return parsed{r.status, r.bodyBytes, r.keepAlive, 0}, nil
}

// Every answer reads the same whole, cut in two at every byte, and byte by
// byte.
func TestFramingSplitAtEveryByte(t *testing.T) {
	for _, c := range framing {
		t.Run(c.name, func(t *testing.T) {
			got, err := feedPieces(c.in, c.head, c.eof)
			require.Equal(t, c.err, err)
			require.Equal(t, c.want, got)
			step := 1 + len(c.in)/1000 // 1: at every byte, but for the endless one
			for cut := 0; cut <= len(c.in); cut += step {
				got, err := feedPieces(c.in, c.head, c.eof, cut)
				require.Equal(t, c.err, err, "cut at %d", cut)
				require.Equal(t, c.want, got, "cut at %d", cut)
			}
			var every []int
			for cut := 0; cut < len(c.in); cut++ {
				every = append(every, cut)
			}
			got, err = feedPieces(c.in, c.head, c.eof, every...)
			require.Equal(t, c.err, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestResponseIsReusable(t *testing.T) {
	var r response
	for range 3 {
		for _, c := range framing {
			if c.err != nil || c.eof || c.want.left != 0 {
				continue
			}
			r.reset(c.head)
			n, done, err := r.feed([]byte(c.in))
			require.NoError(t, err)
			require.True(t, done)
			require.Len(t, c.in, n)
			require.Equal(t, c.want, parsed{r.status, r.bodyBytes, r.keepAlive, 0})
		}
	}
}

func TestResponseAllocatesNothing(t *testing.T) {
	var r response
	in := []byte("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		r.reset(false)
		r.feed(in[:20])
		r.feed(in[20:])
	}))
}

// FuzzResponse: no panic, and where the bytes are cut changes nothing.
func FuzzResponse(f *testing.F) {
	for _, c := range framing {
		if len(c.in) < 4096 {
			f.Add([]byte(c.in), c.head, uint16(len(c.in)/2), uint16(len(c.in)/3))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, head bool, a, b uint16) {
		whole, wholeErr := feedPieces(string(in), head, true)
		x, y := min(int(a), len(in)), min(int(b), len(in))
		cut, cutErr := feedPieces(string(in), head, true, min(x, y), max(x, y))
		if whole != cut || wholeErr != cutErr {
			t.Fatalf("whole %+v %v, cut at %d and %d: %+v %v", whole, wholeErr, x, y, cut, cutErr)
		}
		if wholeErr == nil && (whole.left > len(in) || whole.body > int64(len(in)) || whole.status < 200) {
			t.Fatalf("impossible result %+v from %d bytes", whole, len(in))
		}
	})
}

func BenchmarkResponse(b *testing.B) {
	var r response
	in := []byte("HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Type: application/octet-stream\r\nContent-Length: 4096\r\nConnection: keep-alive\r\n\r\n" + strings.Repeat("x", 4096))
	b.ReportAllocs()
	for b.Loop() {
		r.reset(false)
		r.feed(in)
	}
}
