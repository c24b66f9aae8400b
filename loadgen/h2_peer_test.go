package loadgen

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// GOAWAY with a last stream: those above are not processed, those below
// finish, nothing new starts (nghttp2#1584's neighbours #1197 and #981,
// golang/go#18112 and #18639: clients that idled or failed requests here).
func TestReportNghttp2_1197GoAwayNoError(t *testing.T) {
	p := newH2Pair(t, testOptions())
	var slots []int32
	for range 4 {
		slot, _ := p.start()
		slots = append(slots, slot)
	}
	require.NoError(t, p.framer.WriteGoAway(3, http2.ErrCodeNo, []byte("1000 streams are enough")))
	require.NoError(t, p.receive())
	require.Equal(t, []h2Event{{kind: h2Changed}, {kind: h2Unprocessed, slot: slots[2]}, {kind: h2Unprocessed, slot: slots[3]}}, p.take())
	require.True(t, p.c.retired())
	p.c.release(slots[2])
	p.c.release(slots[3])
	for i, stream := range []uint32{1, 3} {
		p.headers(stream, true, ":status", "200")
		require.NoError(t, p.receive())
		require.Equal(t, []h2Event{{kind: h2Answered, slot: slots[i]}}, p.take())
		p.c.release(slots[i])
	}
	require.Zero(t, p.c.active)
	require.Nil(t, p.next()) // nothing was reset: the server knows
}

// A graceful server first says that it will go, with the highest stream
// there is, and then where it stopped.
func TestReportGo18639GoAwayTwice(t *testing.T) {
	p := newH2Pair(t, testOptions())
	one, _ := p.start()
	require.NoError(t, p.framer.WriteGoAway(1<<31-1, http2.ErrCodeNo, nil))
	require.NoError(t, p.receive())
	require.Equal(t, []h2Event{{kind: h2Changed}}, p.take())
	require.True(t, p.c.retired())
	require.NoError(t, p.framer.WriteGoAway(1, http2.ErrCodeNo, nil))
	p.headers(1, true, ":status", "200")
	require.NoError(t, p.receive())
	require.Equal(t, []h2Event{{kind: h2Changed}, {kind: h2Answered, slot: one}}, p.take())

	p = newH2Pair(t, testOptions())
	one, _ = p.start()
	two, _ := p.start()
	p.headers(1, false, ":status", "200")
	require.NoError(t, p.framer.WriteGoAway(1<<31-1, http2.ErrCodeNo, nil))
	require.NoError(t, p.framer.WriteGoAway(0, http2.ErrCodeInternal, nil))
	require.NoError(t, p.receive())
	require.Equal(t, []h2Event{{kind: h2Changed}, {kind: h2Changed}, {kind: h2WasReset, slot: one}, {kind: h2Unprocessed, slot: two}}, p.take(),
		"an answer that has begun was processed, whatever the server says then")
}

// The last streams of a connection, whose numbers end at 2^31-1: it retires
// without an error (golang/go#60036, envoy#19257).
func TestReportGo60036StreamIDsEnd(t *testing.T) {
	o := testOptions()
	o.firstStream = 1<<31 - 3
	p := newH2Pair(t, o)
	for _, want := range []uint32{1<<31 - 3, 1<<31 - 1} {
		require.False(t, p.c.retired())
		slot, stream := p.start()
		require.Equal(t, want, stream)
		p.headers(stream, true, ":status", "200")
		require.NoError(t, p.receive())
		require.Equal(t, []h2Event{{kind: h2Answered, slot: slot}}, p.take())
		p.c.release(slot)
	}
	require.True(t, p.c.retired())
	require.NoError(t, p.c.broken)
}

func TestH2PingAndWhatIsIgnored(t *testing.T) {
	p := newH2Pair(t, testOptions())
	p.framer.AllowIllegalWrites = true
	slot, stream := p.start()
	require.NoError(t, p.framer.WritePing(false, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}))
	require.NoError(t, p.framer.WritePing(true, [8]byte{9}))
	require.NoError(t, p.framer.WritePriority(stream, http2.PriorityParam{StreamDep: 7, Weight: 9}))
	require.NoError(t, p.framer.WriteRawFrame(0xbe, 0xff, 77, bytes.Repeat([]byte{1}, 300)))
	require.NoError(t, p.framer.WriteRawFrame(0xbe, 0, 0, nil))
	require.NoError(t, p.framer.WriteSettings(http2.Setting{ID: 0xf00d, Val: 1}, http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 1}))
	require.NoError(t, p.framer.WriteWindowUpdate(stream, 1))
	p.headers(stream, true, ":status", "200")
	require.NoError(t, p.receive())
	require.Equal(t, []h2Event{{kind: h2Changed}, {kind: h2Answered, slot: slot}}, p.take())
	ping := p.next().(*http2.PingFrame)
	require.True(t, ping.IsAck())
	require.Equal(t, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, ping.Data)
	require.True(t, p.next().(*http2.SettingsFrame).IsAck())
	require.Nil(t, p.next())
}

