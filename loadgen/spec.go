package loadgen

import (
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// Arrival is the shape of the arrivals. It changes what a proxy costs, so it
// belongs to the conditions of a result.
type Arrival string

const (
	// Jitter puts each arrival at a random place of its own slot of 1/rate.
	// The count is exact, and arrivals cannot lock phase with timer ticks.
	Jitter Arrival = "jitter"
	// Uniform puts each arrival at the start of its slot.
	Uniform Arrival = "uniform"
	// Poisson draws a Poisson process given its count, so that the count is
	// exact here too.
	Poisson Arrival = "poisson"
)

// Header is one request header.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Expect is what an answer must be to be counted as completed.
type Expect struct {
	// Status is the status code; 0 = 200.
	Status int `json:"status,omitempty"`
	// BodyBytes is the exact length of the body; 0 = not checked.
	BodyBytes int64 `json:"body_bytes,omitempty"`
}

// Spec is the load a user asks for. The zero value is valid: GET / over 32
// connections for each target, one worker, jittered arrivals, at a rate that
// the Window gives.
type Spec struct {
	// Rate is requests per second for each target; 0 = each Window says.
	Rate float64 `json:"rate,omitempty"`
	// Connections is kept-alive connections for each target; 0 = 32.
	Connections int `json:"connections,omitempty"`
	// Workers is operating system threads that send; 0 = 1.
	Workers int `json:"workers,omitempty"`
	// Method is the request method; "" = GET.
	Method string `json:"method,omitempty"`
	// Path is the request target with its query; "" = "/".
	Path string `json:"path,omitempty"`
	// Host is the Host header; "" = the address of the target.
	Host string `json:"host,omitempty"`
	// Headers are added in this order. Host, Content-Length,
	// Transfer-Encoding, Connection and Expect are not the user's to set.
	Headers []Header `json:"headers,omitempty"`
	// Body is sent with every request, with its Content-Length.
	Body string `json:"body,omitempty"`
	// Arrival is the shape of arrivals; "" = Jitter.
	Arrival Arrival `json:"arrival,omitempty"`
	// Timeout bounds one request from its write to the last byte of the
	// answer, after which it has failed and its connection is replaced;
	// 0 = 10 s, at most one hour.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	// MaxLate is how late the generator may send an arrival for reasons of
	// its own (it did not get its CPU). A later one is overflow, so that a
	// stopped generator makes no burst when it wakes; 0 = 100 ms.
	MaxLate time.Duration `json:"max_late_ns,omitempty"`
	// ConnectRate is connections opened per second over all targets, so that
	// a cold server is not stormed; 0 = 1000.
	ConnectRate float64 `json:"connect_rate,omitempty"`
	// TLS secures the connections; nil = they are plain.
	TLS *TLS `json:"tls,omitempty"`
	// Expect is what a right answer is.
	Expect Expect `json:"expect"`
}

// withDefaults fills in the value that stands for each zero.
func (s Spec) withDefaults() Spec {
	setDefault(&s.Connections, 32)
	setDefault(&s.Workers, 1)
	setDefault(&s.Method, "GET")
	setDefault(&s.Path, "/")
	setDefault(&s.Arrival, Jitter)
	setDefault(&s.Timeout, 10*time.Second)
	setDefault(&s.MaxLate, 100*time.Millisecond)
	setDefault(&s.ConnectRate, 1000)
	setDefault(&s.Expect.Status, 200)
	return s
}

func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

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
	switch s.Arrival {
	case Jitter, Uniform, Poisson:
	default:
		return invalid("Spec.Arrival", string(s.Arrival), `"jitter", "uniform" or "poisson"`)
	}
	return s.validateRequest()
}

const (
	maxConnections = 100_000
	maxWorkers     = 256
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

// Target is one address to load.
type Target struct {
	Name    string `json:"name"`
	Address string `json:"address"` // host:port; a name is resolved once, in Connect
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
