package loadgen

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers every question for an IPv4 address with 127.0.0.1, and
// counts them. The test must not run beside others: it replaces the resolver.
func nameServer(t *testing.T) *atomic.Int64 {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	var asked atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response = true
			m.Additionals = nil
			if q.Type == dnsmessage.TypeA {
				asked.Add(1)
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
				}}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(out, from) // the resolver asks again for a lost answer
			}
		}
	}()
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = old
		server.Close()
		<-done
	})
	return &asked
}

// tsenart/vegeta#162, oha#386: a name is resolved once, in Connect, and not
// for each connection.
func TestReportVegeta162NamesAreResolvedOnce(t *testing.T) {
	asked := nameServer(t)
	s := newScript(t, answering(okAnswer))
	_, port, err := net.SplitHostPort(s.target().Address)
	require.NoError(t, err)
	g := connected(t, Spec{Connections: 50, Churn: Churn{Requests: 1}}, Target{Name: "named", Address: "server.test:" + port})
	after := asked.Load()
	require.Positive(t, after)
	c := runWindow(t, g, Window{Rate: 200, Duration: 200 * time.Millisecond}).Total()
	require.EqualValues(t, 40, c.Completed)
	require.Positive(t, c.ConnectionsOpened)
	require.NoError(t, g.Connect(t.Context()))
	require.Equal(t, after, asked.Load())
}
