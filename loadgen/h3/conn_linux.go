package h3

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/tareperf/tare/loadgen"
)

const (
	firstBackoff = 10 * time.Millisecond
	lastBackoff  = 500 * time.Millisecond
)

func resolveAddress(ctx context.Context, address string) (*net.UDPAddr, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "udp", port)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	best := ips[0]
	for _, ip := range ips { // as package loadgen
		if ip.Unmap().Is4() {
			best = ip
			break
		}
	}
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(best.Unmap(), uint16(number))), nil
}

// keep holds one connection open until the generator ends.
func (g *Generator) keep(t *target, c *conn, address *net.UDPAddr, config *tls.Config, wait time.Duration) {
	backoff := time.Duration(0)
	for pause(g.life, wait) {
		began := time.Now()
		transport, q, err := dial(g.life, address, config, g.spec.Timeout)
		if err != nil {
			if g.life.Err() != nil {
				return
			}
			g.connectFailed(t, err)
			backoff = min(max(2*backoff, firstBackoff), lastBackoff)
			wait = backoff
			continue
		}
		backoff, wait = 0, 0
		g.connected(t, c, q, time.Since(began))
		select {
		case <-q.Context().Done():
		case <-g.life.Done():
		}
		g.disconnected(t, c, q)
		_ = q.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "") // it may have ended
		_ = transport.Close()                                                     // nothing is left on it
		_ = transport.Conn.Close()
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func dial(ctx context.Context, address *net.UDPAddr, config *tls.Config, timeout time.Duration) (*quic.Transport, *quic.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: unspecified(address)})
	if err != nil {
		return nil, nil, err
	}
	transport := &quic.Transport{Conn: socket}
	// An idle time is the server's to set: this one holds its connections.
	q, err := transport.Dial(ctx, address, config, &quic.Config{MaxIdleTimeout: time.Hour, KeepAlivePeriod: 10 * time.Second, HandshakeIdleTimeout: timeout})
	if err != nil {
		_ = transport.Close() // nothing is on it
		_ = socket.Close()
		return nil, nil, err
	}
	return transport, q, nil
}

func unspecified(a *net.UDPAddr) net.IP {
	if a.IP.To4() != nil {
		return net.IPv4zero
	}
	return net.IPv6unspecified
}

func (g *Generator) connected(t *target, c *conn, q *quic.Conn, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.client = (&http3.Transport{DisableCompression: true}).NewClientConn(q)
	c.stats = func() (out, in int64) {
		s := q.ConnectionStats()
		return int64(s.BytesSent), int64(s.BytesReceived)
	}
	c.active = 0
	t.totals.opened++
	record(t.handshake, int64(took))
	t.moved(1)
}

func (g *Generator) disconnected(t *target, c *conn, q *quic.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out, in := c.stats()
	t.totals.bytesOut += out
	t.totals.bytesIn += in
	if g.life.Err() == nil {
		t.totals.closed++
	}
	c.client, c.stats = nil, nil
	t.moved(-1)
}

func (t *target) moved(by int) {
	t.open += by
	close(t.change)
	t.change = make(chan struct{})
}

func (g *Generator) connectFailed(t *target, err error) {
	class := connectClass(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	t.totals.failed++
	switch class {
	case loadgen.ConnectRefused:
		t.totals.failedBy.Refused++
	case loadgen.ConnectPorts:
		t.totals.failedBy.LocalPort++
	case loadgen.ConnectFiles:
		t.totals.failedBy.Files++
	case loadgen.ConnectTimeout:
		t.totals.failedBy.Timeout++
	case loadgen.ConnectTLS:
		t.totals.failedBy.TLS++
		t.totals.tlsFailed++
	default:
		t.totals.failedBy.Other++
	}
	t.refusal = &loadgen.ConnectError{Class: class, Target: t.Target, Want: len(t.conns), Have: t.open, Err: err}
	t.moved(0)
}

// connectClass names what an error of a QUIC handshake means. A closed UDP port
// is known only by the ICMP message, which quic-go does not pass on: it is a
// time-out.
func connectClass(err error) loadgen.ConnectClass {
	var transport *quic.TransportError
	var verify *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &verify), errors.As(err, &transport) && transport.ErrorCode.IsCryptoError():
		return loadgen.ConnectTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return loadgen.ConnectRefused
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return loadgen.ConnectFiles
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EADDRINUSE):
		return loadgen.ConnectPorts
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return loadgen.ConnectTimeout
	}
	return loadgen.ConnectOther
}
