package loadgen

import "fmt"

// H2 is how HTTP/2 connections are set up. It holds for Protocol "h2" and
// "h2c"; the zero value is what most clients do.
//
// The encoder of requests puts each header field into the table when it is
// first sent, as long as there is room, and never has to evict one: a field
// that does not fit is sent in full each time. So every request but the first
// of a connection is the same bytes, or of as many forms as there are header
// sets. The table starts again, and requests say so, when the server changes
// its size.
type H2 struct {
	// HeaderTable is the bytes of dynamic table that requests use, as far as
	// the server allows it (SETTINGS_HEADER_TABLE_SIZE); 0 = 4096, -1 = none,
	// at most 1 MiB.
	HeaderTable int `json:"header_table,omitempty"`
	// AnswerHeaderTable is the bytes of dynamic table that answers may use,
	// which the server is told; 0 = 4096, -1 = none, at most 1 MiB.
	AnswerHeaderTable int `json:"answer_header_table,omitempty"`
	// StreamWindow and ConnectionWindow are the bytes of answers that a
	// server may send ahead, for one request and for all of a connection. The
	// generator gives back what it took when that is half a window; 0 = 1 GiB
	// less one byte, so that no server ever waits. The connection's is at
	// least 65535, with which each starts.
	StreamWindow     int `json:"stream_window,omitempty"`
	ConnectionWindow int `json:"connection_window,omitempty"`
}

const (
	h2MaxTable  = 1 << 20
	h2OpenSpace = 1<<30 - 1
)

// withDefaults replaces what zeros and -1 stand for.
func (h H2) withDefaults() H2 {
	setDefault(&h.HeaderTable, h2DefaultTable)
	setDefault(&h.AnswerHeaderTable, h2DefaultTable)
	setDefault(&h.StreamWindow, h2OpenSpace)
	setDefault(&h.ConnectionWindow, h2OpenSpace)
	h.HeaderTable = max(h.HeaderTable, 0)
	h.AnswerHeaderTable = max(h.AnswerHeaderTable, 0)
	return h
}

func (h H2) validate() error {
	tables := fmt.Sprintf("0 (the default of 4096), -1 (none), or 1 to %d bytes", h2MaxTable)
	switch {
	case h.HeaderTable < -1 || h.HeaderTable > h2MaxTable:
		return invalid("Spec.H2.HeaderTable", h.HeaderTable, tables)
	case h.AnswerHeaderTable < -1 || h.AnswerHeaderTable > h2MaxTable:
		return invalid("Spec.H2.AnswerHeaderTable", h.AnswerHeaderTable, tables)
	case h.StreamWindow < 0 || h.StreamWindow > h2MaxWindow:
		return invalid("Spec.H2.StreamWindow", h.StreamWindow, fmt.Sprintf("0 (the default), or 1 to %d bytes", h2MaxWindow))
	case h.ConnectionWindow != 0 && (h.ConnectionWindow < h2DefaultWindow || h.ConnectionWindow > h2MaxWindow):
		return invalid("Spec.H2.ConnectionWindow", h.ConnectionWindow, fmt.Sprintf("0 (the default), or %d to %d bytes", h2DefaultWindow, h2MaxWindow))
	}
	return nil
}
