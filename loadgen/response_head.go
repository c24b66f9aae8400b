package loadgen

import "bytes"

// takeStatus reads "HTTP/1.1 200 OK"; the reason may be absent.
func (r *response) takeStatus(line []byte) error {
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return errStatusLine
	}
	switch line[7] {
	case '1':
	case '0':
		r.old, r.keepAlive = true, false
	default:
		return errStatusLine
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return errStatusLine
		}
		r.status = r.status*10 + int(c-'0')
	}
	if r.status < 100 || r.status > 599 {
		return errStatusLine
	}
	r.state, r.skipFolded = inHeaders, false
	return nil
}

func (r *response) takeHeader(line []byte) error {
	if line[0] == ' ' || line[0] == '\t' { // an old folded line continues the one before
		if !r.skipFolded {
			return errHeader
		}
		return nil
	}
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		if r.cut { // a name longer than the buffer is none that matters
			r.skipFolded = true
			return nil
		}
		return errHeader
	}
	name, value := line[:colon], line[colon+1:]
	r.skipFolded = false
	switch len(name) {
	case len("content-length"):
		if foldEqual(name, "content-length") {
			return r.takeLength(trim(value))
		}
	case len("transfer-encoding"):
		if foldEqual(name, "transfer-encoding") {
			return r.takeEncoding(trim(value))
		}
	case len("connection"):
		if foldEqual(name, "connection") {
			return r.takeConnection(trim(value))
		}
	}
	if c := name[len(name)-1]; c == ' ' || c == '\t' { // "Content-Length : 5" smuggles
		return errHeader
	}
	r.skipFolded = true
	return nil
}

// takeLength allows a repeated Content-Length only where all agree.
func (r *response) takeLength(value []byte) error {
	if r.cut {
		return errLength
	}
	for more := true; more; {
		var item []byte
		item, value, more = bytes.Cut(value, comma)
		item = trim(item)
		n := int64(0)
		if len(item) == 0 || len(item) > 18 {
			return errLength
		}
		for _, c := range item {
			if c < '0' || c > '9' {
				return errLength
			}
			n = n*10 + int64(c-'0')
		}
		if r.hasLength && n != r.length {
			return errLength
		}
		r.hasLength, r.length = true, n
	}
	return nil
}

var comma = []byte{','}

// takeEncoding notes whether the last coding is chunked, which is what
// decides where the body ends (RFC 9112, section 6.3).
func (r *response) takeEncoding(value []byte) error {
	if r.cut || r.chunked { // nothing may follow chunked
		return errEncoding
	}
	r.encoded = true
	for more := true; more; {
		var item []byte
		item, value, more = bytes.Cut(value, comma)
		if item = trim(item); len(item) == 0 {
			continue
		}
		if r.chunked {
			return errEncoding
		}
		r.chunked = foldEqual(item, "chunked")
	}
	return nil
}

func (r *response) takeConnection(value []byte) error {
	if r.cut { // "close" could stand in what was cut off
		return errHeader
	}
	for more := true; more; {
		var item []byte
		item, value, more = bytes.Cut(value, comma)
		switch item = trim(item); {
		case foldEqual(item, "close"):
			r.keepAlive, r.old = false, false
		case r.old && foldEqual(item, "keep-alive"):
			r.keepAlive = true
		}
	}
	return nil
}

// endHead decides where the body ends, in the order of RFC 9112, section 6.3.
func (r *response) endHead() error {
	switch {
	case r.status == 101:
		return errSwitched
	case r.status < 200:
		if r.leads++; r.leads > 100 {
			return errTooManyLeads
		}
		r.nextHead()
	case r.noBody || r.status == 204 || r.status == 304:
		r.state = parseDone
	case r.encoded:
		if r.hasLength { // both is what smuggling looks like: not a right answer
			return errLength
		}
		if r.chunked {
			r.state = inChunkSize
		} else {
			r.state, r.keepAlive = inCloseBody, false
		}
	case r.hasLength && r.length == 0:
		r.state = parseDone
	case r.hasLength:
		r.state, r.remaining = inLengthBody, r.length
	default:
		r.state, r.keepAlive = inCloseBody, false
	}
	return nil
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// foldEqual compares with a lower-case ASCII word.
func foldEqual(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
