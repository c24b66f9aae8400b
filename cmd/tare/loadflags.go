package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tareperf/tare/loadgen"
)

// loadOptions is a load as it was asked for.
type loadOptions struct {
	url         string
	target      loadgen.Target
	spec        loadgen.Spec
	window      loadgen.Window
	json        bool
	minHeadroom float64
	cpus        []int
	search      loadgen.Search // Low is 0 without one
}

const loadUsage = `tare load sends requests to one server at an exact rate, whatever the server does,
and says whether that worked. The numbers are explained in package loadgen.

Usage: tare load --rate R [flags] URL

URL is http://host[:port][/path?query] or https://...

Examples:
  tare load --rate 2000 --duration 30s http://127.0.0.1:8080/4k
      2,000 GET requests a second for 30 s over 32 connections
  tare load --rate 500 --protocol h2 --connections 4 --streams 50 --tls-ca ca.pem https://localhost:8443/
      HTTP/2 over TLS, with an authority of your own
  tare load --rate 1000 --churn 10 --tls-resume https://localhost:8443/
      a new connection each 10 requests, with resumed TLS sessions
  tare load --in-flight 64 --duration 10s http://127.0.0.1:8080/
      as fast as the server answers with 64 requests in flight
  tare load --rate 2000 --json http://127.0.0.1:8080/ | jq .response_ns.p99
`

const loadStatuses = `
Exit status: 0 the load was as asked; 1 it could not be sent; 2 wrong use; 3 not as
asked (overflow, failures, another rate, no resumption); 4 as asked, but the
generator had too little CPU to spare; 130 interrupted.
`

// loadFlags are flags that need more than a variable of the spec.
type loadFlags struct {
	tls      loadgen.TLS
	grpc     bool
	call     loadgen.GRPC
	bodyFile string
	cpus     string

	search                      bool
	searchHigh, searchTolerance float64
}

