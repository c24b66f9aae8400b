package loadgen

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

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
	f.Add(pieces(settings, appendH2Header(nil, 6, h2FrameSettings, 0, 0), appendH2Setting(nil, h2SettingInitialWindow, 0), appendH2Window(nil, 0, 1000)), uint16(9), uint16(27))
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
