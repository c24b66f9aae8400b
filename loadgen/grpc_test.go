package loadgen

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

// Messages are counted however their bytes are cut.
func TestGRPCMessagesCutAnywhere(t *testing.T) {
	in := append(append(append(grpcMessage("hello"), grpcMessage("")...), grpcMessage(strings.Repeat("x", 300))...), grpcMessage("end")...)
	for cut := range len(in) + 1 {
		var m messageReader
		m.feed(in[:cut])
		m.feed(in[cut:])
		require.EqualValues(t, 4, m.count)
		require.EqualValues(t, 308, m.bytes)
		require.True(t, m.whole())
	}
	var m messageReader
	for i := range in {
		require.Equal(t, i == 0 || i == 10 || i == 15 || i == 320, m.whole(), "at %d", i)
		m.feed(in[i : i+1])
	}
	require.EqualValues(t, 4, m.count)
	m.feed([]byte{1, 0, 0, 0, 0}) // compressed
	require.False(t, m.whole())
}

func grpcOptions(g GRPC, message string) *h2Options {
	s := Spec{Protocol: H2C, Path: "/test.Service/Call", Body: message, GRPC: &g}.withDefaults()
	o := newH2Options(s, Target{Address: "peer:1"})
	o.connSpace = 1 << 20 // the greeting of newH2Pair has one
	return o
}

// The request of a call, and the endings that an answer can have.
func TestGRPCAnswers(t *testing.T) {
	head := []string{":status", "200", "content-type", "application/grpc"}
	cases := []struct {
		name     string
		play     func(p *h2Pair, stream uint32)
		want     h2EventKind
		status   int32
		messages int64
	}{
		{"unary", func(p *h2Pair, s uint32) {
			p.headers(s, false, head...)
			p.data(s, false, string(grpcMessage("answer")))
			p.headers(s, true, "grpc-status", "0")
		}, h2Answered, 0, 1},
		{"trailers only", func(p *h2Pair, s uint32) { p.headers(s, true, append(head, "grpc-status", "5")...) }, h2Answered, 5, 0},
		{"status in trailers", func(p *h2Pair, s uint32) {
			p.headers(s, false, head...)
			p.headers(s, true, "grpc-status", "14", "grpc-message", "gone")
		}, h2Answered, 14, 0},
		{"status in the head of an answer with trailers", func(p *h2Pair, s uint32) {
			p.headers(s, false, append(head, "grpc-status", "0")...)
			p.headers(s, true, "x", "y")
		}, h2Answered, -1, 0},
		{"no trailers", func(p *h2Pair, s uint32) {
			p.headers(s, false, head...)
			p.data(s, true, string(grpcMessage("answer")))
		}, h2Answered, -1, 1},
		{"half a message", func(p *h2Pair, s uint32) {
			p.headers(s, false, head...)
			p.data(s, false, "\x00\x00\x00\x00\x05hel")
			p.headers(s, true, "grpc-status", "0")
		}, h2Malformed, 0, 0},
		{"compressed", func(p *h2Pair, s uint32) {
			p.headers(s, false, head...)
			p.data(s, false, "\x01\x00\x00\x00\x02ok")
			p.headers(s, true, "grpc-status", "0")
		}, h2Malformed, 0, 0},
		{"two statuses", func(p *h2Pair, s uint32) { p.headers(s, true, append(head, "grpc-status", "5", "grpc-status", "0")...) }, h2Answered, -2, 0},
		{"status that is no number", func(p *h2Pair, s uint32) { p.headers(s, true, append(head, "grpc-status", "OK")...) }, h2Answered, -2, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newH2Pair(t, grpcOptions(GRPC{}, "hello"))
			slot, stream := p.start()
			f := p.next().(*http2.DataFrame)
			require.Equal(t, grpcMessage("hello"), f.Data())
			require.True(t, f.StreamEnded())
			c.play(p, stream)
			require.NoError(t, p.receive())
			require.Equal(t, []h2Event{{kind: c.want, slot: slot}}, p.take())
			if s := &p.c.streams[slot]; c.want == h2Answered {
				require.Equal(t, c.status, s.grpcStatus())
				require.Equal(t, c.messages, s.messages.count)
			}
		})
	}
}

