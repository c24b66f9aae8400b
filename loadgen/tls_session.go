package loadgen

import (
	"crypto/tls"
	"sync"
)

// tlsSession is a session that can be resumed. TLS 1.2 derives the keys of
// each connection from the same master secret.
type tlsSession struct {
	state  *tls.ClientSessionState
	master []byte
}

// sessionPool keeps the sessions of one target. Each is offered once, as a
// server may refuse a second use (RFC 8446, appendix C.4); the last one is
// kept and offered again rather than none.
type sessionPool struct {
	mu       sync.Mutex
	sessions []tlsSession
	asked    bool  // a handshake that could bring one was begun
	ended    int64 // when the first such had ended
}

// maxSessions bounds the pool: a server that gives two tickets to each
// connection would fill it for ever.
const maxSessions = 1024

// get returns the newest, which is the least likely to have expired.
func (p *sessionPool) get() (tlsSession, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.sessions)
	if n == 0 {
		return tlsSession{}, false
	}
	s := p.sessions[n-1]
	if n > 1 {
		p.sessions = p.sessions[:n-1]
	}
	return s, true
}

// put adds one, and tells whether it is the only one. Without state it says
// that the last one was of no use.
func (p *sessionPool) put(s tlsSession) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case s.state == nil:
		p.sessions = p.sessions[:0] // the others are as old or older
	case len(p.sessions) == maxSessions:
		copy(p.sessions, p.sessions[1:])
		p.sessions[maxSessions-1] = s
	default:
		p.sessions = append(p.sessions, s)
	}
	return len(p.sessions) == 1
}

// firstAlone tells whether a handshake may begin now: the first one goes
// alone, so that all others can resume its session. A server may give one in
// TLS 1.3 with its first answer only (BoringSSL does), so it is not waited for
// for long: what connects before the first request is then full.
func (p *sessionPool) firstAlone(now int64) bool {
	const patience = int64(1e9)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asked {
		p.asked = true
		return true
	}
	return len(p.sessions) > 0 || p.ended > 0 && now-p.ended > patience
}

// handshakeEnded is told of the end of each handshake, however it was.
func (p *sessionPool) handshakeEnded(now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == 0 {
		p.ended = now
	}
}
