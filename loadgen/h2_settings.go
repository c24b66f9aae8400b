package loadgen

import "encoding/binary"

// set applies the SETTINGS of the peer, in their order.
func (c *h2Codec) set(payload []byte) error {
	lowest, table := c.tableKnown, c.tableSize
	for ; len(payload) > 0; payload = payload[h2SettingBytes:] {
		value := binary.BigEndian.Uint32(payload[2:])
		switch binary.BigEndian.Uint16(payload) {
		case h2SettingTableSize:
			lowest = min(lowest, int(value))
			table = min(int(value), c.opt.tableOut)
		case h2SettingPush:
			if value != 0 {
				return c.fail(errH2Setting)
			}
		case h2SettingMaxStreams:
			c.maxStreams = int(min(value, h2StreamsUnlimited))
		case h2SettingInitialWindow:
			if err := c.setInitialWindow(value); err != nil {
				return err
			}
		case h2SettingMaxFrame:
			if value < h2MaxFrame || value > 1<<24-1 {
				return c.fail(errH2Setting)
			}
		}
	}
	c.settled = true
	c.out = appendH2Header(c.out, 0, h2FrameSettings, h2FlagAck, 0)
	c.replies += h2FrameHeaderBytes
	c.setTable(lowest, table)
	c.pump()
	return nil
}

// setInitialWindow changes the windows of the open streams too, to below
// zero if need be.
func (c *h2Codec) setInitialWindow(value uint32) error {
	if value > h2MaxWindow {
		return c.fail(errH2Window)
	}
	change := int64(value) - c.peerSpace
	c.peerSpace = int64(value)
	for i := range c.streams {
		if c.streams[i].id == 0 {
			continue
		}
		if err := c.space(int32(i), change); err != nil {
			return err
		}
	}
	return nil
}

// setTable changes the table for requests. The next request has to say so
// also where the peer has only lowered its limit and raised it again.
func (c *h2Codec) setTable(lowest, table int) {
	if table == c.tableSize && lowest >= c.tableKnown {
		return
	}
	c.tableSize, c.tableKnown = table, table
	c.encoder.reset(c.opt.plan(table), true)
}
