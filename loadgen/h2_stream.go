package loadgen

// h2Stream is one request on its stream, in a slot that is used again.
type h2Stream struct {
	id   uint32 // 0: the slot is free
	next int32  // in the list of bodies that may go
	gone bool   // the peer will send no more on it, for a reason other than its end

	// The way out.
	queued     bool  // in the list of bodies that may go
	ended      bool  // END_STREAM is in a frame
	position   int64 // of the body: bytes that are in frames
	released   int64 // up to where it may go, as far as the windows allow
	sendWindow int64

	// The way in.
	headed     bool         // the head of the answer has come
	trailed    bool         // its trailers have
	done       bool         // END_STREAM has
	leads      int          // informational answers
	fields     answerFields // of the head
	trailers   answerFields
	bodyBytes  int64
	recvWindow int64
	credit     int64 // taken bytes that no WINDOW_UPDATE has given back
	messages   messageReader
}

// answering tells whether anything of the answer has come.
func (s *h2Stream) answering() bool { return s.headed || s.leads > 0 }

// grpcStatus is the status of a call, below 0 if the answer has none. An
// answer of nothing but a head has it there.
func (s *h2Stream) grpcStatus() int32 {
	if s.trailed {
		return s.trailers.grpcStatus
	}
	return s.fields.grpcStatus
}

// idTable finds the slot of a stream: open addressing, at most half full,
// with the neighbours of a removed entry moved up.
type idTable struct {
	ids   []uint32
	slots []int32
}

func newIDTable(slots int) idTable {
	size := 4
	for size < 2*slots {
		size *= 2
	}
	return idTable{make([]uint32, size), make([]int32, size)}
}

// home is the place where the search for an id begins. Ids are odd and rise,
// so that those which are open at once have places in a row.
func (t *idTable) home(id uint32) int { return int(id>>1) & (len(t.ids) - 1) }

func (t *idTable) find(id uint32) int {
	for i := t.home(id); ; i = (i + 1) & (len(t.ids) - 1) {
		if t.ids[i] == id || t.ids[i] == 0 {
			return i
		}
	}
}

// slot is the slot of a stream, -1 if it has none.
func (t *idTable) slot(id uint32) int32 {
	if i := t.find(id); t.ids[i] != 0 {
		return t.slots[i]
	}
	return -1
}

func (t *idTable) put(id uint32, slot int32) {
	i := t.find(id)
	t.ids[i], t.slots[i] = id, slot
}

func (t *idTable) remove(id uint32) {
	mask := len(t.ids) - 1
	hole := t.find(id)
	t.ids[hole] = 0
	for i := (hole + 1) & mask; t.ids[i] != 0; i = (i + 1) & mask {
		// An entry may move to the hole if its home is not behind it.
		if (i-t.home(t.ids[i]))&mask >= (i-hole)&mask {
			t.ids[hole], t.slots[hole] = t.ids[i], t.slots[i]
			t.ids[i] = 0
			hole = i
		}
	}
}
