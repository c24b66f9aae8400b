package loadgen

import "encoding/binary"

// h2Reading is where in the peer's bytes a connection is.
type h2Reading struct {
	begun    bool // SETTINGS have come as the first frame
	inFrame  bool
	frame    h2Header
	head     [h2FrameHeaderBytes]byte
	headUsed int
	left     int    // of the payload, where it is not needed in one piece
	padding  int    // DATA: how much of that is padding, -1: not known yet
	slot     int32  // DATA: of which request, -1: of none that is open
	part     []byte // payload that is needed in one piece and has come in several

	block       []byte // header block that has come in several frames
	blockStream uint32 // whose CONTINUATION must be next, 0: none
	blockEnds   bool   // it ends the stream
}

// h2EventKind is what feed stops for.
type h2EventKind uint8

const (
	h2Nothing     h2EventKind = iota
	h2Answered                // a whole answer
	h2Malformed               // an answer that is none; the stream is reset
	h2WasReset                // the peer has reset the stream
	h2Unprocessed             // the peer has said that it did not look at the request
	h2Changed                 // SETTINGS or GOAWAY have come
)

// h2Event is what happened to a request. The owner has to release its slot
// before it goes on, except after h2Changed.
type h2Event struct {
	kind h2EventKind
	slot int32
	code uint32 // error code of a reset
}

// feed takes the peer's bytes until something has happened or b is used up.
// It returns how many it took; call it again with the rest. The error breaks
// the connection, and why has been put into the output.
func (c *h2Codec) feed(b []byte) (n int, e h2Event, err error) {
	if c.broken != nil {
		return 0, e, c.broken
	}
	r := &c.reading
	for {
		if c.scan >= 0 {
			if e = c.nextUnprocessed(); e.kind != h2Nothing {
				return n, e, nil
			}
		}
		if n == len(b) && !(r.inFrame && r.left == 0) {
			return n, e, nil
		}
		if !r.inFrame {
			took, whole := c.readHead(b[n:])
			n += took
			if !whole {
				return n, e, c.broken
			}
			if err := c.beginFrame(); err != nil {
				return n, e, err
			}
		}
		var took int
		took, e, err = c.readPayload(b[n:])
		n += took
		if err == nil && c.replies > h2OutFlood {
			err = c.fail(errH2Flood)
		}
		if e.kind != h2Nothing || err != nil {
			return n, e, err
		}
	}
}

// readHead collects the header of a frame.
func (c *h2Codec) readHead(b []byte) (n int, whole bool) {
	r := &c.reading
	if r.headUsed == 0 && len(b) >= h2FrameHeaderBytes {
		r.frame = parseH2Header(b)
		n = h2FrameHeaderBytes
	} else {
		n = copy(r.head[r.headUsed:], b)
		if r.headUsed += n; r.headUsed < h2FrameHeaderBytes {
			return n, false
		}
		r.frame, r.headUsed = parseH2Header(r.head[:]), 0
	}
	if !r.begun {
		r.begun = true
		switch {
		case r.frame.length == 'H'<<16|'T'<<8|'T' && r.frame.kind == 'P':
			_ = c.fail(errH2NotSpoken)
			return n, false
		case r.frame.kind != h2FrameSettings || r.frame.flags&h2FlagAck != 0:
			_ = c.fail(errH2NoSettings)
			return n, false
		}
	}
	return n, true
}

// beginFrame checks what a header alone shows.
func (c *h2Codec) beginFrame() error {
	r := &c.reading
	f := r.frame
	r.inFrame, r.left, r.part = true, f.length, r.part[:0]
	if f.length > h2MaxFrame {
		return c.fail(errH2FrameSize)
	}
	if r.blockStream != 0 && (f.kind != h2FrameContinuation || f.stream != r.blockStream) {
		return c.fail(errH2Continuation)
	}
	onStream, size := false, -1
	switch f.kind {
	case h2FrameData, h2FrameHeaders:
		onStream = true
	case h2FrameContinuation:
		if onStream = true; r.blockStream == 0 {
			return c.fail(errH2Continuation)
		}
	case h2FramePriority:
		onStream, size = true, 5
	case h2FrameReset:
		onStream, size = true, 4
	case h2FramePing:
		size = 8
	case h2FrameGoAway:
		if f.length < 8 {
			return c.fail(errH2FrameSize)
		}
	case h2FrameSettings:
		if f.length%h2SettingBytes != 0 || f.flags&h2FlagAck != 0 && f.length > 0 {
			return c.fail(errH2FrameSize)
		}
	case h2FrameWindow:
		onStream, size = f.stream != 0, 4
	case h2FramePush:
		return c.fail(errH2Push)
	default: // a type of an extension, which is to be ignored
		return nil
	}
	if size >= 0 && f.length != size {
		return c.fail(errH2FrameSize)
	}
	if onStream != (f.stream != 0) {
		return c.fail(errH2StreamZero)
	}
	if f.kind == h2FrameData {
		return c.beginData()
	}
	return nil
}

