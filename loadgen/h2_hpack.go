package loadgen

import "bytes"

// hpackEntry is a field of a header table, reduced to what is asked of it.
// Names and values are not kept: their lengths are, as the size of the table
// is counted in them.
type hpackEntry struct {
	kind    fieldKind
	nameLen int32
	size    int32 // with the 32 bytes that RFC 7541 adds
	value   int64 // a decimal number; -1 when it is none
}

// hpackDecoder decodes the header blocks of one connection. It keeps the
// dynamic table up, and allocates nothing after it was made.
type hpackDecoder struct {
	static  *[staticEntries + 1]hpackEntry
	huffman *huffmanTable
	ring    []hpackEntry // the newest entry is at newest, older ones behind it
	newest  int
	count   int
	used    int        // bytes of the table
	size    int        // what the encoder has set
	limit   int        // what it may set
	scratch [1024]byte // longer names are not looked at

	// The last block of which the same bytes say the same again, and add the
	// same entries: it refers to no entry of the dynamic table, or has left it
	// as it was. Servers often answer in the same bytes.
	lastBlock   []byte
	lastFields  answerFields
	lastEntries [16]hpackEntry
	lastCount   int
}

// newHPACKDecoder makes a decoder for a peer that may use a table of limit
// bytes, or of the 4096 that it may use before it knows.
func newHPACKDecoder(limit int) hpackDecoder {
	limit = max(limit, h2DefaultTable)
	d := hpackDecoder{
		static: staticFields(), huffman: huffman(),
		ring: make([]hpackEntry, limit/32+1), limit: limit,
		lastBlock: make([]byte, 0, 512),
	}
	d.reset()
	return d
}

// reset makes d ready for another connection.
func (d *hpackDecoder) reset() {
	d.newest, d.count, d.used, d.size = 0, 0, 0, h2DefaultTable
	d.lastBlock = d.lastBlock[:0]
}

// decode takes one whole header block apart. After an error the table is
// not to be used again.
func (d *hpackDecoder) decode(block []byte) (answerFields, *h2Error) {
	if len(d.lastBlock) > 0 && bytes.Equal(block, d.lastBlock) {
		for i := range d.lastCount {
			d.add(d.lastEntries[i])
		}
		return d.lastFields, nil
	}
	f := answerFields{length: -1, grpcStatus: -1}
	d.lastBlock, d.lastCount = d.lastBlock[:0], 0
	refers, changed, first := false, false, true
	for b := block; len(b) > 0; {
		c := b[0]
		var err *h2Error
		var e hpackEntry
		var name uint64
		switch {
		case c >= 0x80: // a field of the table
			if name, b, err = hpackInteger(b, 7); err == nil {
				e, err = d.entry(name)
			}
		case c >= 0x40: // a literal that is added to it
			if e, name, b, err = d.literal(b, 6); err == nil {
				changed = d.add(e) || changed
				if d.lastCount < len(d.lastEntries) {
					d.lastEntries[d.lastCount] = e
				}
				d.lastCount++
			}
		case c >= 0x20: // a new size of it
			if b, err = d.resize(b, first); err != nil {
				return f, err
			}
			refers, changed = true, true
			continue // there may be two of them
		default: // a literal that is not
			e, name, b, err = d.literal(b, 4)
		}
		if err != nil {
			return f, err
		}
		f.take(e)
		refers = refers || name > staticEntries
		first = false
	}
	if (!changed || !refers) && d.lastCount <= len(d.lastEntries) && len(block) <= cap(d.lastBlock) {
		d.lastBlock = append(d.lastBlock, block...)
		d.lastFields = f
	}
	return f, nil
}

// resize takes a new size of the table, which only stands at the beginning of
// a block.
func (d *hpackDecoder) resize(b []byte, first bool) ([]byte, *h2Error) {
	size, b, err := hpackInteger(b, 5)
	switch {
	case err != nil:
		return b, err
	case !first:
		return b, errH2LateResize
	case size > uint64(d.limit):
		return b, errH2Compression
	}
	d.size = int(size)
	d.evict()
	return b, nil
}

