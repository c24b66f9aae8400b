package smallorigin

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// answer is a whole response, ready to be written.
type answer struct {
	second  int64 // of its Date
	bytes   []byte
	headLen int
}

// answers builds the answer once a second: the Date of an HTTP origin must be
// right, the rest never changes.
type answers struct {
	bodySize int
	current  atomic.Pointer[answer]
}

func (a *answers) at(now time.Time) *answer {
	if got := a.current.Load(); got != nil && got.second == now.Unix() {
		return got
	}
	built := a.build(now)
	a.current.Store(built) // two builders in one second build the same
	return built
}

func (a *answers) build(now time.Time) *answer {
	b := make([]byte, 0, 256+a.bodySize)
	b = append(b, "HTTP/1.1 200 OK\r\nServer: tare\r\nDate: "...)
	b = now.UTC().AppendFormat(b, http.TimeFormat)
	b = append(b, "\r\nContent-Type: text/plain\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(a.bodySize), 10)
	b = append(b, "\r\n\r\n"...)
	headLen := len(b)
	for i := range a.bodySize {
		b = append(b, 'a'+byte(i%26))
	}
	return &answer{second: now.Unix(), bytes: b, headLen: headLen}
}

// closing is the answer with Connection: close, before which the connection is
// not closed by us. It is not on the path that is measured.
func (w *answer) closing() *answer {
	const line = "Connection: close\r\n"
	b := make([]byte, 0, len(w.bytes)+len(line))
	b = append(b, w.bytes[:w.headLen-2]...)
	b = append(b, line...)
	b = append(b, w.bytes[w.headLen-2:]...)
	return &answer{second: w.second, bytes: b, headLen: w.headLen + len(line)}
}

func (w *answer) to(h head) []byte {
	if h.isHEAD {
		return w.bytes[:w.headLen]
	}
	return w.bytes
}
