package loadgen

import "golang.org/x/net/http2/hpack"

// h2Options is what the HTTP/2 connections of a target are, with defaults
// filled in. Connections share it.
type h2Options struct {
	sets        [][]hpack.HeaderField // header lists of requests
	body        []byte                // of the request, or one message of it
	bodies      int64                 // how many of those follow each other; 0: no body
	lockstep    bool                  // each message but the first waits for an answer to the one before
	grpc        bool                  // answers are messages
	grpcStatus  int32                 // that they must have
	answers     int64                 // how many messages they must be; -1: any
	noBody      bool                  // HEAD: answers have no body
	streams     int                   // open at once, at most
	tableOut    int                   // header table for requests, at most; the peer may allow less
	tableIn     int                   // header table for answers, as announced
	streamSpace int64                 // window for an answer
	connSpace   int64                 // window for all answers of a connection, at least 65535
	firstStream uint32                // 0: 1
	plans       map[int]*fieldPlan    // made so far, by size of table
}

// plan is how requests are encoded for a table of size bytes.
func (o *h2Options) plan(size int) *fieldPlan {
	p := o.plans[size]
	if p == nil {
		if o.plans == nil {
			o.plans = map[int]*fieldPlan{}
		}
		p = planFields(o.sets, size)
		o.plans[size] = p
	}
	return p
}

// h2Codec is the client's end of one HTTP/2 connection as a pure state
// machine: feed takes the peer's bytes, out holds bytes for it. It knows no
// socket and no clock, and allocates nothing from request to request.
type h2Codec struct {
	opt     *h2Options
	streams []h2Stream
	ids     idTable
	active  int
	nextID  uint32

	out     []byte // from took on, for the transport
	took    int
	replies int // bytes of it at most that answer control frames

	// What the peer allows.
	settled    bool // its first SETTINGS have come
	acked      bool // it knows the settings of this end
	maxStreams int
	peerSpace  int64 // window of a new stream
	sendWindow int64
	tableSize  int // of the table for requests
	tableKnown int // what the peer takes it for
	encoder    fieldEncoder

	// What it was allowed.
	recvWindow int64
	credit     int64
	decoder    hpackDecoder

	goneAway  bool
	lastID    uint32 // streams above are not processed
	scan      int32  // slot from which feed looks for those, -1: not
	cancelled bool   // a stream was reset from here: late frames of it are in order
	broken    error

	// Bodies that may go, in turns.
	bodyHead, bodyTail int32

	reading h2Reading

	answers   int64 // complete ones
	headerOut int64 // bytes of header blocks; the owner may set it back
	headerIn  int64
}

// init makes c a new connection, with the memory of the one before.
func (c *h2Codec) init(o *h2Options) {
	streams, ids, out, reading := c.streams, c.ids, c.out[:0], c.reading
	decoder, encoder := c.decoder, c.encoder
	if len(streams) != o.streams {
		streams = make([]h2Stream, o.streams)
		ids = newIDTable(o.streams)
		out = make([]byte, 0, 4<<10)
		reading.part = make([]byte, 0, 1<<10)
		reading.block = make([]byte, 0, 1<<10)
	}
	if decoder.limit != max(o.tableIn, h2DefaultTable) {
		decoder = newHPACKDecoder(o.tableIn)
	}
	decoder.reset()
	clear(ids.ids)
	clear(streams)
	*c = h2Codec{
		opt: o, streams: streams, ids: ids, nextID: max(o.firstStream, 1), out: out,
		maxStreams: h2StreamsUnlimited, peerSpace: h2DefaultWindow, sendWindow: h2DefaultWindow,
		tableSize: min(o.tableOut, h2DefaultTable), tableKnown: h2DefaultTable, lastID: h2LastStreamID,
		recvWindow: max(o.connSpace, h2DefaultWindow), decoder: decoder, encoder: encoder,
		scan: -1, bodyHead: -1, bodyTail: -1,
		reading: h2Reading{part: reading.part[:0], block: reading.block[:0]},
	}
	c.encoder.reset(o.plan(c.tableSize), false)
	c.greet()
}