// The peer changes its header table: requests say so, decode in a table of
// that size, and never use more (size 0 included).
func TestH2HeaderTableFollowsThePeer(t *testing.T) {
	o := testOptions()
	o.tableOut = 16384
	for i := range 60 {
		o.sets[0] = append(o.sets[0], hpack.HeaderField{Name: fmt.Sprintf("x-header-%d", i), Value: strings.Repeat("v", 80)})
	}
	p := newH2Pair(t, o)
	bytesOf := func() (first, second int64) {
		for _, n := range []*int64{&first, &second} {
			p.c.headerOut = 0
			slot, stream := p.start() // the server has decoded the same fields
			*n = p.c.headerOut
			p.headers(stream, true, ":status", "200")
			require.NoError(t, p.receive())
			p.c.release(slot)
		}
		return
	}
	set := func(sizes ...uint32) {
		for _, size := range sizes {
			p.framer.ReadMetaHeaders.SetAllowedMaxDynamicTableSize(size)
			require.NoError(t, p.framer.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: size}))
		}
		require.NoError(t, p.receive())
		for range sizes {
			require.True(t, p.next().(*http2.SettingsFrame).IsAck())
		}
	}
	defaultFirst, defaultSecond := bytesOf()
	require.Less(t, defaultSecond, defaultFirst)
	set(0)
	none, noneAgain := bytesOf()
	require.Equal(t, none, noneAgain+1, "one byte says that the table is empty")
	require.Greater(t, noneAgain, defaultFirst-100)
	set(1 << 20) // more than this end uses
	first, all := bytesOf()
	require.Less(t, all, int64(80))
	require.Less(t, defaultSecond, first)
	set(0, 1<<20) // as before, but the peer has emptied it
	again, allAgain := bytesOf()
	require.Equal(t, first, again)
	require.Equal(t, all, allAgain)
	set(1 << 21) // no change to this end
	all, allAgain = bytesOf()
	require.Equal(t, all, allAgain)
	t.Logf("bytes of a block: table of 4096 %d then %d, 0: %d, 16384: %d then %d", defaultFirst, defaultSecond, noneAgain, first, all)

	o.tableOut = 0 // the user's choice, whatever the peer allows
	o.plans = nil
	p = newH2Pair(t, o, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 65536})
	none, _ = bytesOf()
	require.Equal(t, noneAgain, none)
}

// Both values of a table that is lowered and raised in one frame count.
func TestH2HeaderTableLoweredAndRaisedAtOnce(t *testing.T) {
	p := newH2Pair(t, testOptions())
	for range 2 {
		slot, stream := p.start()
		p.headers(stream, true, ":status", "200")
		require.NoError(t, p.receive())
		p.c.release(slot)
	}
	p.framer.ReadMetaHeaders.SetMaxDynamicTableSize(0) // empties it
	p.framer.ReadMetaHeaders.SetAllowedMaxDynamicTableSize(4096)
	require.NoError(t, p.framer.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 4096}))
	require.NoError(t, p.receive())
	require.True(t, p.next().(*http2.SettingsFrame).IsAck())
	p.start()
	p.start()
}

// A head of any size goes out, in as many frames as it needs.
func TestH2LongHead(t *testing.T) {
	for _, size := range []int{h2MaxFrame - 100, h2MaxFrame, h2MaxFrame + 1, 2*h2MaxFrame - 30, 100_000} {
		o := testOptions()
		o.tableOut = 0
		o.sets[0] = append(o.sets[0], hpack.HeaderField{Name: "x-long", Value: strings.Repeat("|", size)}) // longer in Huffman code
		p := newH2Pair(t, o)
		slot, stream := p.start() // the framer has joined them
		require.Greater(t, p.c.headerOut, int64(size))
		p.headers(stream, true, ":status", "200")
		require.NoError(t, p.receive())
		p.c.release(slot)
		p.start()
	}
}

// Requests that the server is slow to take are no flood of replies.
func TestH2ManyLongHeadsAreNoFlood(t *testing.T) {
	o := testOptions()
	o.tableOut, o.streams = 0, 300
	o.sets[0] = append(o.sets[0], hpack.HeaderField{Name: "x-long", Value: strings.Repeat("|", 10_000)})
	p := newH2Pair(t, o)
	for i := range int32(300) {
		p.c.start(i, 0)
	}
	require.Greater(t, len(p.c.pending()), 2*h2OutFlood)
	for range 1000 {
		require.NoError(t, p.framer.WritePing(false, [8]byte{}))
	}
	require.NoError(t, p.receive())
	p.send()
	require.Zero(t, p.c.replies)
}

