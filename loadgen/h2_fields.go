package loadgen

import (
	"sync"

	"golang.org/x/net/http2/hpack"
)

// fieldKind is what a header field of an answer is to the generator.
type fieldKind uint8

const (
	fieldOther fieldKind = iota
	fieldStatus
	fieldLength
	fieldGRPCStatus
	fieldBad // a field that no answer may have
)

// answerFields is what one header block says.
type answerFields struct {
	status     int   // 0: none
	length     int64 // -1: none
	grpcStatus int32 // -1: none; -2: no number, or several
	malformed  bool  // decoded in order, but no header section of an answer
	regular    bool  // a field that is no pseudo-header was seen
}

// staticFields are the entries of RFC 7541, appendix A, as x/net has them.
var staticFields = sync.OnceValue(func() *[staticEntries + 1]hpackEntry {
	var table [staticEntries + 1]hpackEntry
	for i := 1; i < len(table); i++ {
		f := staticField(i)
		kind := fieldKindOf([]byte(f.Name))
		table[i] = hpackEntry{kind, int32(len(f.Name)), int32(len(f.Name) + len(f.Value) + 32), fieldValue(kind, []byte(f.Value))}
	}
	return &table
})

func staticField(i int) hpack.HeaderField {
	var field hpack.HeaderField
	d := hpack.NewDecoder(0, func(f hpack.HeaderField) { field = f })
	_, _ = d.Write([]byte{0x80 | byte(i)}) // an index from 1 to 61 is always known
	return field
}

// fieldKindOf knows the names that matter in answers. Names with upper-case
// letters, unknown pseudo-headers and fields of HTTP/1 connections make an
// answer malformed (RFC 9113, section 8.2).
func fieldKindOf(name []byte) fieldKind {
	switch string(name) {
	case ":status":
		return fieldStatus
	case "content-length":
		return fieldLength
	case "grpc-status":
		return fieldGRPCStatus
	case "", "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return fieldBad
	}
	if name[0] == ':' {
		return fieldBad
	}
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || c >= 'A' && c <= 'Z' {
			return fieldBad
		}
	}
	return fieldOther
}

// fieldValue is the number that a field holds, -1 if it holds none.
func fieldValue(kind fieldKind, value []byte) int64 {
	if kind == fieldOther || kind == fieldBad || len(value) == 0 || len(value) > 18 {
		return -1
	}
	if kind == fieldStatus && len(value) != 3 {
		return -1
	}
	n := int64(0)
	for _, c := range value {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// take adds a field to what the block says.
func (f *answerFields) take(e hpackEntry) {
	switch e.kind {
	case fieldStatus:
		f.malformed = f.malformed || f.regular || f.status != 0 || e.value < 100 || e.value > 599
		f.status = int(e.value)
		return
	case fieldLength:
		f.malformed = f.malformed || e.value < 0 || f.length >= 0 && f.length != e.value
		f.length = e.value
	case fieldGRPCStatus:
		status := int32(-2)
		if e.value >= 0 && e.value < 1<<30 && (f.grpcStatus == -1 || f.grpcStatus == int32(e.value)) {
			status = int32(e.value)
		}
		f.grpcStatus = status
	case fieldBad:
		f.malformed = true
	}
	f.regular = true
}