func (o *loadOptions) flags() (*optionSet, *loadFlags) {
	f := &loadFlags{}
	set := newOptionSet("load")
	s, w := &o.spec, &o.window
	set.section("Load", func() {
		set.Float64Var(&w.Rate, "rate", 0, "`requests` a second; needed unless --in-flight or --idle is given")
		set.DurationVar(&w.Duration, "duration", 10*time.Second, "how long requests are due: rate × duration of them, exactly (`time`, such as 30s)")
		set.IntVar(&s.Connections, "connections", 32, "connections, opened before the first request is due (`number`)")
		set.IntVar(&s.Workers, "workers", 1, "threads that send (`number`)")
		set.DurationVar(&w.Drain, "drain", 5*time.Second, "how long to wait for answers after the last request (`time`)")
		set.DurationVar(&w.WarmUp, "warmup", 0, "load for so long first and count none of it (`time`)")
		set.DurationVar(&w.Ramp, "ramp", 0, "rise from nothing to the rate first and count none of it (`time`)")
		set.IntVar(&w.InFlight, "in-flight", 0, "closed loop: always this `number` of requests in flight, at no rate")
		set.BoolVar(&w.Idle, "idle", false, "no requests: hold the connections open for the duration")
		set.Uint64Var(&w.Seed, "seed", 1, "of everything random: the same `number` gives the same arrivals")
	})
	set.section("Search", func() {
		set.BoolVar(&f.search, "search", false, "look for the highest rate that is as asked, from --rate on, in windows of --duration")
		set.Float64Var(&f.searchHigh, "search-high", 0, "the highest rate to try (`requests` a second)")
		set.Float64Var(&f.searchTolerance, "search-tolerance", 0, "how near to a rate that failed to come, as a part of it; 0 = 0.02 (`part`)")
	})
	set.section("Arrivals and connections", func() {
		set.Func("arrival", "shape of the arrivals: jitter (default), uniform, poisson or burst (`shape`)", func(v string) error { s.Arrival = loadgen.Arrival(v); return nil })
		set.IntVar(&s.BurstSize, "burst", 0, "arrivals that come at once; implies --arrival burst (`number`)")
		set.DurationVar(&s.Coarse, "coarse", 0, "put arrivals off to multiples of this, to save CPU (`time`, up to 1s)")
		set.IntVar(&s.Queue, "queue", 0, "arrivals that may wait for a connection; others are dropped and counted (`number`)")
		set.Func("reuse", "which free connection is used: round-robin (default), most-recent or least-recent (`order`)", func(v string) error { s.Reuse = loadgen.Reuse(v); return nil })
		set.IntVar(&s.Churn.Requests, "churn", 0, "close each connection after this `number` of requests and open another")
		set.BoolVar(&s.Churn.Together, "churn-together", false, "let them all end at about the same time")
		set.DurationVar(&s.Timeout, "timeout", 10*time.Second, "for one request (`time`)")
		set.DurationVar(&s.MaxLate, "max-late", 100*time.Millisecond, "drop and count what the generator itself would send later than this (`time`)")
		set.Float64Var(&s.ConnectRate, "connect-rate", 1000, "`connections` opened a second")
	})
	set.section("Protocol", func() {
		set.Func("protocol", "http/1.1 (default), h2 (with https) or h2c (with http) (`name`)", func(v string) error { s.Protocol = loadgen.Protocol(v); return nil })
		set.IntVar(&s.Streams, "streams", 0, "h2, h2c: requests on a connection at a time; 0 = 100 (`number`)")
		set.IntVar(&s.Pipeline, "pipeline", 0, "http/1.1: requests on a connection at a time; 0 = 1 (`number`)")
		set.IntVar(&s.H2.HeaderTable, "h2-table", 0, "h2, h2c: dynamic table of requests; 0 = 4096, -1 = none (`bytes`)")
		set.IntVar(&s.H2.AnswerHeaderTable, "h2-answer-table", 0, "h2, h2c: dynamic table that answers may use; 0 = 4096, -1 = none (`bytes`)")
		set.IntVar(&s.H2.StreamWindow, "h2-stream-window", 0, "h2, h2c: what may be sent ahead for one request; 0 = 1 GiB (`bytes`)")
		set.IntVar(&s.H2.ConnectionWindow, "h2-connection-window", 0, "h2, h2c: and for all of a connection; 0 = 1 GiB (`bytes`)")
	})
	set.section("gRPC, with h2 or h2c: the body is the message, encoded", func() {
		set.BoolVar(&f.grpc, "grpc", false, "make calls: the path is /package.Service/Method")
		set.IntVar(&f.call.Messages, "grpc-messages", 0, "messages that a call sends; 0 = 1 (`number`)")
		set.IntVar(&f.call.Answers, "grpc-answers", 0, "messages that answer it; 0 = 1, -1 = any number (`number`)")
		set.BoolVar(&f.call.Lockstep, "grpc-lockstep", false, "send each message when the one before was answered")
		set.IntVar(&f.call.Status, "grpc-status", 0, "gRPC status of a right answer (`code`)")
	})
	set.section("Request and answer", func() {
		set.StringVar(&s.Method, "method", "GET", "`method`")
		set.StringVar(&s.Host, "host", "", "Host header, and name for TLS, in the place of the URL's (`name`)")
		set.Func("header", "add \"`Name: value`\"; may be repeated", func(v string) error {
			name, value, ok := strings.Cut(v, ":")
			if !ok {
				return errors.New("want Name: value")
			}
			s.Headers = append(s.Headers, loadgen.Header{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
			return nil
		})
		set.IntVar(&s.Generated.Count, "header-count", 0, "add this `number` of headers")
		set.IntVar(&s.Generated.Bytes, "header-size", 0, "`bytes` of each of them, name and value; 0 = 64")
		set.IntVar(&s.Generated.Sets, "header-sets", 0, "different sets of their values, in turn; 0 = 1 (`number`)")
		set.StringVar(&s.Body, "body", "", "body of each request (`text`)")
		set.StringVar(&f.bodyFile, "body-file", "", "file with the body (`path`)")
		set.Int64Var(&s.BodyBytes, "body-size", 0, "`bytes` of a body that is made up")
		set.IntVar(&s.Expect.Status, "expect-status", 200, "status of a right answer (`code`)")
		set.Int64Var(&s.Expect.BodyBytes, "expect-bytes", 0, "length of its body; 0 = any (`bytes`)")
	})
	set.section("TLS, with https", func() {
		set.StringVar(&f.tls.CAFile, "tls-ca", "", "file of the authorities to trust; the system's otherwise (`path`, PEM)")
		set.StringVar(&f.tls.CertificateFile, "tls-cert", "", "client certificate with its chain (`path`, PEM)")
		set.StringVar(&f.tls.KeyFile, "tls-key", "", "its key (`path`, PEM)")
		set.StringVar(&f.tls.ServerName, "tls-server-name", "", "`name` to verify and to send as SNI; that of the URL otherwise")
		set.BoolVar(&f.tls.Insecure, "tls-insecure", false, "accept any certificate")
		set.StringVar(&f.tls.MinVersion, "tls-min", "", "1.2 or 1.3 (`version`)")
		set.StringVar(&f.tls.MaxVersion, "tls-max", "", "1.2 or 1.3 (`version`)")
		set.list(&f.tls.Ciphers, "tls-ciphers", "suites of TLS 1.2, IANA `names` with commas; needs --tls-max 1.2")
		set.list(&f.tls.Curves, "tls-curves", "X25519, P-256, P-384, P-521, X25519MLKEM768 (`names` with commas)")
		set.list(&f.tls.ALPN, "tls-alpn", "protocols to offer in the place of the one spoken (`names` with commas)")
		set.BoolVar(&f.tls.Resume, "tls-resume", false, "resume sessions; every handshake is a full one otherwise")
	})
	set.section("Output and machine", func() {
		set.BoolVar(&o.json, "json", false, "one JSON object on standard output")
		set.Float64Var(&o.minHeadroom, "min-headroom", 0.2, "exit with 4 when the generator's CPUs were idle for a smaller `part` than this")
		set.StringVar(&f.cpus, "cpus", "", "CPUs for the generator, such as 2,4-7 (`list`)")
	})
	return set, f
}

// usageError is what the user can correct in the command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func wrongUse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// parseLoad reads the arguments of tare load.
func parseLoad(args []string) (o loadOptions, set *optionSet, err error) {
	set, f := o.flags()
	rest, err := set.parse(args)
	if err != nil {
		return o, set, usageError{err}
	}
	if len(rest) != 1 {
		return o, set, wrongUse("want one URL, got %d: %q", len(rest), rest)
	}
	o.url = rest[0]
	given := set.given()
	switch {
	case given["rate"] && (given["in-flight"] || given["idle"]), given["in-flight"] && given["idle"]:
		return o, set, wrongUse("--rate, --in-flight and --idle exclude each other")
	case !given["rate"] && !given["in-flight"] && !given["idle"]:
		return o, set, wrongUse("--rate is needed, or --in-flight or --idle")
	case given["rate"] && o.window.Rate == 0:
		return o, set, wrongUse("--rate is 0: want a rate above 0, or --idle")
	case o.minHeadroom < 0 || o.minHeadroom > 1:
		return o, set, wrongUse("--min-headroom is %g: want 0 to 1", o.minHeadroom)
	case given["drain"] && o.window.Drain == 0:
		o.window.Drain = time.Nanosecond // 0 is the default
	}
	if o.spec.BurstSize > 0 && o.spec.Arrival == "" {
		o.spec.Arrival = loadgen.Burst
	}
	switch {
	case f.grpc:
		o.spec.GRPC = &f.call
		if !given["method"] {
			o.spec.Method = ""
		}
	case f.call != loadgen.GRPC{}:
		return o, set, wrongUse("--grpc-... needs --grpc")
	}
	if f.bodyFile != "" {
		if o.spec.Body != "" {
			return o, set, wrongUse("--body and --body-file exclude each other")
		}
		body, err := os.ReadFile(f.bodyFile)
		if err != nil {
			return o, set, wrongUse("--body-file: %w", err)
		}
		o.spec.Body = string(body)
	}
	if o.cpus, err = parseCPUs(f.cpus); err != nil {
		return o, set, err
	}
	if err := o.searchFrom(f.search, f.searchHigh, f.searchTolerance); err != nil {
		return o, set, err
	}
	if err := o.parseURL(f.tls, given); err != nil {
		return o, set, err
	}
	if err := o.spec.Validate(); err != nil {
		return o, set, usageError{flagNames(err)}
	}
	if err := o.window.Validate(o.spec, 1); err != nil {
		return o, set, usageError{flagNames(err)}
	}
	return o, set, nil
}

// parseURL takes the address apart: it says the target, the path, and
// whether there is TLS.
func (o *loadOptions) parseURL(tls loadgen.TLS, given map[string]bool) error {
	u, err := url.Parse(o.url)
	if err != nil {
		return wrongUse("%w", err)
	}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	switch {
	case port == "":
		return wrongUse("URL %q: want http:// or https://", o.url)
	case u.Hostname() == "":
		return wrongUse("URL %q has no host", o.url)
	case u.User != nil:
		return wrongUse("URL %q has a user: send it by --header \"Authorization: ...\"", o.url)
	case u.Fragment != "":
		return wrongUse("URL %q has a fragment, which is not sent", o.url)
	case u.Scheme == "https" && o.spec.Protocol == loadgen.H2C:
		return wrongUse("protocol h2c is without TLS: want http://, or --protocol h2")
	case u.Scheme == "http" && o.spec.Protocol == loadgen.HTTP2:
		return wrongUse("protocol h2 is with TLS: want https://, or --protocol h2c")
	}
	if u.Port() != "" {
		port = u.Port()
	}
	o.target = loadgen.Target{Name: u.Host, Address: net.JoinHostPort(u.Hostname(), port)}
	if o.spec.Host == "" {
		o.spec.Host = u.Host
	}
	o.spec.Path = u.RequestURI()
	if u.Scheme == "https" {
		o.spec.TLS = &tls
		return nil
	}
	for name := range given {
		if strings.HasPrefix(name, "tls-") {
			return wrongUse("--%s needs an https:// URL", name)
		}
	}
	return nil
}

// parseCPUs reads a list such as 0,2-3.
func parseCPUs(list string) (cpus []int, err error) {
	if list == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		low, err1 := strconv.Atoi(first)
		high, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || low < 0 || high < low || high > 1<<16 {
			return nil, wrongUse("--cpus is %q: want numbers and ranges such as 0,2-3", list)
		}
		for cpu := low; cpu <= high; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
