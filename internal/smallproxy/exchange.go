package smallproxy

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// exchange is one request and its answer.
type exchange struct {
	open    bool // begun and not ended
	aborted bool

	start    time.Time
	method   string
	uri      string
	protocol string
	host     string
	agent    string
	id       string // X-Request-Id
	received int64  // bytes of the request's body, as declared; -1 unknown
	status   int
	sent     int64 // bytes of the answer's body
}

// conn is a client's connection. net/http serves one request of it at a time, so
// the exchange under way lives here.
type conn struct {
	*net.TCPConn
	peer        string
	fresh       bool // no request yet; of the goroutine that serves it
	exchange    exchange
	writeFailed atomic.Bool // also written by goroutines that send 100 Continue
}

// Write notes a failure, which net/http keeps to itself.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.TCPConn.Write(b)
	if err != nil {
		c.writeFailed.Store(true)
	}
	return n, err
}

// listener makes connections into conns.
type listener struct{ *net.TCPListener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return &conn{TCPConn: c, peer: c.RemoteAddr().String()}, nil
}

// recorder notes what is answered. It must not offer ReadFrom: that would write
// past conn.Write.
type recorder struct {
	http.ResponseWriter
	exchange *exchange
}

func (r *recorder) WriteHeader(status int) {
	if status >= 200 && r.exchange.status == 0 { // informational answers precede the real one
		r.exchange.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	n, err := r.ResponseWriter.Write(b)
	r.exchange.sent += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
