package loadgen

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"time"
)

// localPorts is what a host gives to connections that it opens.
type localPorts struct {
	count int
	// hold is how long the port of a closed connection to one address cannot
	// be used again: TIME_WAIT, which is on the side that closes first.
	hold         time.Duration
	holdLoopback time.Duration
}

// timeWait is the kernel's TCP_TIMEWAIT_LEN.
const timeWait = 60 * time.Second

// warnPorts tells which targets a window would leave without local ports.
func (l localPorts) warnPorts(s Spec, targets []Target, w Window) []string {
	s = s.withDefaults()
	setDefault(&w.Rate, s.Rate)
	if s.Churn.Requests == 0 || w.Rate == 0 || l.count == 0 {
		return nil
	}
	opened := w.Rate / float64(s.Churn.Requests)
	var warnings []string
	for i, t := range targets {
		if w.Targets != nil && !slices.Contains(w.Targets, i) {
			continue
		}
		hold := l.hold
		if isLoopback(t.Address) {
			hold = l.holdLoopback
		}
		seconds := min(hold, w.Ramp+w.WarmUp+w.Duration).Seconds()
		need := opened*seconds + float64(s.Connections)
		if need > 0.9*float64(l.count) {
			warnings = append(warnings, fmt.Sprintf(
				"target %q at %s: closing connections after %d requests opens %s a second, and the local port of each is held for %v: that needs about %.0f ports, and there are %d (net.ipv4.ip_local_port_range): arrivals will find no connection; lower the rate, raise Churn.Requests, widen the range, or set net.ipv4.tcp_tw_reuse=1",
				t.Name, t.Address, s.Churn.Requests, formatRate(math.Round(opened)), hold, need, l.count))
		}
	}
	return warnings
}

// isLoopback knows addresses and the one name that is loopback by its
// definition (RFC 6761).
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
