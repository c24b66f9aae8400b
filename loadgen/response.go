package loadgen

import (
	"bytes"
	"errors"
)

// maxHeadBytes bounds the header section of one answer, trailers and
// informational answers included, so that an endless one is refused.
const maxHeadBytes = 1 << 20

type parseState uint8

const (
	inStatusLine parseState = iota
	inHeaders
	inLengthBody
	inChunkSize
	inChunkData
	inChunkEnd
	inTrailers
	inCloseBody // ends with the connection
	parseDone
)

var (
	errStatusLine    = errors.New("malformed status line")
	errHeader        = errors.New("malformed header line")
	errLength        = errors.New("malformed or contradicting Content-Length")
	errEncoding      = errors.New("transfer coding that is not understood")
	errChunk         = errors.New("malformed chunk")
	errHeadTooLong   = errors.New("header section longer than 1 MiB")
	errSwitched      = errors.New("101 answer to a request that asked for no upgrade")
	errEarlyEnd      = errors.New("connection ended inside the answer")
	errTooManyLeads  = errors.New("more than 100 informational answers")
	errBytesTooMany  = errors.New("bytes after the end of the answer")
	errNothingBefore = errors.New("connection ended before the answer")
)

// response takes one answer apart as its bytes arrive, in pieces of any
// size. It keeps no bytes but the line that is not complete yet, and
// allocates nothing.
type response struct {
	state     parseState
	noBody    bool // a HEAD request: no answer has a body
	status    int
	keepAlive bool // the server keeps the connection
	bodyBytes int64

	old        bool // HTTP/1.0
	chunked    bool
	encoded    bool // has a Transfer-Encoding
	hasLength  bool
	length     int64
	remaining  int64
	headBytes  int
	leads      int  // informational answers seen
	cut        bool // the line did not fit into buf
	skipFolded bool
	used       int
	buf        [256]byte
}

// reset makes r ready for the next answer on its connection.
func (r *response) reset(noBody bool) {
	r.noBody = noBody
	r.bodyBytes, r.headBytes, r.leads, r.used, r.cut = 0, 0, 0, 0, false
	r.nextHead()
}

func (r *response) nextHead() {
	r.state, r.status = inStatusLine, 0
	r.keepAlive, r.old, r.chunked, r.encoded, r.hasLength = true, false, false, false, false
	r.length, r.remaining = 0, 0
}

// started tells whether any byte of the answer has come.
func (r *response) started() bool { return r.headBytes > 0 }

// feed takes bytes until the answer is complete (done) or b is used up. It
// returns how many it took; what is left does not belong to the answer.
func (r *response) feed(b []byte) (n int, done bool, err error) {
	for n < len(b) && r.state != parseDone {
		switch r.state {
		case inLengthBody, inChunkData:
			take := min(int64(len(b)-n), r.remaining)
			n += int(take)
			r.remaining -= take
			r.bodyBytes += take
			if r.remaining == 0 {
				if r.state == inLengthBody {
					r.state = parseDone
				} else {
					r.state = inChunkEnd
				}
			}
		case inCloseBody:
			r.bodyBytes += int64(len(b) - n)
			n = len(b)
		default:
			line, took, complete := r.line(b[n:])
			n += took
			if r.headBytes += took; r.headBytes > maxHeadBytes {
				return n, false, errHeadTooLong
			}
			if !complete {
				return n, false, nil
			}
			if err := r.takeLine(line); err != nil {
				return n, false, err
			}
			r.used, r.cut = 0, false
		}
	}
	return n, r.state == parseDone, nil
}

// end is the end of the connection: it completes an answer without a length
// and breaks every other.
func (r *response) end() error {
	switch {
	case r.state == inCloseBody:
		r.state = parseDone
		return nil
	case !r.started():
		return errNothingBefore
	}
	return errEarlyEnd
}

// line finds the end of the current line. A line that comes whole is a slice
// of b; the pieces of any other are collected in buf, as far as they fit. One
// that does not fit is cut in either case, so that it reads the same however
// it comes.
func (r *response) line(b []byte) (line []byte, took int, complete bool) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		r.keep(b)
		return nil, len(b), false
	}
	line = b[:end]
	if r.used > 0 || len(line) > len(r.buf) {
		r.keep(line)
		line = r.buf[:r.used]
	}
	if len(line) > 0 && line[len(line)-1] == '\r' && !r.cut {
		line = line[:len(line)-1]
	}
	return line, end + 1, true
}

func (r *response) keep(b []byte) {
	n := copy(r.buf[r.used:], b)
	r.used += n
	r.cut = r.cut || n < len(b)
}

func (r *response) takeLine(line []byte) error {
	switch r.state {
	case inStatusLine:
		return r.takeStatus(line)
	case inHeaders:
		if len(line) == 0 {
			return r.endHead()
		}
		return r.takeHeader(line)
	case inChunkSize:
		return r.takeChunkSize(line)
	case inChunkEnd:
		if len(line) != 0 {
			return errChunk
		}
		r.state = inChunkSize
	case inTrailers:
		if len(line) == 0 {
			r.state = parseDone
		}
	}
	return nil
}

func (r *response) takeChunkSize(line []byte) error {
	n, digits := int64(0), 0
	for ; digits < len(line); digits++ {
		v := hexDigit(line[digits])
		if v < 0 {
			break
		}
		if digits >= 15 {
			return errChunk
		}
		n = n<<4 | int64(v)
	}
	if digits == 0 {
		return errChunk
	}
	// What follows must be nothing or an extension; its content is free.
	if rest := trim(line[digits:]); len(rest) > 0 && rest[0] != ';' {
		return errChunk
	}
	if n == 0 {
		r.state = inTrailers
	} else {
		r.state, r.remaining = inChunkData, n
	}
	return nil
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