// entry is a field by its index: the static table, then the newest of the
// dynamic one.
func (d *hpackDecoder) entry(i uint64) (hpackEntry, *h2Error) {
	switch {
	case i == 0 || i >= uint64(len(d.static)+d.count):
		return hpackEntry{}, errH2Compression
	case i < uint64(len(d.static)):
		return d.static[i], nil
	}
	at := d.newest + int(i) - len(d.static)
	if at >= len(d.ring) {
		at -= len(d.ring)
	}
	return d.ring[at], nil
}

// add puts a field into the table and tells whether that has changed it.
func (d *hpackDecoder) add(e hpackEntry) bool {
	if int(e.size) > d.size { // empties the table, and is no error
		had := d.count > 0
		d.count, d.used = 0, 0
		return had
	}
	d.used += int(e.size)
	d.evict()
	if d.newest--; d.newest < 0 {
		d.newest = len(d.ring) - 1
	}
	d.ring[d.newest] = e
	d.count++
	return true
}

// evict drops the oldest entries until the rest fits. In add it runs before
// the new entry is in, which always fits.
func (d *hpackDecoder) evict() {
	for d.used > d.size && d.count > 0 {
		d.count--
		d.used -= int(d.ring[(d.newest+d.count)%len(d.ring)].size)
	}
}

// literal reads a field whose name is an index of prefix bits, or 0 and a
// string; its value is a string.
func (d *hpackDecoder) literal(b []byte, prefix int) (e hpackEntry, i uint64, rest []byte, err *h2Error) {
	i, b, err = hpackInteger(b, prefix)
	if err != nil {
		return e, i, b, err
	}
	if i > 0 {
		if e, err = d.entry(i); err != nil {
			return e, i, b, err
		}
	} else {
		name, length, rest, err := d.text(b, true)
		if err != nil {
			return e, i, b, err
		}
		b = rest
		e.nameLen = int32(length)
		if e.kind = fieldOther; length == len(name) {
			e.kind = fieldKindOf(name)
		}
	}
	value, length, b, err := d.text(b, e.kind != fieldOther && e.kind != fieldBad)
	if err != nil {
		return e, i, b, err
	}
	e.size = e.nameLen + int32(length) + 32
	e.value = -1
	if length <= len(value) {
		e.value = fieldValue(e.kind, value)
	}
	return e, i, b, nil
}

// text reads a string: its beginning, as far as scratch holds it, and its
// whole length.
func (d *hpackDecoder) text(b []byte, wanted bool) (text []byte, length int, rest []byte, err *h2Error) {
	if len(b) == 0 {
		return nil, 0, b, errH2Compression
	}
	coded := b[0]&0x80 != 0
	n, b, err := hpackInteger(b, 7)
	if err != nil || n > uint64(len(b)) {
		return nil, 0, b, errH2Compression
	}
	raw, rest := b[:n], b[n:]
	if !coded {
		return raw, len(raw), rest, nil
	}
	out := d.scratch[:]
	if !wanted {
		out = nil
	}
	length, ok := d.huffman.decode(out, raw)
	if !ok {
		return nil, 0, rest, errH2Compression
	}
	return out[:min(length, len(out))], length, rest, nil
}

// hpackInteger reads an integer of RFC 7541, section 5.1, whose first prefix
// bits are in the low bits of b[0]. b is not empty.
func hpackInteger(b []byte, prefix int) (n uint64, rest []byte, err *h2Error) {
	mask := uint64(1)<<prefix - 1
	n = uint64(b[0]) & mask
	b = b[1:]
	if n < mask {
		return n, b, nil
	}
	for shift := 0; len(b) > 0 && shift <= 56; shift += 7 {
		c := b[0]
		b = b[1:]
		n += uint64(c&0x7f) << shift
		if c < 0x80 {
			return n, b, nil
		}
	}
	return 0, b, errH2Compression
}
