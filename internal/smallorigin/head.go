package smallorigin

import (
	"bytes"
	"math"
)

// head is what of a request's head matters for its answer and its framing.
type head struct {
	isHEAD     bool
	close      bool  // the connection ends after the answer
	length     int64 // of the body, in bytes; 0 when chunked
	chunked    bool
	wants100   bool
	minorIs0   bool // HTTP/1.0
	keepAlive  bool // asked for by name
	closeAsked bool
}

// refusal is a status to refuse a request with.
type refusal struct {
	status string // code and reason
	why    string
}

func (r *refusal) Error() string { return r.status + ": " + r.why }

func bad(why string) *refusal { return &refusal{status: "400 Bad Request", why: why} }

// parseHead reads a whole head: from the request line to the empty line, which
// is included.
func parseHead(b []byte) (head, *refusal) {
	var h head
	line, rest, ok := cutLine(b)
	if !ok {
		return h, bad("no request line")
	}
	if r := h.requestLine(line); r != nil {
		return h, r
	}
	haveLength, encodings := false, 0
	for {
		line, rest, ok = cutLine(rest)
		if !ok {
			return h, bad("head without an end")
		}
		if len(line) == 0 {
			break
		}
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 {
			return h, bad("header without a name")
		}
		name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
		for _, c := range name {
			if !isToken(c) { // also refuses folded lines and a space before the colon
				return h, bad("header name with a character that is not allowed")
			}
		}
		for _, c := range value {
			if c < ' ' && c != '\t' || c == 0x7f {
				return h, bad("header value with a control character")
			}
		}
		switch {
		case equalFold(name, "content-length"):
			n, ok := parseLength(value)
			if !ok || haveLength && n != h.length {
				return h, bad("Content-Length is not one number")
			}
			h.length, haveLength = n, true
		case equalFold(name, "transfer-encoding"):
			if encodings++; encodings > 1 || !equalFold(value, "chunked") {
				return h, &refusal{status: "501 Not Implemented", why: "Transfer-Encoding other than chunked"}
			}
			h.chunked = true
		case equalFold(name, "connection"):
			h.connection(value)
		case equalFold(name, "expect"):
			h.wants100 = equalFold(value, "100-continue")
		}
	}
	if h.chunked && (haveLength || h.minorIs0) {
		return h, bad("Transfer-Encoding next to Content-Length or in HTTP/1.0")
	}
	h.close = h.closeAsked || h.minorIs0 && !h.keepAlive
	h.wants100 = h.wants100 && !h.minorIs0 && (h.chunked || h.length > 0)
	return h, nil
}

func (h *head) requestLine(line []byte) *refusal {
	method, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(method) == 0 {
		return bad("request line without a method")
	}
	for _, c := range method {
		if !isToken(c) {
			return bad("method with a character that is not allowed")
		}
	}
	target, version, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(target) == 0 {
		return bad("request line without a target")
	}
	for _, c := range target {
		if c <= ' ' || c == 0x7f {
			return bad("target with a control character")
		}
	}
	switch string(version) {
	case "HTTP/1.1":
	case "HTTP/1.0":
		h.minorIs0 = true
	default:
		return &refusal{status: "505 HTTP Version Not Supported", why: "neither HTTP/1.1 nor HTTP/1.0"}
	}
	h.isHEAD = string(method) == "HEAD"
	return nil
}

func (h *head) connection(value []byte) {
	for len(value) > 0 {
		var option []byte
		option, value, _ = bytes.Cut(value, []byte(","))
		option = bytes.Trim(option, " \t")
		h.closeAsked = h.closeAsked || equalFold(option, "close")
		h.keepAlive = h.keepAlive || equalFold(option, "keep-alive")
	}
}

// cutLine cuts b behind its first CRLF. A bare LF ends nothing, a bare CR or LF
// in the line is seen by the checks of its parts.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	return bytes.Cut(b, []byte("\r\n"))
}

func parseLength(b []byte) (int64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		if c < '0' || c > '9' || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// equalFold compares with a name in lower case, ASCII only and without
// allocation.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func isToken(c byte) bool {
	switch {
	case '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z':
		return true
	}
	return bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0
}
