package smallorigin

import "bytes"

// Limits of what a request may send, in bytes.
const (
	maxHead  = 64 << 10 // head, also the trailers of a chunked body
	maxChunk = 4 << 10  // the line before a chunk
)

// event is what the bytes fed so far add up to.
type event int

const (
	needMore event = iota // no event before more bytes come
	gotHead               // the head is complete; framer.head holds it
	gotBody               // the body is complete too: answer now
)

type state int

const (
	inHead  state = iota
	inBody        // left bytes of a body with a length
	inSize        // the line before a chunk
	inChunk       // left bytes of a chunk and the CRLF behind it
	inTrailer
)

// framer cuts a stream of bytes into requests, wherever the stream is split.
// The zero value waits for the first request.
type framer struct {
	head    head
	state   state
	left    int64
	scanned int // bytes of an incomplete head or line already searched for its end
	started bool
	trailer int // bytes of trailers so far
}

// next looks at buf, the bytes that were not consumed yet, and says how many of
// them it used and what that completed. After needMore with 0 consumed bytes, buf
// must be longer the next time. A refusal is final for the connection.
func (f *framer) next(buf []byte) (used int, ev event, r *refusal) {
	for {
		n := 0
		switch f.state {
		case inHead:
			return f.nextHead(buf)
		case inBody:
			used += f.skip(buf[used:])
			if f.left > 0 {
				return used, needMore, nil
			}
			f.reset()
			return used, gotBody, nil
		case inSize:
			n, r = f.nextSize(buf[used:])
		case inChunk:
			n, r = f.nextChunk(buf[used:])
		case inTrailer:
			var done bool
			n, done, r = f.nextTrailer(buf[used:])
			if done && r == nil {
				f.reset()
				return used + n, gotBody, nil
			}
		}
		used += n
		if r != nil || n == 0 {
			return used, needMore, r
		}
	}
}

func (f *framer) reset() { *f = framer{head: f.head} }

// midRequest reports whether the stream may not end here.
func (f *framer) midRequest() bool { return f.state != inHead || f.started }

func (f *framer) nextHead(buf []byte) (used int, ev event, r *refusal) {
	// Empty lines before a request are skipped (RFC 9112, 2.2).
	for !f.started && len(buf)-used >= 2 && buf[used] == '\r' && buf[used+1] == '\n' {
		used += 2
	}
	b := buf[used:]
	if len(b) == 0 || !f.started && len(b) == 1 && b[0] == '\r' {
		return used, needMore, nil
	}
	f.started = true
	end := bytes.Index(b[f.scanned:], []byte("\r\n\r\n"))
	if end < 0 {
		if len(b) > maxHead {
			return used, needMore, &refusal{status: "431 Request Header Fields Too Large", why: "head above 64 KiB"}
		}
		f.scanned = max(0, len(b)-3)
		return used, needMore, nil
	}
	end += f.scanned + 4
	if end > maxHead {
		return used, needMore, &refusal{status: "431 Request Header Fields Too Large", why: "head above 64 KiB"}
	}
	if f.head, r = parseHead(b[:end]); r != nil {
		return used + end, needMore, r
	}
	f.scanned = 0
	f.state, f.left = inBody, f.head.length // with length 0 the next step ends the request
	if f.head.chunked {
		f.state = inSize
	}
	return used + end, gotHead, nil
}

// skip consumes up to left bytes.
func (f *framer) skip(b []byte) int {
	n := int(min(f.left, int64(len(b))))
	f.left -= int64(n)
	return n
}

// line finds a line's end in b, at most limit bytes away.
func (f *framer) line(b []byte, limit int) (line []byte, used int, r *refusal) {
	end := bytes.Index(b[f.scanned:], []byte("\r\n"))
	if end < 0 {
		if len(b) > limit {
			return nil, 0, bad("line of a chunked body above its limit")
		}
		f.scanned = max(0, len(b)-1)
		return nil, 0, nil
	}
	end += f.scanned
	f.scanned = 0
	if end > limit {
		return nil, 0, bad("line of a chunked body above its limit")
	}
	return b[:end], end + 2, nil
}

func (f *framer) nextSize(b []byte) (int, *refusal) {
	line, used, r := f.line(b, maxChunk)
	if r != nil || used == 0 {
		return 0, r
	}
	size, extension, _ := bytes.Cut(line, []byte(";"))
	size = bytes.TrimRight(size, " \t")
	if bytes.ContainsAny(extension, "\r\n\x00") || len(size) == 0 || len(size) > 15 {
		return used, bad("chunk size is not a number")
	}
	f.left = 0
	for _, c := range size {
		switch {
		case '0' <= c && c <= '9':
			f.left = f.left<<4 | int64(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			f.left = f.left<<4 | int64(c|0x20-'a'+10)
		default:
			return used, bad("chunk size is not a number")
		}
	}
	if f.state = inChunk; f.left == 0 {
		f.state = inTrailer
	}
	return used, nil
}

func (f *framer) nextChunk(b []byte) (int, *refusal) {
	n := f.skip(b)
	if f.left > 0 || len(b)-n < 2 {
		return n, nil
	}
	if b[n] != '\r' || b[n+1] != '\n' {
		return n, bad("chunk is longer than its size")
	}
	f.state = inSize
	return n + 2, nil
}

func (f *framer) nextTrailer(b []byte) (used int, done bool, r *refusal) {
	line, used, r := f.line(b, maxHead)
	if r != nil || used == 0 {
		return 0, false, r
	}
	if f.trailer += used; f.trailer > maxHead {
		return used, false, bad("trailers above 64 KiB")
	}
	return used, len(line) == 0, nil
}
