package loadgen

// mayGo puts a body into the list of those that are sent when the windows
// have room, if it has anything to send.
func (c *h2Codec) mayGo(slot int32) {
	s := &c.streams[slot]
	if s.queued || s.gone || s.position >= s.released || s.sendWindow <= 0 {
		return
	}
	s.queued, s.next = true, -1
	if c.bodyTail < 0 {
		c.bodyHead = slot
	} else {
		c.streams[c.bodyTail].next = slot
	}
	c.bodyTail = slot
}

// unqueue takes a body out of the list, from any place: it is rare.
func (c *h2Codec) unqueue(slot int32) {
	before := int32(-1)
	for i := c.bodyHead; i != slot; i = c.streams[i].next {
		before = i
	}
	next := c.streams[slot].next
	if before < 0 {
		c.bodyHead = next
	} else {
		c.streams[before].next = next
	}
	if next < 0 {
		c.bodyTail = before
	}
	c.streams[slot].queued = false
}

// pump puts bodies into frames, one frame of each in turn, while the windows
// and the output have room.
func (c *h2Codec) pump() {
	for c.bodyHead >= 0 && c.sendWindow > 0 && len(c.out)-c.took < h2OutFull {
		slot := c.bodyHead
		s := &c.streams[slot]
		c.unqueue(slot)
		if s.sendWindow <= 0 { // SETTINGS have taken it meanwhile; space brings it back
			continue
		}
		unit := int64(len(c.opt.body))
		within := s.position % unit
		n := min(h2MaxFrame, unit-within, s.released-s.position, s.sendWindow, c.sendWindow)
		flags := uint8(0)
		if s.position+n == unit*c.opt.bodies {
			flags, s.ended = h2FlagEndStream, true
		}
		c.out = append(appendH2Header(c.out, int(n), h2FrameData, flags, s.id), c.opt.body[within:within+n]...)
		s.position += n
		s.sendWindow -= n
		c.sendWindow -= n
		c.mayGo(slot)
	}
}

// space adds to the window of a stream.
func (c *h2Codec) space(slot int32, increment int64) error {
	s := &c.streams[slot]
	if s.sendWindow += increment; s.sendWindow > h2MaxWindow {
		return c.fail(errH2Window)
	}
	c.mayGo(slot)
	return nil
}
