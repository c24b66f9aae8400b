package loadgen

import "math/bits"

// readySet is the connections of one target that can take a request, in the
// order in which they shall.
type readySet struct {
	reuse Reuse
	first int32 // index of the target's first connection
	size  int32
	count int32

	// Round robin: a bit for each connection, and the last one used.
	bits []uint64
	turn int32

	// Otherwise a list through the connections: at its head the one that
	// became ready last.
	head, tail int32
}

func newReadySet(reuse Reuse, first, size int32) readySet {
	return readySet{reuse: reuse, first: first, size: size, turn: -1, head: -1, tail: -1, bits: make([]uint64, (size+63)/64)}
}

func (s *readySet) add(conns []conn, i int32) {
	s.count++
	if s.reuse == RoundRobin {
		k := i - s.first
		s.bits[k>>6] |= 1 << (k & 63)
		return
	}
	c := &conns[i]
	c.before, c.after = -1, s.head
	if s.head >= 0 {
		conns[s.head].before = i
	} else {
		s.tail = i
	}
	s.head = i
}

func (s *readySet) remove(conns []conn, i int32) {
	s.count--
	if s.reuse == RoundRobin {
		k := i - s.first
		s.bits[k>>6] &^= 1 << (k & 63)
		return
	}
	c := &conns[i]
	if c.before >= 0 {
		conns[c.before].after = c.after
	} else {
		s.head = c.after
	}
	if c.after >= 0 {
		conns[c.after].before = c.before
	} else {
		s.tail = c.before
	}
}

// pick is the connection for the next request, or -1.
func (s *readySet) pick(conns []conn) int32 {
	switch {
	case s.count == 0:
		return -1
	case s.reuse == MostRecent:
		return s.head
	case s.reuse == LeastRecent:
		i := s.tail
		s.remove(conns, i) // used now, in case that it stays ready
		s.add(conns, i)
		return i
	}
	k := s.turn + 1
	if k >= s.size {
		k = 0
	}
	word := int(k >> 6)
	left := s.bits[word] &^ (1<<(k&63) - 1)
	for left == 0 {
		if word++; word == len(s.bits) {
			word = 0
		}
		left = s.bits[word]
	}
	s.turn = int32(word<<6 + bits.TrailingZeros64(left))
	return s.first + s.turn
}