// Requests allocate nothing, with answers whose heads use the table and
// change it.
func TestH2CodecAllocatesNothing(t *testing.T) {
	for _, o := range []func(*h2Options){
		func(*h2Options) {},
		func(o *h2Options) { o.body, o.bodies = make([]byte, 40_000), 1 },
		func(o *h2Options) {
			o.grpc, o.lockstep, o.body, o.bodies = true, true, grpcMessage("message"), 3
		},
	} {
		opt := testOptions()
		o(opt)
		p := newH2Pair(t, opt, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
		var head, answer, update []byte
		update = appendH2Window(nil, 0, uint32(max(1, int64(len(opt.body))*opt.bodies)))
		head = bytes.Clone(p.encode(":status", "200", "server", "x", "x-count", "1"))
		changing := bytes.Clone(p.encode(":status", "200", "date", "now"))
		var buf []byte
		stream := uint32(1)
		round := func(block []byte) {
			p.c.start(0, 0)
			p.c.taken(len(p.c.pending()))
			answer = appendH2Header(answer[:0], len(block), h2FrameHeaders, h2FlagEndHeaders, stream)
			answer = append(answer, block...)
			answer = append(appendH2Header(answer, 3*7, h2FrameData, 0, stream), "\x00\x00\x00\x00\x02ok\x00\x00\x00\x00\x02ok\x00\x00\x00\x00\x02ok"...)
			answer = appendH2Header(answer, 0, h2FrameData, h2FlagEndStream, stream)
			buf = append(append(buf[:0], update...), answer...)
			done := false
			for b := buf; len(b) > 0; {
				n, e, err := p.c.feed(b)
				if err != nil {
					t.Fatal(err)
				}
				b = b[n:]
				if e.kind == h2Answered {
					p.c.release(e.slot)
					done = true
				}
				p.c.taken(len(p.c.pending()))
			}
			if !done {
				t.Fatal("no answer")
			}
			stream += 2
		}
		round(head)
		round(changing)
		buf = make([]byte, 0, 4096)
		same, fresh := []byte{0x88}, []byte{0x88, 0x61, 0x01, 'x'} // date: x, a new entry of the table
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			round(same)
			round(fresh)
		}))
	}
}

// FuzzH2Feed: no panic, and where the bytes are cut changes nothing.
func FuzzH2Feed(f *testing.F) {
	pieces := func(frames ...[]byte) []byte { return bytes.Join(frames, nil) }
	settings := appendH2Header(nil, 0, h2FrameSettings, 0, 0)
	head := append(appendH2Header(nil, 1, h2FrameHeaders, h2FlagEndHeaders, 1), 0x88)
	body := append(appendH2Header(nil, 4, h2FrameData, h2FlagEndStream|h2FlagPadded, 1), "\x01ab\x00"...)
	f.Add(pieces(settings, head, body), uint16(3), uint16(20))
	f.Add(pieces(settings, appendH2Header(nil, 1, h2FrameHeaders, h2FlagEndStream, 3), []byte{0x88}, appendH2Header(nil, 0, h2FrameContinuation, h2FlagEndHeaders, 3)), uint16(10), uint16(19))
	f.Add(pieces(settings, appendH2Header(nil, 8, h2FrameGoAway, 0, 0), []byte{0, 0, 0, 1, 0, 0, 0, 0}, head, body), uint16(9), uint16(27))
	f.Add(pieces(settings, appendH2Reset(nil, 5, h2RefusedStream), appendH2Window(nil, 1, 9), appendH2Window(nil, 0, 100), appendH2Header(nil, 0, 0xee, 0, 1)), uint16(9), uint16(27))
	f.Add(pieces(appendH2Header(nil, 12, h2FrameSettings, 0, 0), appendH2Setting(appendH2Setting(nil, 1, 0), 4, 1), head), uint16(9), uint16(27))
	fuzzBody := make([]byte, 17_000) // more than a frame
	f.Fuzz(func(t *testing.T, in []byte, a, b uint16) {
		play := func(cuts ...int) string {
			var log strings.Builder
			c := &h2Codec{}
			o := testOptions()
			o.body, o.bodies, o.grpc = fuzzBody, 2, len(in)%2 == 0
			c.init(o)
			from := 0
			for _, to := range append(cuts, len(in)) {
				for from < to {
					n, e, err := c.feed(in[from:to])
					if n > to-from || n == 0 && e.kind == h2Nothing && err == nil {
						t.Fatalf("took %d of %d", n, to-from)
					}
					from += n
					if err != nil {
						fmt.Fprintf(&log, "%v; ", err)
						break
					}
					if e.kind == h2Changed {
						for i := range int32(4) {
							if c.streams[i].id == 0 && !c.retired() {
								c.start(i, 0)
							}
						}
					} else if e.kind != h2Nothing {
						s := c.streams[e.slot]
						fmt.Fprintf(&log, "%v %d %d %d %d; ", e, s.id, s.fields.status, s.bodyBytes, s.messages.count)
						c.release(e.slot)
					}
				}
				if c.broken != nil {
					break
				}
			}
			fmt.Fprintf(&log, "active %d, windows %d %d, header %d, out %x", c.active, c.sendWindow, c.recvWindow, c.headerIn, sha256.Sum256(c.pending()))
			return log.String()
		}
		x, y := min(int(a), len(in)), min(int(b), len(in))
		whole, cut := play(), play(min(x, y), max(x, y))
		if whole != cut {
			t.Fatalf("whole:\n%s\ncut at %d and %d:\n%s", whole, x, y, cut)
		}
	})
}