// readPayload takes what there is of a frame's payload, and acts when it is
// whole.
func (c *h2Codec) readPayload(b []byte) (n int, e h2Event, err error) {
	r := &c.reading
	switch {
	case r.frame.kind == h2FrameData:
		return c.readData(b)
	case r.frame.kind > h2FrameContinuation:
		n = min(r.left, len(b))
		r.left -= n
		r.inFrame = r.left > 0
		return n, e, nil
	}
	payload := b
	n = min(r.left, len(b))
	r.left -= n
	if r.left > 0 || len(r.part) > 0 {
		r.part = append(r.part, b[:n]...)
		if r.left > 0 {
			return n, e, nil
		}
		payload = r.part
	} else {
		payload = b[:n]
	}
	r.inFrame = false
	e, err = c.take(payload)
	return n, e, err
}

// take acts on a whole frame that is no DATA.
func (c *h2Codec) take(payload []byte) (e h2Event, err error) {
	f := c.reading.frame
	switch f.kind {
	case h2FrameHeaders:
		return c.takeHeaders(payload)
	case h2FrameContinuation:
		return c.takeContinuation(payload)
	case h2FrameReset:
		return c.takeReset(binary.BigEndian.Uint32(payload))
	case h2FrameSettings:
		if f.flags&h2FlagAck != 0 {
			c.takeAck()
			return e, nil
		}
		return h2Event{kind: h2Changed}, c.set(payload)
	case h2FramePing:
		if f.flags&h2FlagAck == 0 {
			c.out = append(appendH2Header(c.out, len(payload), h2FramePing, h2FlagAck, 0), payload...)
			c.replies += h2FrameHeaderBytes + len(payload)
		}
	case h2FrameGoAway:
		return c.takeGoAway(binary.BigEndian.Uint32(payload) & h2LastStreamID)
	case h2FrameWindow:
		return e, c.takeWindow(int64(binary.BigEndian.Uint32(payload) & h2MaxWindow))
	}
	return e, nil
}

// takeAck: from here on the peer keeps to the window of this end. Streams
// that are open had a larger one where it is below the default.
func (c *h2Codec) takeAck() {
	if c.acked {
		return
	}
	c.acked = true
	if less := h2DefaultWindow - c.opt.streamSpace; less > 0 {
		for i := range c.streams {
			c.streams[i].recvWindow -= less
		}
	}
}

func (c *h2Codec) takeWindow(increment int64) error {
	if increment == 0 {
		return c.fail(errH2WindowZero)
	}
	stream := c.reading.frame.stream
	if stream == 0 {
		if c.sendWindow += increment; c.sendWindow > h2MaxWindow {
			return c.fail(errH2Window)
		}
		c.pump()
		return nil
	}
	slot, err := c.open(stream)
	if err != nil || slot < 0 {
		return err
	}
	if err := c.space(slot, increment); err != nil {
		return err
	}
	c.pump()
	return nil
}

// open is the slot of a stream, -1 if it has ended. A stream that was never
// opened breaks the connection.
func (c *h2Codec) open(stream uint32) (int32, error) {
	if stream&1 == 0 || stream >= c.nextID {
		return -1, c.fail(errH2IdleStream)
	}
	return c.ids.slot(stream), nil
}

func (c *h2Codec) takeReset(code uint32) (e h2Event, err error) {
	slot, err := c.open(c.reading.frame.stream)
	if err != nil || slot < 0 {
		return e, err
	}
	c.streams[slot].gone = true
	e = h2Event{kind: h2WasReset, slot: slot, code: code}
	if code == h2RefusedStream && !c.streams[slot].answering() {
		e.kind = h2Unprocessed
	}
	return e, nil
}

// takeGoAway: no request follows, and those above the last one are reported
// as not processed. A second one, of a server that first said that it will
// go and then where it stopped, may lower the last.
func (c *h2Codec) takeGoAway(last uint32) (e h2Event, err error) {
	if c.goneAway && last > c.lastID {
		return e, c.fail(errH2GoAwayRises)
	}
	c.goneAway, c.lastID, c.scan = true, last, 0
	return h2Event{kind: h2Changed}, nil
}

func (c *h2Codec) nextUnprocessed() h2Event {
	for int(c.scan) < len(c.streams) {
		slot := c.scan
		c.scan++
		if s := &c.streams[slot]; s.id > c.lastID {
			s.gone = true
			if s.answering() { // it has contradicted itself
				return h2Event{kind: h2WasReset, slot: slot}
			}
			return h2Event{kind: h2Unprocessed, slot: slot}
		}
	}
	c.scan = -1
	return h2Event{}
}
