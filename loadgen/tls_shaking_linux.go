package loadgen

import (
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"
)

// shaking is a handshake under way.
type shaking struct {
	handshakeOrder
	started int64
	socket  tlsSocket
	std     *tls.Conn
	pool    *sessionPool
	wakefd  int // the handshaker's
	secrets tlsSecrets
	next    func() (struct{}, bool) // goes on; nil before begin
	stop    func()
	err     error
}

// tlsSecrets is what the keys of one connection come from.
type tlsSecrets struct {
	client, server []byte // TLS 1.3: traffic secrets
	master         []byte // TLS 1.2
}

// begin prepares a coroutine; its first part runs with next.
func (s *shaking) begin(config *tls.Config, resume bool) {
	config.KeyLogWriter = s
	if resume {
		config.ClientSessionCache = s
	}
	s.std = tls.Client(&s.socket, config)
	s.next, s.stop = iter.Pull(func(yield func(struct{}) bool) {
		s.socket.pause = func() bool { return yield(struct{}{}) }
		s.err = s.std.Handshake()
	})
}

// Get is of tls.ClientSessionCache.
func (s *shaking) Get(string) (*tls.ClientSessionState, bool) {
	kept, ok := s.pool.get()
	s.secrets.master = kept.master
	return kept.state, ok
}

// Put is of tls.ClientSessionCache. TLS 1.3 calls it behind the handshake, on
// the worker's thread.
func (s *shaking) Put(_ string, state *tls.ClientSessionState) {
	if s.pool.put(tlsSession{state, s.secrets.master}) {
		wake(s.wakefd) // others wait for it
	}
}

// Write takes the secrets that crypto/tls logs, a line each (the format of
// NSS). TLS 1.2 logs none when it resumes: then it is that of the session.
func (s *shaking) Write(line []byte) (int, error) {
	fields := strings.Fields(string(line))
	if len(fields) != 3 {
		return 0, fmt.Errorf("key log line has %d fields", len(fields))
	}
	secret, err := hex.DecodeString(fields[2])
	if err != nil {
		return 0, fmt.Errorf("key log line of %q is not hexadecimal", fields[0])
	}
	switch fields[0] {
	case "CLIENT_TRAFFIC_SECRET_0":
		s.secrets.client = secret
	case "SERVER_TRAFFIC_SECRET_0":
		s.secrets.server = secret
	case "CLIENT_RANDOM":
		s.secrets.master = secret
	}
	return len(line), nil
}
