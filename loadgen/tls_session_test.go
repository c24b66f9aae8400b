package loadgen

import (
	"crypto/tls"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each session is offered once, the newest first, and the last one again and
// again; one that was of no use takes the older ones with it.
func TestTLSSessionPool(t *testing.T) {
	var p sessionPool
	_, ok := p.get()
	require.False(t, ok)
	states := make([]*tls.ClientSessionState, maxSessions+5)
	for i := range states {
		states[i] = new(tls.ClientSessionState)
		require.Equal(t, i == 0, p.put(tlsSession{state: states[i]}))
	}
	require.Len(t, p.sessions, maxSessions)
	for i := len(states) - 1; i >= 5; i-- {
		s, ok := p.get()
		require.True(t, ok)
		require.Same(t, states[i], s.state)
	}
	s, ok := p.get()
	require.True(t, ok)
	require.Same(t, states[5], s.state)
	p.put(tlsSession{state: states[0]})
	p.put(tlsSession{})
	_, ok = p.get()
	require.False(t, ok)
}

// One handshake goes first; the others wait for its session, but not for long
// once it has ended.
func TestTLSFirstHandshakeGoesAlone(t *testing.T) {
	const start, long = int64(1_000), int64(1e10)
	var p sessionPool
	require.True(t, p.firstAlone(start))
	require.False(t, p.firstAlone(start+long))
	p.handshakeEnded(start + long)
	require.False(t, p.firstAlone(start+long+1))
	p.handshakeEnded(start + 2*long) // of another one
	require.True(t, p.firstAlone(start+2*long))
	p.ended = start + 3*long
	p.put(tlsSession{state: new(tls.ClientSessionState)})
	require.True(t, p.firstAlone(start+3*long))
}