// greet writes the connection preface.
func (c *h2Codec) greet() {
	o := c.opt
	c.out = append(c.out, h2Preface...)
	at := len(c.out)
	c.out = appendH2Header(c.out, 0, h2FrameSettings, 0, 0)
	c.out = appendH2Setting(c.out, h2SettingPush, 0)
	if o.tableIn != h2DefaultTable {
		c.out = appendH2Setting(c.out, h2SettingTableSize, uint32(o.tableIn))
	}
	if o.streamSpace != h2DefaultWindow {
		c.out = appendH2Setting(c.out, h2SettingInitialWindow, uint32(o.streamSpace))
	}
	c.out[at+2] = byte(len(c.out) - at - h2FrameHeaderBytes)
	if o.connSpace > h2DefaultWindow {
		c.out = appendH2Window(c.out, 0, uint32(o.connSpace-h2DefaultWindow))
	}
}

// pending is what the transport has to take; taken tells how much it did.
func (c *h2Codec) pending() []byte { return c.out[c.took:] }

func (c *h2Codec) taken(n int) {
	if c.took += n; c.took == len(c.out) {
		c.out, c.took = c.out[:0], 0
	} else if c.took > cap(c.out)/2 {
		c.out, c.took = c.out[:copy(c.out, c.out[c.took:])], 0
	}
	c.replies = min(c.replies, len(c.out)-c.took)
	c.pump()
}

const (
	h2NoHeader = "123456789" // as long as a frame's header

	h2OutFull  = 256 << 10 // bytes not taken above which no body follows
	h2OutFlood = 1 << 20   // bytes of replies that a peer may ask for without reading them
)

// retired tells that no request can start on this connection any more.
func (c *h2Codec) retired() bool {
	return c.goneAway || c.broken != nil || c.nextID > h2LastStreamID
}

// start begins a request with one of the header lists, in a slot that is
// free. The caller keeps to maxStreams and does not ask a connection that has
// retired.
func (c *h2Codec) start(slot int32, set int) {
	s := &c.streams[slot]
	*s = h2Stream{id: c.nextID, next: -1, sendWindow: c.peerSpace, recvWindow: c.opt.streamSpace}
	if !c.acked { // the peer may not know the window yet
		s.recvWindow = max(s.recvWindow, h2DefaultWindow)
	}
	c.nextID += 2
	c.active++
	c.ids.put(s.id, slot)
	s.ended = c.opt.bodies == 0
	c.writeHead(s, set)
	if s.ended {
		return
	}
	s.released = int64(len(c.opt.body))
	if !c.opt.lockstep {
		s.released *= c.opt.bodies
	}
	c.mayGo(slot)
	c.pump()
}

// writeHead writes the header block of a request: a HEADERS frame, and
// CONTINUATION frames where one does not hold it.
func (c *h2Codec) writeHead(s *h2Stream, set int) {
	at := len(c.out)
	c.out = appendH2Header(c.out, 0, h2FrameHeaders, 0, s.id)
	c.out = c.encoder.encode(c.out, set)
	size := len(c.out) - at - h2FrameHeaderBytes
	c.headerOut += int64(size)
	var flags uint8
	if s.ended {
		flags = h2FlagEndStream
	}
	for size > h2MaxFrame { // move what is behind a frame to make room for a header
		putH2Header(c.out[at:], h2MaxFrame, flags)
		at += h2FrameHeaderBytes + h2MaxFrame
		size -= h2MaxFrame
		c.out = append(c.out, h2NoHeader...)
		copy(c.out[at+h2FrameHeaderBytes:], c.out[at:])
		appendH2Header(c.out[:at], size, h2FrameContinuation, 0, s.id)
		flags = 0
	}
	putH2Header(c.out[at:], size, flags|h2FlagEndHeaders)
}

// release gives the slot of a request up that has ended, for this end: a
// stream that has not ended is reset.
func (c *h2Codec) release(slot int32) {
	s := &c.streams[slot]
	if !s.gone && !(s.done && s.ended) {
		c.reset(s, h2Cancel)
	}
	c.ids.remove(s.id)
	if s.queued {
		c.unqueue(slot)
	}
	if s.done {
		c.answers++
	}
	s.id = 0
	c.active--
}

func (c *h2Codec) reset(s *h2Stream, code uint32) {
	c.out = appendH2Reset(c.out, s.id, code)
	c.cancelled, s.gone = true, true
}

// bye says that this end closes the connection.
func (c *h2Codec) bye() { c.out = appendH2GoAway(c.out, h2NoError) }

// fail breaks the connection and tells the peer why.
func (c *h2Codec) fail(e *h2Error) error {
	c.out = appendH2GoAway(c.out, e.code)
	c.broken = e
	return e
}
