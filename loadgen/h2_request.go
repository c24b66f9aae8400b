package loadgen

import (
	"sync"

	"golang.org/x/net/http2/hpack"
)

// plannedField is a field of a request, encoded in each way it may be sent.
type plannedField struct {
	plain  []byte // an index of the static table, or a literal that the table does not take
	insert []byte // a literal that it takes; nil: never
	entry  int    // which of the plan's entries it becomes
}

// fieldPlan says how the header lists of requests are encoded on a dynamic
// table of one size. The table is given to the fields in their order, as long
// as they fit: they are put there when they are first sent, and never have to
// be evicted. After that they are indices.
type fieldPlan struct {
	sets    [][]plannedField
	entries int
	resize  []byte // empties the table of the peer and sets its size
}

func planFields(sets [][]hpack.HeaderField, size int) *fieldPlan {
	p := &fieldPlan{resize: hpackInt(nil, 0x20, 5, 0)}
	if size > 0 {
		p.resize = hpackInt(p.resize, 0x20, 5, uint64(size))
	}
	known := map[hpack.HeaderField]int{}
	for _, fields := range sets {
		var planned []plannedField
		for _, f := range fields {
			var q plannedField
			if exact := staticIndex().exact[f]; exact > 0 {
				q.plain = hpackInt(nil, 0x80, 7, uint64(exact))
				planned = append(planned, q)
				continue
			}
			q.plain = hpackLiteral(0, 4, f)
			entry, ok := known[f]
			if need := int(f.Size()); !ok && need <= size {
				size -= need
				entry, ok = p.entries, true
				p.entries++
				known[f] = entry
			}
			if ok {
				q.insert, q.entry = hpackLiteral(0x40, 6, f), entry
			}
			planned = append(planned, q)
		}
		p.sets = append(p.sets, planned)
	}
	return p
}

// fieldEncoder encodes the requests of one connection.
type fieldEncoder struct {
	plan     *fieldPlan
	inserted int   // entries in the table
	order    []int // of each entry of the plan: the how manieth it is, 0: not in the table
	resize   bool  // the next block has to say that the table has changed
}

// reset begins with an empty table.
func (e *fieldEncoder) reset(p *fieldPlan, resize bool) {
	if cap(e.order) < p.entries {
		e.order = make([]int, p.entries)
	}
	e.order = e.order[:p.entries]
	clear(e.order)
	e.plan, e.inserted, e.resize = p, 0, resize
}

// encode appends the block of a header list.
func (e *fieldEncoder) encode(b []byte, set int) []byte {
	if e.resize {
		b = append(b, e.plan.resize...)
		e.resize = false
	}
	fields := e.plan.sets[set]
	for i := range fields {
		f := &fields[i]
		switch {
		case f.insert == nil:
			b = append(b, f.plain...)
		case e.order[f.entry] > 0: // the newest entry has the lowest index
			b = hpackInt(b, 0x80, 7, uint64(staticEntries+1+e.inserted-e.order[f.entry]))
		default:
			b = append(b, f.insert...)
			e.inserted++
			e.order[f.entry] = e.inserted
		}
	}
	return b
}

const staticEntries = 61

// hpackLiteral is a field whose name may be an index of the static table.
func hpackLiteral(kind byte, prefix int, f hpack.HeaderField) []byte {
	name := staticIndex().name[f.Name]
	b := hpackInt(nil, kind, prefix, uint64(name))
	if name == 0 {
		b = hpackText(b, f.Name)
	}
	return hpackText(b, f.Value)
}

// hpackText appends a string in the shorter of its two forms.
func hpackText(b []byte, s string) []byte {
	if n := hpack.HuffmanEncodeLength(s); n < uint64(len(s)) {
		return hpack.AppendHuffmanString(hpackInt(b, 0x80, 7, n), s)
	}
	return append(hpackInt(b, 0, 7, uint64(len(s))), s...)
}

func hpackInt(b []byte, kind byte, prefix int, n uint64) []byte {
	mask := uint64(1)<<prefix - 1
	if n < mask {
		return append(b, kind|byte(n))
	}
	b = append(b, kind|byte(mask))
	for n -= mask; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

type staticIndexes struct {
	exact map[hpack.HeaderField]int
	name  map[string]int
}

// staticIndex finds fields in the static table.
var staticIndex = sync.OnceValue(func() staticIndexes {
	s := staticIndexes{map[hpack.HeaderField]int{}, map[string]int{}}
	for i := staticEntries; i >= 1; i-- { // the lowest index of a name stands
		f := staticField(i)
		s.exact[f], s.name[f.Name] = i, i
	}
	return s
})
