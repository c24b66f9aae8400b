package loadgen

import (
	"strings"
	"sync"

	"golang.org/x/net/http2/hpack"
)

// huffmanTable decodes the static code of RFC 7541, appendix B. The code is
// canonical: among codes of one length, values rise with the symbol, and
// every shorter code is below. So short codes are looked up by their first
// bits, and longer ones found by their length alone.
type huffmanTable struct {
	short   [1 << huffmanShort]huffmanEntry
	lengths [31]huffmanLength
	symbols [256]byte // sorted by length, then code
}

type huffmanEntry struct {
	symbol byte
	bits   uint8 // 0: a longer code
}

// huffmanLength describes the codes of one length.
type huffmanLength struct {
	end   uint32 // below it, left-aligned to 32 bits, codes have this length or a shorter one
	first uint32 // value of the first code
	index int    // of its symbol in symbols
}

const (
	huffmanShort   = 10 // all symbols of common header text have at most 8 bits
	huffmanLongest = 30
)

// huffman derives the table from the encoder of x/net, once.
var huffman = sync.OnceValue(func() *huffmanTable {
	t := &huffmanTable{}
	index := 0
	for length := 1; length <= huffmanLongest; length++ {
		l := &t.lengths[length]
		l.index = index
		for s := range 256 {
			// Eight codes of n bits are n bytes.
			if n := hpack.HuffmanEncodeLength(strings.Repeat(string([]byte{byte(s)}), 8)); int(n) != length {
				continue
			}
			var code uint32
			encoded := hpack.AppendHuffmanString(nil, string([]byte{byte(s)}))
			for i := range length {
				code = code<<1 | uint32(encoded[i/8]>>(7-i%8)&1)
			}
			if l.end == 0 {
				l.first = code
			}
			l.end = (code + 1) << (32 - length)
			t.symbols[index] = byte(s)
			index++
			if length <= huffmanShort {
				for fill := range 1 << (huffmanShort - length) {
					t.short[int(code)<<(huffmanShort-length)|fill] = huffmanEntry{byte(s), uint8(length)}
				}
			}
		}
		if l.end == 0 {
			l.end = t.lengths[length-1].end
		}
	}
	return t
})

// decode decodes in and returns the length of the text, of which it keeps in
// out as much as fits. It refuses what the encoder must not send: padding of
// more than 7 bits or of other bits than ones, and the end symbol.
func (t *huffmanTable) decode(out, in []byte) (n int, ok bool) {
	var bits uint64 // left-aligned; below the valid ones are ones, as in padding
	valid := 0
	bits = ^uint64(0)
	for {
		for valid <= 56 && len(in) > 0 {
			shift := 56 - valid
			bits = bits&^(0xff<<shift) | uint64(in[0])<<shift
			in = in[1:]
			valid += 8
		}
		e := t.short[bits>>(64-huffmanShort)]
		if e.bits == 0 {
			e = t.long(uint32(bits >> 32))
		}
		if e.bits == 0 || int(e.bits) > valid {
			// Nothing whole is left: the rest must be padding.
			return n, valid <= 7 && bits == ^uint64(0)
		}
		if n < len(out) {
			out[n] = e.symbol
		}
		n++
		bits = bits<<e.bits | (1<<e.bits - 1)
		valid -= int(e.bits)
	}
}

// long finds a code by its length; 0 bits are the end symbol.
func (t *huffmanTable) long(bits uint32) huffmanEntry {
	for length := huffmanShort + 1; length <= huffmanLongest; length++ {
		if l := &t.lengths[length]; bits < l.end {
			return huffmanEntry{t.symbols[l.index+int(bits>>(32-length)-l.first)], uint8(length)}
		}
	}
	return huffmanEntry{}
}
