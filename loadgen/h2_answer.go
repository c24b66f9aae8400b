package loadgen

// beginData takes the whole frame off the windows, padding included, and
// gives back what has been taken when that is half a window.
func (c *h2Codec) beginData() error {
	r := &c.reading
	size := int64(r.frame.length)
	if r.padding = 0; r.frame.flags&h2FlagPadded != 0 {
		if r.padding = -1; size == 0 {
			return c.fail(errH2Padding)
		}
	}
	var err error
	if r.slot, err = c.open(r.frame.stream); err != nil {
		return err
	}
	if r.slot < 0 && !c.cancelled {
		return c.fail(errH2ClosedStream)
	}
	if c.recvWindow -= size; c.recvWindow < 0 {
		return c.fail(errH2Overrun)
	}
	if c.credit += size; c.credit >= max(c.opt.connSpace, h2DefaultWindow)/2 {
		c.out = appendH2Window(c.out, 0, uint32(c.credit))
		c.recvWindow += c.credit
		c.credit = 0
	}
	if r.slot < 0 {
		return nil
	}
	s := &c.streams[r.slot]
	if s.recvWindow -= size; s.recvWindow < 0 {
		return c.fail(errH2Overrun)
	}
	if s.credit += size; s.credit > 0 && s.credit >= c.opt.streamSpace/2 && r.frame.flags&h2FlagEndStream == 0 {
		c.out = appendH2Window(c.out, s.id, uint32(s.credit))
		s.recvWindow += s.credit
		s.credit = 0
	}
	return nil
}

// readData takes what there is of a DATA frame.
func (c *h2Codec) readData(b []byte) (n int, e h2Event, err error) {
	r := &c.reading
	if r.padding < 0 && len(b) > 0 {
		r.padding = int(b[0])
		n = 1
		if r.left--; r.padding > r.left {
			return n, e, c.fail(errH2Padding)
		}
	}
	if r.padding >= 0 {
		if take := min(r.left-r.padding, len(b)-n); take > 0 {
			if r.slot >= 0 {
				s := &c.streams[r.slot]
				s.bodyBytes += int64(take)
				if c.opt.grpc {
					c.readMessages(r.slot, b[n:n+take])
				}
			}
			r.left -= take
			n += take
		}
		if take := min(r.left, len(b)-n); take > 0 { // padding
			r.left -= take
			r.padding -= take
			n += take
		}
	}
	if r.left > 0 {
		return n, e, nil
	}
	r.inFrame = false
	if r.slot >= 0 {
		s := &c.streams[r.slot]
		if !s.headed {
			return n, c.malformed(r.slot), nil
		}
		if r.frame.flags&h2FlagEndStream != 0 {
			return n, c.complete(r.slot), nil
		}
	}
	return n, e, nil
}

// readMessages counts the messages of an answer. Where messages go in turns,
// each one releases the next.
func (c *h2Codec) readMessages(slot int32, b []byte) {
	s := &c.streams[slot]
	before := s.messages.count
	s.messages.feed(b)
	if c.opt.lockstep && s.messages.count > before {
		unit := int64(len(c.opt.body))
		s.released = min(s.released+unit*(s.messages.count-before), unit*c.opt.bodies)
		c.mayGo(slot)
		c.pump()
	}
}

// takeHeaders takes a HEADERS frame.
func (c *h2Codec) takeHeaders(payload []byte) (e h2Event, err error) {
	r := &c.reading
	f := r.frame
	padding := 0
	if f.flags&h2FlagPadded != 0 {
		if len(payload) == 0 {
			return e, c.fail(errH2Padding)
		}
		padding = int(payload[0])
		payload = payload[1:]
	}
	if f.flags&h2FlagPriority != 0 { // means nothing any more
		if len(payload) < 5 {
			return e, c.fail(errH2FrameSize)
		}
		payload = payload[5:]
	}
	if padding > len(payload) {
		return e, c.fail(errH2Padding)
	}
	payload = payload[:len(payload)-padding]
	if f.flags&h2FlagEndHeaders != 0 {
		return c.takeBlock(f.stream, payload, f.flags&h2FlagEndStream != 0)
	}
	r.blockStream, r.blockEnds = f.stream, f.flags&h2FlagEndStream != 0
	r.block = append(r.block[:0], payload...)
	return e, nil
}

func (c *h2Codec) takeContinuation(payload []byte) (e h2Event, err error) {
	r := &c.reading
	if r.block = append(r.block, payload...); len(r.block) > maxHeadBytes {
		return e, c.fail(errH2BlockTooLong)
	}
	if r.frame.flags&h2FlagEndHeaders == 0 {
		return e, nil
	}
	stream := r.blockStream
	r.blockStream = 0
	return c.takeBlock(stream, r.block, r.blockEnds)
}

// takeBlock takes a whole header block: of an informational answer, of the
// head of the answer, or of its trailers. It is decoded whosever it is, to
// keep the table up.
func (c *h2Codec) takeBlock(stream uint32, block []byte, ends bool) (e h2Event, err error) {
	slot, err := c.open(stream)
	if err != nil {
		return e, err
	}
	fields, broken := c.decoder.decode(block)
	if broken != nil {
		return e, c.fail(broken)
	}
	if slot < 0 {
		if !c.cancelled {
			return e, c.fail(errH2ClosedStream)
		}
		return e, nil
	}
	c.headerIn += int64(len(block))
	s := &c.streams[slot]
	switch {
	case s.headed: // trailers
		if !ends || fields.malformed || fields.status != 0 {
			return c.malformed(slot), nil
		}
		s.trailers, s.trailed = fields, true
	case fields.malformed || fields.status == 0:
		return c.malformed(slot), nil
	case fields.status < 200:
		if s.leads++; ends || fields.status == 101 || s.leads > maxLeads {
			return c.malformed(slot), nil
		}
		return e, nil
	default:
		s.fields, s.headed = fields, true
	}
	if ends {
		return c.complete(slot), nil
	}
	return e, nil
}

const maxLeads = 100

// malformed ends a request whose answer is none. The connection is sound.
func (c *h2Codec) malformed(slot int32) h2Event {
	if s := &c.streams[slot]; !(s.done && s.ended) {
		c.reset(s, h2ProtocolError)
	}
	return h2Event{kind: h2Malformed, slot: slot}
}

// complete ends an answer in order, if its length is what its head says.
func (c *h2Codec) complete(slot int32) h2Event {
	s := &c.streams[slot]
	s.done = true
	bare := c.opt.noBody || s.fields.status == 204 || s.fields.status == 304
	switch {
	case bare && s.bodyBytes > 0,
		!bare && s.fields.length >= 0 && s.fields.length != s.bodyBytes,
		c.opt.grpc && !s.messages.whole():
		return c.malformed(slot)
	}
	return h2Event{kind: h2Answered, slot: slot}
}
