package loadgen

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// Validate returns nil or an *InvalidError with the first problem.
func (s Spec) Validate() error {
	s = s.withDefaults()
	if s.Rate != 0 {
		if err := validateRate("Spec.Rate", s.Rate); err != nil {
			return err
		}
	}
	if err := validateRate("Spec.ConnectRate", s.ConnectRate); err != nil {
		return err
	}
	switch {
	case s.Connections < 0 || s.Connections > maxConnections:
		return invalid("Spec.Connections", s.Connections, fmt.Sprintf("1 to %d for each target", maxConnections))
	case s.Workers < 0 || s.Workers > maxWorkers:
		return invalid("Spec.Workers", s.Workers, fmt.Sprintf("1 to %d", maxWorkers))
	case s.Workers > s.Connections:
		return invalid("Spec.Workers", s.Workers, fmt.Sprintf("at most the %d connections of a target, as workers do not share one", s.Connections))
	case s.Timeout < 0 || s.Timeout > time.Hour:
		return invalid("Spec.Timeout", s.Timeout, "above 0 and at most 1h")
	case s.MaxLate < 0 || s.MaxLate > time.Hour:
		return invalid("Spec.MaxLate", s.MaxLate, "above 0 and at most 1h")
	case s.Expect.Status < 200 || s.Expect.Status > 599:
		return invalid("Spec.Expect.Status", s.Expect.Status, "200 to 599")
	case s.Expect.BodyBytes < 0:
		return invalid("Spec.Expect.BodyBytes", s.Expect.BodyBytes, "0 (not checked) or more")
	}
	if err := s.validateArrivals(); err != nil {
		return err
	}
	if err := s.validateProtocol(); err != nil {
		return err
	}
	return s.validateRequest()
}

func (s Spec) validateArrivals() error {
	switch s.Arrival {
	case Jitter, Uniform, Poisson, Burst:
	default:
		return invalid("Spec.Arrival", string(s.Arrival), `"jitter", "uniform", "poisson" or "burst"`)
	}
	switch s.Reuse {
	case RoundRobin, MostRecent, LeastRecent:
	default:
		return invalid("Spec.Reuse", string(s.Reuse), `"round-robin", "most-recent" or "least-recent"`)
	}
	switch {
	case s.Arrival == Burst && (s.BurstSize < 1 || s.BurstSize > maxQueue):
		return invalid("Spec.BurstSize", s.BurstSize, fmt.Sprintf("1 to %d with Arrival \"burst\"", maxQueue))
	case s.Arrival != Burst && s.BurstSize != 0:
		return invalid("Spec.BurstSize", s.BurstSize, `0 without Arrival "burst"`)
	case s.Coarse < 0 || s.Coarse > time.Second:
		return invalid("Spec.Coarse", s.Coarse, "0 (off) to 1s")
	case s.Queue < 0 || s.Queue > maxQueue:
		return invalid("Spec.Queue", s.Queue, fmt.Sprintf("0 (drop) to %d", maxQueue))
	case s.Churn.Requests < 0:
		return invalid("Spec.Churn.Requests", s.Churn.Requests, "0 (keep connections) or more")
	case s.Churn.Together && s.Churn.Requests == 0:
		return invalid("Spec.Churn.Together", true, "a number of requests in Spec.Churn.Requests with it")
	}
	return nil
}

func (s Spec) validateProtocol() error {
	switch s.Protocol {
	case HTTP1, HTTP2, H2C:
	default:
		return invalid("Spec.Protocol", string(s.Protocol), `"http/1.1", "h2" or "h2c"`)
	}
	switch {
	case s.Streams < 0 || s.Streams > maxDepth:
		return invalid("Spec.Streams", s.Streams, fmt.Sprintf("1 to %d", maxDepth))
	case s.Pipeline < 0 || s.Pipeline > maxDepth:
		return invalid("Spec.Pipeline", s.Pipeline, fmt.Sprintf("1 to %d", maxDepth))
	case s.Streams > 0 && !s.isH2():
		return invalid("Spec.Streams", s.Streams, `0 with Protocol "http/1.1", whose requests on a connection are Spec.Pipeline`)
	case s.Pipeline > 0 && s.isH2():
		return invalid("Spec.Pipeline", s.Pipeline, `0 with HTTP/2, whose requests on a connection are Spec.Streams`)
	case s.Connections*s.depth() > maxSlots:
		return invalid("Spec.Connections", s.Connections, fmt.Sprintf("at most %d requests in flight for a target, and each connection may have %d", maxSlots, s.depth()))
	case s.Protocol == H2C && s.TLS != nil:
		return invalid("Spec.TLS", unquoted("set"), `nil with Protocol "h2c", or Protocol "h2"`)
	case s.GRPC != nil && !s.isH2():
		return invalid("Spec.GRPC", unquoted("set"), `Protocol "h2" or "h2c" with it`)
	case s.Pipeline > 1 && s.Generated.Sets > 1:
		return invalid("Spec.Generated.Sets", s.Generated.Sets, "1 with Spec.Pipeline above 1")
	}
	if s.TLS != nil {
		if err := s.TLS.validate(); err != nil {
			return err
		}
	}
	if s.GRPC != nil {
		if err := s.GRPC.validate(); err != nil {
			return err
		}
	}
	return s.H2.validate()
}

