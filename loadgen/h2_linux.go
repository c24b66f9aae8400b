package loadgen

import (
	"syscall"
)

// h2Conn is HTTP/2 on the connections of one slot: the codec, and what it
// means to the worker. Slot r of the worker's requests is stream slot
// r - conn.first of the codec.
type h2Conn struct {
	codec h2Codec
	opt   *h2Options
	feeds int64   // how often bytes have come
	since []int64 // of each slot: feeds when its request began
}

func newH2Conn(w *worker, i int32) *h2Conn {
	return &h2Conn{opt: w.targets[w.conns[i].target].h2, since: make([]int64, w.depth)}
}

// start greets the server on a new connection.
func (h *h2Conn) start(*worker, int32) { h.codec.init(h.opt) }

// request puts a request into the output.
func (h *h2Conn) request(w *worker, i, r int32) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	slot := r - c.first
	h.since[slot] = h.feeds
	h.codec.start(slot, t.nextSet())
	if h.codec.retired() { // it has used up its stream numbers
		w.retire(i)
	}
	h.count(t)
}

// count takes over what the codec has counted.
func (h *h2Conn) count(t *workerTarget) {
	t.counts.HeaderBytesOut += h.codec.headerOut
	t.counts.HeaderBytesIn += h.codec.headerIn
	h.codec.headerOut, h.codec.headerIn = 0, 0
}

// feed takes bytes of the server. The error is why the connection is broken.
func (h *h2Conn) feed(w *worker, i int32, b []byte) error {
	h.feeds++
	t := &w.targets[w.conns[i].target]
	for {
		n, e, err := h.codec.feed(b)
		b = b[n:]
		if err != nil {
			h.count(t)
			// The connection is closed after this: so much as the kernel takes
			// at once tells the server why.
			_, _ = w.wireSend(&w.conns[i], h.codec.pending())
			return err
		}
		switch e.kind {
		case h2Nothing: // all of it is taken
			h.count(t)
			return nil
		case h2Changed:
			h.changed(w, i)
		default:
			h.over(w, i, e)
		}
	}
}

// changed follows the settings of the server, and its wish to go.
func (h *h2Conn) changed(w *worker, i int32) {
	c := &w.conns[i]
	w.setLimit(i, int64(h.codec.maxStreams))
	if c.state == connGreeting {
		w.opened(i)
	}
	if h.codec.goneAway {
		w.targets[c.target].counts.GoAways++
		w.retire(i)
	}
}

// over gives a request its end.
func (h *h2Conn) over(w *worker, i int32, e h2Event) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	r := c.first + e.slot
	s := &h.codec.streams[e.slot]
	h.release(t, e.slot)
	switch e.kind {
	case h2Answered:
		h.answered(w, r, s)
	case h2Malformed:
		w.fail(r, failFraming)
	case h2WasReset:
		t.counts.Resets++
		w.fail(r, failReset)
	case h2Unprocessed:
		if e.code == h2RefusedStream {
			t.counts.StreamsRefused++
		}
		w.giveBack(r)
	}
}

// release frees the stream of a request; what it says stays readable until
// the slot is used again.
func (h *h2Conn) release(t *workerTarget, slot int32) {
	if h.opt.grpc {
		s := &h.codec.streams[slot]
		t.counts.MessagesOut += s.position / int64(len(h.opt.body))
		t.counts.MessagesIn += s.messages.count
	}
	h.codec.release(slot)
}

// answered judges the part of an answer that only gRPC has, and hands it on.
func (h *h2Conn) answered(w *worker, r int32, s *h2Stream) {
	status, bytes := s.fields.status, s.bodyBytes
	if h.opt.grpc {
		bytes = s.messages.bytes
		if status == w.spec.Expect.Status { // without it the rest means nothing
			switch {
			case s.grpcStatus() != h.opt.grpcStatus:
				w.conns[w.requests[r].conn].answers++
				w.fail(r, failGRPC)
				return
			case h.opt.answers >= 0 && s.messages.count != h.opt.answers:
				w.conns[w.requests[r].conn].answers++
				w.fail(r, failBody)
				return
			}
		}
	}
	w.complete(r, status, bytes, h.opt.noBody)
}

func (h *h2Conn) output() []byte { return h.codec.pending() }

func (h *h2Conn) wrote(n int) { h.codec.taken(n) }

// cancel gives a request up. A connection on which nothing at all has come
// since it began may be dead: it takes no other.
func (h *h2Conn) cancel(w *worker, i, r int32) {
	c := &w.conns[i]
	slot := r - c.first
	h.release(&w.targets[c.target], slot)
	if h.since[slot] == h.feeds {
		w.retire(i)
	}
}

// ended gives every request of a connection that is lost its end. One of
// which nothing has come is sent again, if the connection had carried answers
// before; none is where the server has broken the protocol.
func (h *h2Conn) ended(w *worker, i int32, _ syscall.Errno) {
	c := &w.conns[i]
	t := &w.targets[c.target]
	for slot := range h.codec.streams {
		s := &h.codec.streams[slot]
		if s.id == 0 {
			continue
		}
		r := c.first + int32(slot)
		answering := s.answering()
		h.release(t, int32(slot))
		switch {
		case h.codec.broken != nil:
			w.fail(r, failFraming)
		case answering || c.answers == 0:
			w.fail(r, failClosed)
		default:
			w.again(r, maxTries)
		}
	}
	h.count(t)
}

// farewell says that this end closes the connection.
func (h *h2Conn) farewell() { h.codec.bye() }
