package loadgen

import "time"

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
	// Burst puts Spec.BurstSize arrivals at once at a random place of their
	// common slots. The count is exact.
	Burst Arrival = "burst"
)

// Protocol is what is spoken with the targets.
type Protocol string

const (
	HTTP1 Protocol = "http/1.1" // plain, or over TLS where Spec.TLS is set
	HTTP2 Protocol = "h2"       // over TLS, agreed by ALPN
	H2C   Protocol = "h2c"      // HTTP/2 over plain TCP, by prior knowledge
)

// Reuse is which of several connections that can take a request gets it. It
// changes how work spreads over a proxy's workers.
type Reuse string

const (
	RoundRobin  Reuse = "round-robin"  // the next in turn
	MostRecent  Reuse = "most-recent"  // the one that became free last
	LeastRecent Reuse = "least-recent" // the one that has been free for longest
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

// Churn replaces connections, as clients do that do not keep them for long.
type Churn struct {
	// Requests is how many requests a connection carries before the
	// generator closes it in order and opens another at once, whatever
	// Spec.ConnectRate; 0 = it is kept.
	Requests int `json:"requests,omitempty"`
	// Together lets all connections of a target come to their end at about
	// the same time. Otherwise their first lives are shortened in equal
	// steps, so that the ends are spread evenly.
	Together bool `json:"together,omitempty"`
}

// GeneratedHeaders are added to a request to give it a size.
type GeneratedHeaders struct {
	// Count is how many headers there are; 0 = none.
	Count int `json:"count,omitempty"`
	// Bytes is the length of one, name and value together; 0 = 64, at least 16.
	Bytes int `json:"bytes,omitempty"`
	// Sets is how many sets of values there are, which the requests of a
	// target use in turn; 0 = 1.
	Sets int `json:"sets,omitempty"`
}

// Spec is the load a user asks for. The zero value is valid: GET / with
// HTTP/1.1 over 32 plain connections for each target, one worker, jittered
// arrivals, at a rate that the Window gives.
type Spec struct {
	// Rate is requests per second for each target; 0 = each Window says.
	Rate float64 `json:"rate,omitempty"`
	// Connections is kept-alive connections for each target; 0 = 32.
	Connections int `json:"connections,omitempty"`
	// Workers is operating system threads that send; 0 = 1.
	Workers int `json:"workers,omitempty"`

	// Protocol is what is spoken; "" = HTTP1.
	Protocol Protocol `json:"protocol,omitempty"`
	// TLS, when set, encrypts. HTTP2 without it has that of the zero TLS.
	TLS *TLS `json:"tls,omitempty"`
	// H2 is how HTTP2 and H2C are spoken.
	H2 H2 `json:"h2,omitzero"`
	// Streams is how many requests may be on a connection of HTTP2 or H2C at
	// a time, where the peer allows as many; 0 = 100.
	Streams int `json:"streams,omitempty"`
	// Pipeline is how many requests may be on a connection of HTTP1 at a
	// time, written without waiting for answers; 0 = 1.
	Pipeline int `json:"pipeline,omitempty"`
	// GRPC, when set, makes requests calls, over HTTP2 or H2C.
	GRPC *GRPC `json:"grpc,omitempty"`

	// Method is the request method; "" = GET.
	Method string `json:"method,omitempty"`
	// Path is the request target with its query; "" = "/".
	Path string `json:"path,omitempty"`
	// Host is the Host header; "" = the address of the target.
	Host string `json:"host,omitempty"`
	// Headers are added in this order. Host, Content-Length,
	// Transfer-Encoding, Connection and Expect are not the user's to set.
	Headers []Header `json:"headers,omitempty"`
	// Generated are more headers, made by number and size.
	Generated GeneratedHeaders `json:"generated_headers,omitzero"`
	// Body is sent with every request, with its Content-Length.
	Body string `json:"body,omitempty"`
	// BodyBytes is the length of a body that is made in the place of Body;
	// 0 = none, at most 1 GiB.
	BodyBytes int64 `json:"body_bytes,omitempty"`

	// Arrival is the shape of arrivals; "" = Jitter.
	Arrival Arrival `json:"arrival,omitempty"`
	// BurstSize is how many arrivals of a target come at once with Burst, at least 1.
	BurstSize int `json:"burst,omitempty"`
	// Coarse, when set, puts each arrival off to the next multiple of it
	// within the window, so that those of one interval come together. It
	// saves CPU and changes what the server costs; at most 1 s.
	Coarse time.Duration `json:"coarse_ns,omitempty"`
	// Queue is how many arrivals of a target may wait for a connection that
	// can take them. A server that has stood still is then loaded above the
	// rate until they are gone. 0 = none: they are overflow.
	Queue int `json:"queue,omitempty"`
	// Reuse is which connection takes a request; "" = RoundRobin.
	Reuse Reuse `json:"reuse,omitempty"`
	// Churn closes connections after a number of requests.
	Churn Churn `json:"churn,omitzero"`

	// Timeout bounds one request from its write to the last byte of the
	// answer, after which it has failed and its connection is replaced (on
	// HTTP/2: its stream is reset); 0 = 10 s, at most one hour.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
	// MaxLate is how late the generator may send an arrival for reasons of
	// its own (it did not get its CPU). A later one is overflow, so that a
	// stopped generator makes no burst when it wakes: what it catches up is
	// at most the arrivals of this time. 0 = 100 ms.
	MaxLate time.Duration `json:"max_late_ns,omitempty"`
	// ConnectRate is connections opened per second over all targets, so that
	// a cold server is not stormed; 0 = 1000.
	ConnectRate float64 `json:"connect_rate,omitempty"`
	// Expect is what a right answer is.
	Expect Expect `json:"expect"`
}

// WithDefaults is s with the value that stands for each zero filled in.
func (s Spec) WithDefaults() Spec { return s.withDefaults() }

// withDefaults fills in the value that stands for each zero.
func (s Spec) withDefaults() Spec {
	setDefault(&s.Connections, 32)
	setDefault(&s.Workers, 1)
	setDefault(&s.Protocol, HTTP1)
	if s.isH2() {
		setDefault(&s.Streams, 100)
	} else {
		setDefault(&s.Pipeline, 1)
	}
	if s.Protocol == HTTP2 && s.TLS == nil {
		s.TLS = &TLS{}
	}
	setDefault(&s.Method, "GET")
	setDefault(&s.Path, "/")
	if s.Generated.Count > 0 {
		setDefault(&s.Generated.Bytes, 64)
		setDefault(&s.Generated.Sets, 1)
	}
	setDefault(&s.Arrival, Jitter)
	setDefault(&s.Reuse, RoundRobin)
	setDefault(&s.Timeout, 10*time.Second)
	setDefault(&s.MaxLate, 100*time.Millisecond)
	setDefault(&s.ConnectRate, 1000)
	setDefault(&s.Expect.Status, 200)
	return s
}

func (s Spec) isH2() bool { return s.Protocol == HTTP2 || s.Protocol == H2C }

// depth is how many requests may be on one connection.
func (s Spec) depth() int { return max(s.Streams, s.Pipeline) }

func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// Target is one address to load.
type Target struct {
	Name    string `json:"name"`
	Address string `json:"address"` // host:port; a name is resolved once, in Connect
}
