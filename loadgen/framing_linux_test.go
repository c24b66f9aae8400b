package loadgen

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Answers of each form over real sockets: what they count as, and whether
// the connection survives them (wrk2#5 and wrk#118: "Connection: close" and
// bodies that end with the connection; async-http-client#16, finagle#563 and
// fabio#206: HEAD with a length, bare 204 and 304).
func TestReportWrk2_5AnswersOverSockets(t *testing.T) {
	t.Parallel()
	const n = 20
	cases := []struct {
		name   string
		spec   Spec
		answer string
		closes bool // the server closes after each answer
		want   func(c *Counts)
		reopen bool // each request costs a connection
	}{
		{name: "length", answer: okAnswer, want: func(c *Counts) { c.Completed = n }},
		{name: "chunked with trailers", answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nT: v\r\n\r\n", want: func(c *Counts) { c.Completed = n }},
		{name: "HEAD", spec: Spec{Method: "HEAD"}, answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", want: func(c *Counts) { c.Completed = n }},
		{name: "204", spec: Spec{Expect: Expect{Status: 204}}, answer: "HTTP/1.1 204 No Content\r\n\r\n", want: func(c *Counts) { c.Completed = n }},
		{name: "connection close", answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", closes: true, reopen: true, want: func(c *Counts) { c.Completed = n }},
		{name: "ends with connection", answer: "HTTP/1.1 200 OK\r\n\r\nok", closes: true, reopen: true, want: func(c *Counts) { c.Completed = n }},
		{name: "wrong status", answer: "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nok", want: func(c *Counts) { c.FailedBy.Status = n }},
		{name: "wrong length", spec: Spec{Expect: Expect{BodyBytes: 3}}, answer: okAnswer, want: func(c *Counts) { c.FailedBy.Body = n }},
		{name: "right length", spec: Spec{Expect: Expect{BodyBytes: 2}}, answer: okAnswer, want: func(c *Counts) { c.Completed = n }},
		{name: "not HTTP", answer: "hello\r\n", closes: true, reopen: true, want: func(c *Counts) { c.FailedBy.Framing = n }},
		{name: "two answers", answer: okAnswer + okAnswer, closes: true, reopen: true, want: func(c *Counts) { c.FailedBy.Framing = n }},
		{name: "closed inside body", answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", closes: true, reopen: true, want: func(c *Counts) { c.FailedBy.Closed = n }},
		{name: "closed before on fresh connections", answer: "", closes: true, reopen: true, want: func(c *Counts) { c.FailedBy.Closed = n }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t, func(s *script, conn net.Conn, in *bufio.Reader, _ int) {
				for s.request(in) {
					if _, err := io.WriteString(conn, c.answer); err != nil || c.closes {
						return
					}
				}
			})
			c.spec.Connections = n + 1 // one each, also where every answer costs one and none is back yet
			g := connected(t, c.spec, s.target())
			got := runWindow(t, g, Window{Rate: 200, Duration: n * time.Second / 200, Seed: 1}).Targets[0].Counts
			var want Counts
			c.want(&want)
			require.Equal(t, want.Completed, got.Completed)
			require.Equal(t, want.FailedBy, got.FailedBy)
			require.EqualValues(t, n, got.Sent)
			require.EqualValues(t, n, s.requests.Load())
			if !c.reopen {
				require.Zero(t, got.ConnectionsOpened)
				require.Zero(t, got.ConnectionsClosed)
				require.Eventually(t, func() bool { return s.accepted.Load() == n+1 }, 5*time.Second, time.Millisecond)
			} else {
				require.Positive(t, got.ConnectionsOpened)
			}
		})
	}
}

// An answer that comes in single bytes is one answer.
func TestAnswerInSingleBytes(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		for s.request(in) {
			for _, b := range []byte(okAnswer) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
			}
		}
	})
	g := connected(t, Spec{Connections: 4}, s.target())
	r := runWindow(t, g, Window{Rate: 10, Duration: 400 * time.Millisecond})
	require.EqualValues(t, 4, r.Total().Completed)
}

// Bytes that answer nothing give the connection up; no request is harmed.
func TestUnsolicitedBytes(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		if n == 0 {
			io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
			in.ReadByte()
			return
		}
		answering(okAnswer)(s, c, in, n)
	})
	g := connected(t, Spec{Connections: 20}, s.target())
	require.Eventually(t, func() bool { return s.accepted.Load() >= 20 }, 5*time.Second, time.Millisecond)
	r := runWindow(t, g, Window{Rate: 100, Duration: 200 * time.Millisecond})
	require.EqualValues(t, 20, r.Total().Completed)
	require.EqualValues(t, 21, s.accepted.Load())
}

// A body that the socket buffers cannot hold is written in parts.
func TestLargeRequestBody(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	var got [4]int64
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, n int) {
		for i := 0; s.request(in); i++ {
			took, err := io.CopyN(io.Discard, in, size)
			if err != nil {
				return
			}
			got[n] += took
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 4, Method: "POST", Body: string(make([]byte, size))}, s.target())
	r := runWindow(t, g, Window{Rate: 20, Duration: 200 * time.Millisecond})
	require.EqualValues(t, 4, r.Total().Completed)
	g.Close()
	s.kill()
	require.Equal(t, [4]int64{size, size, size, size}, got)
}