const (
	maxConnections = 100_000
	maxWorkers     = 256
	maxDepth       = 10_000 // requests on a connection
	maxSlots       = 4_000_000
	maxQueue       = 1_000_000
	maxBodyBytes   = 1 << 30
)

// validateRequest refuses what would break the framing of the request.
func (s Spec) validateRequest() error {
	if !isToken(s.Method) || s.Method == "CONNECT" {
		return invalid("Spec.Method", s.Method, "an HTTP method other than CONNECT, such as GET")
	}
	if !strings.HasPrefix(s.Path, "/") || strings.ContainsFunc(s.Path, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return invalid("Spec.Path", s.Path, "a path that begins with / and holds no spaces, control or non-ASCII characters (percent-encode them)")
	}
	if strings.ContainsFunc(s.Host, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return invalid("Spec.Host", s.Host, "a host name without spaces and control characters")
	}
	switch g := s.Generated; {
	case g.Count < 0 || g.Count > 10_000:
		return invalid("Spec.Generated.Count", g.Count, "0 to 10000")
	case g.Count > 0 && (g.Bytes < 16 || g.Bytes > 1<<20):
		return invalid("Spec.Generated.Bytes", g.Bytes, "16 to 1048576")
	case g.Count > 0 && (g.Sets < 1 || g.Sets > 1024):
		return invalid("Spec.Generated.Sets", g.Sets, "1 to 1024")
	case g.Count == 0 && (g.Bytes != 0 || g.Sets != 0):
		return invalid("Spec.Generated.Count", 0, "a number of headers when Bytes or Sets is given")
	case s.BodyBytes < 0 || s.BodyBytes > maxBodyBytes:
		return invalid("Spec.BodyBytes", s.BodyBytes, fmt.Sprintf("0 (none) to %d", maxBodyBytes))
	case s.BodyBytes > 0 && s.Body != "":
		return invalid("Spec.BodyBytes", s.BodyBytes, "0 with Spec.Body, which has a length of its own")
	}
	for i, h := range s.Headers {
		field := fmt.Sprintf("Spec.Headers[%d]", i)
		if !isToken(h.Name) {
			return invalid(field+".Name", h.Name, "a header name")
		}
		if strings.ContainsAny(h.Value, "\r\n\x00") {
			return invalid(field+".Value", h.Value, "a value without line breaks")
		}
		switch strings.ToLower(h.Name) {
		case "host", "content-length", "transfer-encoding", "connection", "expect":
			return invalid(field+".Name", h.Name, "a header that the generator does not write itself (Host, Content-Length, Transfer-Encoding, Connection, Expect)")
		}
	}
	return nil
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

// maxRate is the highest rate whose slots are at least one nanosecond.
const maxRate = 1e9

func validateRate(field string, rate float64) error {
	if math.IsNaN(rate) || rate <= 0 || rate > maxRate {
		return invalid(field, formatRate(rate), "above 0 and at most 1e9 per second")
	}
	return nil
}

func validateTargets(targets []Target) error {
	if len(targets) == 0 || len(targets) > maxTargets {
		return invalid("Targets", unquoted(fmt.Sprintf("%d long", len(targets))), fmt.Sprintf("1 to %d targets", maxTargets))
	}
	for i, t := range targets {
		field := fmt.Sprintf("Targets[%d].Address", i)
		host, port, err := net.SplitHostPort(t.Address)
		if err != nil || host == "" {
			return invalid(field, t.Address, "host:port")
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return invalid(field, t.Address, "a port from 1 to 65535")
		}
	}
	return nil
}

const maxTargets = 64
