package loadgen

import "encoding/binary"

// grpcPrefix is the bytes before each message: a flag for compression and
// the length.
const grpcPrefix = 5

// grpcMessage is a message with its prefix, not compressed.
func grpcMessage(payload string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(payload)))
	return append(b, payload...)
}

// messageReader counts the messages of a stream as its bytes arrive.
type messageReader struct {
	count  int64 // whole ones
	bytes  int64 // of those, without prefixes
	length uint32
	left   uint32
	prefix uint8 // bytes of the prefix that have come
	broken bool  // a message that claims to be compressed, which was not asked for
}

func (m *messageReader) feed(b []byte) {
	for len(b) > 0 && !m.broken {
		if m.prefix < grpcPrefix {
			c := b[0]
			b = b[1:]
			if m.prefix++; m.prefix == 1 {
				m.broken = c != 0
				m.left = 0
				continue
			}
			m.left = m.left<<8 | uint32(c)
			if m.prefix < grpcPrefix {
				continue
			}
			m.length = m.left
		}
		n := min(int64(m.left), int64(len(b)))
		m.left -= uint32(n)
		b = b[n:]
		if m.left == 0 {
			m.count++
			m.bytes += int64(m.length)
			m.prefix = 0
		}
	}
}

// whole tells whether the stream may end here.
func (m *messageReader) whole() bool { return m.prefix == 0 && !m.broken }