// In lockstep a message waits for the answer to the one before.
func TestGRPCLockstep(t *testing.T) {
	p := newH2Pair(t, grpcOptions(GRPC{Messages: 3, Answers: 3, Lockstep: true}, "ping"))
	slot, stream := p.start()
	p.headers(stream, false, ":status", "200")
	for i := range 3 {
		f := p.next().(*http2.DataFrame)
		require.Equal(t, grpcMessage("ping"), f.Data())
		require.Equal(t, i == 2, f.StreamEnded())
		require.Nil(t, p.next())
		pong := grpcMessage("pong")
		p.data(stream, false, string(pong[:4]))
		require.NoError(t, p.receive())
		require.Nil(t, p.next())
		p.data(stream, false, string(pong[4:]))
		require.NoError(t, p.receive())
	}
	p.headers(stream, true, "grpc-status", "0")
	require.NoError(t, p.receive())
	require.Equal(t, []h2Event{{kind: h2Answered, slot: slot}}, p.take())

	// Without it they go as fast as the windows allow, each in frames of its own.
	p = newH2Pair(t, grpcOptions(GRPC{Messages: 3, Answers: -1}, strings.Repeat("x", 20_000)))
	_, stream = p.start()
	ends, bodies := map[uint32]int{}, map[uint32][]byte{}
	frames := p.body(ends, bodies)
	require.Len(t, frames, 6)
	require.Equal(t, bytes.Repeat(grpcMessage(strings.Repeat("x", 20_000)), 3), bodies[stream])
	require.Equal(t, 1, ends[stream])
}

func TestGRPCAndH2Specs(t *testing.T) {
	for _, s := range []Spec{
		{Protocol: H2C, GRPC: &GRPC{}, Path: "/a.B/C"},
		{Protocol: H2C, GRPC: &GRPC{Messages: 10, Answers: 9, Lockstep: true}},
		{Protocol: H2C, GRPC: &GRPC{Messages: 10, Answers: -1, Status: 16}},
		{Protocol: H2C, H2: H2{HeaderTable: -1, AnswerHeaderTable: -1, StreamWindow: 1, ConnectionWindow: 65535}},
	} {
		require.NoError(t, s.Validate())
	}
	for field, s := range map[string]Spec{
		"Spec.GRPC.Messages":        {GRPC: &GRPC{Messages: -1}},
		"Spec.GRPC.Answers":         {GRPC: &GRPC{Messages: 3, Answers: 1, Lockstep: true}},
		"Spec.GRPC.Status":          {GRPC: &GRPC{Status: 17}},
		"Spec.H2.HeaderTable":       {H2: H2{HeaderTable: -2}},
		"Spec.H2.AnswerHeaderTable": {H2: H2{AnswerHeaderTable: 1 << 30}},
		"Spec.H2.StreamWindow":      {H2: H2{StreamWindow: -1}},
		"Spec.H2.ConnectionWindow":  {H2: H2{ConnectionWindow: 65534}},
	} {
		s.Protocol = H2C
		var invalid *InvalidError
		require.ErrorAs(t, s.Validate(), &invalid)
		require.Equal(t, field, invalid.Field)
	}
}

// FuzzGRPCMessages: where the bytes are cut changes nothing.
func FuzzGRPCMessages(f *testing.F) {
	f.Add(append(grpcMessage("hello"), grpcMessage("")...), uint16(3))
	f.Fuzz(func(t *testing.T, in []byte, at uint16) {
		var whole, cut messageReader
		whole.feed(in)
		n := min(int(at), len(in))
		cut.feed(in[:n])
		cut.feed(in[n:])
		if whole.count != cut.count || whole.bytes != cut.bytes || whole.whole() != cut.whole() || whole.bytes > int64(len(in)) {
			t.Fatalf("whole %+v, cut at %d %+v", whole, n, cut)
		}
	})
}
