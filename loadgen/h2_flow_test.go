package loadgen

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

// A window below the default holds from the peer's acknowledgement on, for
// open streams too.
func TestH2SmallWindow(t *testing.T) {
	o := testOptions()
	o.streamSpace = 1000
	p := newH2Pair(t, o)
	_, stream := p.start()
	p.headers(stream, false, ":status", "200")
	for range 10 { // given back in halves
		p.data(stream, false, strings.Repeat("x", 500))
		require.NoError(t, p.receive())
		require.EqualValues(t, 500, p.next().(*http2.WindowUpdateFrame).Increment)
		require.Nil(t, p.next())
	}
	p.data(stream, false, strings.Repeat("x", 1001))
	require.ErrorIs(t, p.receive(), errH2Overrun)

	// Before it has acknowledged it may use the default.
	c := &h2Codec{}
	c.init(o)
	require.NoError(t, c.set(nil))
	const slot = 0
	c.start(slot, 0)
	require.EqualValues(t, h2DefaultWindow, c.streams[slot].recvWindow)
	c.reading.frame = h2Header{kind: h2FrameData, stream: 1, length: 1400}
	require.NoError(t, c.beginData())
	c.takeAck()
	require.EqualValues(t, 1000, c.streams[slot].recvWindow) // what came was given back
}

// The connection gives back what was taken in one update for half a window,
// padding and streams that have ended included.
func TestH2ConnectionWindowUpdates(t *testing.T) {
	o := testOptions()
	o.connSpace = 100_000
	p := newH2Pair(t, o)
	p.framer.AllowIllegalWrites = true
	updates, taken := 0, 0
	for taken < 1_000_000 {
		slot, stream := p.start()
		p.headers(stream, false, ":status", "200")
		require.NoError(t, p.receive())
		p.c.release(slot) // cancelled: the data comes all the same
		require.IsType(t, &http2.RSTStreamFrame{}, p.next())
		require.NoError(t, p.framer.WriteDataPadded(stream, true, make([]byte, 9900), make([]byte, 99)))
		taken += 10_000
		require.NoError(t, p.receive())
		for f := p.next(); f != nil; f = p.next() {
			require.Zero(t, f.Header().StreamID)
			require.EqualValues(t, 50_000, f.(*http2.WindowUpdateFrame).Increment)
			updates++
		}
	}
	require.Equal(t, 20, updates)
}

// body reads the DATA that a connection has sent of each stream.
func (p *h2Pair) body(ends map[uint32]int, bodies map[uint32][]byte) (frames []uint32) {
	for f := p.next(); f != nil; f = p.next() {
		d, ok := f.(*http2.DataFrame)
		if !ok {
			continue
		}
		frames = append(frames, d.StreamID)
		bodies[d.StreamID] = append(bodies[d.StreamID], d.Data()...)
		if d.StreamEnded() {
			ends[d.StreamID]++
		}
	}
	return frames
}

// A body goes out as the windows of the peer allow: of the connection, of
// the stream, and as SETTINGS change them, to below zero and back.
func TestH2BodyUnderWindows(t *testing.T) {
	o := testOptions()
	o.body, o.bodies = bytes.Repeat([]byte("0123456789"), 10_000), 1
	p := newH2Pair(t, o, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1000})
	slot, stream := p.start()
	ends, bodies := map[uint32]int{}, map[uint32][]byte{}
	settle := func(want int) {
		t.Helper()
		require.NoError(t, p.receive())
		p.body(ends, bodies)
		require.Len(t, bodies[stream], want)
		require.Equal(t, o.body[:want], bodies[stream])
	}
	settle(1000)
	p.framer.WriteWindowUpdate(stream, 500)
	settle(1500)
	p.framer.WriteWindowUpdate(0, 1_000)
	settle(1500) // the stream's own window is used up
	p.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	settle(1500)
	require.EqualValues(t, -1000, p.c.streams[slot].sendWindow)
	p.framer.WriteWindowUpdate(stream, 1000)
	settle(1500)
	p.framer.WriteWindowUpdate(stream, 1)
	settle(1501)
	p.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: math.MaxInt32})
	settle(66_535) // now it is the connection's
	p.framer.WriteWindowUpdate(0, 100_000)
	settle(100_000)
	require.Equal(t, 1, ends[stream])
	p.headers(stream, true, ":status", "200")
	require.NoError(t, p.receive())
	require.Equal(t, h2Answered, p.take()[2].kind)
}

// Bodies of several streams share the connection's window frame by frame.
func TestH2BodiesTakeTurns(t *testing.T) {
	o := testOptions()
	o.body, o.bodies = make([]byte, 100_000), 1
	p := newH2Pair(t, o, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	var slots []int32
	for range 3 {
		slots = append(slots, p.begin())
	}
	ends, bodies := map[uint32]int{}, map[uint32][]byte{}
	require.Equal(t, []uint32{1, 1, 1, 1}, p.body(ends, bodies)) // all of 65535
	p.framer.WriteWindowUpdate(0, 6*h2MaxFrame)
	require.NoError(t, p.receive())
	require.Equal(t, []uint32{1, 3, 5, 1, 3, 5}, p.body(ends, bodies))
	p.c.release(slots[1]) // from the middle of the list
	p.framer.WriteWindowUpdate(0, 1<<20)
	require.NoError(t, p.receive())
	p.body(ends, bodies)
	require.Equal(t, map[uint32]int{1: 1, 5: 1}, ends)
	require.Len(t, bodies[1], 100_000)
	require.Len(t, bodies[5], 100_000)
	require.Less(t, len(bodies[3]), 100_000)
	require.EqualValues(t, -1, p.c.bodyHead)
	require.EqualValues(t, -1, p.c.bodyTail)
}

// A body that waits for the connection's window loses its own meanwhile: to
// nothing, or to less.
func TestH2WaitingBodyLosesItsWindow(t *testing.T) {
	for _, window := range []uint32{h2DefaultWindow, 0} {
		o := testOptions()
		o.body, o.bodies = make([]byte, 100_000), 1
		p := newH2Pair(t, o, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		_, stream := p.start()
		ends, bodies := map[uint32]int{}, map[uint32][]byte{}
		p.body(ends, bodies)
		require.Len(t, bodies[stream], h2DefaultWindow)
		p.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
		p.framer.WriteWindowUpdate(0, 1000)
		require.NoError(t, p.receive())
		require.Empty(t, p.body(ends, bodies))
		p.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		p.framer.WriteWindowUpdate(0, 1<<20)
		require.NoError(t, p.receive())
		p.body(ends, bodies)
		require.Len(t, bodies[stream], 100_000)
		require.Equal(t, 1, ends[stream])
	}
}

// An answer that is whole before the body has gone ends the request; the
// stream is reset, and its late frames harm nobody.
func TestH2AnswerBeforeTheBodyIsSent(t *testing.T) {
	o := testOptions()
	o.body, o.bodies = make([]byte, 200_000), 1
	p := newH2Pair(t, o)
	slot, stream := p.start()
	p.headers(stream, true, ":status", "200")
	require.NoError(t, p.receive())
	require.Equal(t, []h2Event{{kind: h2Answered, slot: slot}}, p.take())
	p.c.release(slot)
	var last http2.Frame
	for f := p.next(); f != nil; f = p.next() {
		last = f
	}
	require.Equal(t, http2.ErrCodeCancel, last.(*http2.RSTStreamFrame).ErrCode)
	p.framer.WriteRSTStream(stream, http2.ErrCodeNo)
	p.framer.WriteWindowUpdate(stream, 100)
	require.NoError(t, p.receive())
	require.Zero(t, p.c.active)
}
