package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tareperf/tare/loadgen"
)

// text writes the result for people.
func (res *loadResult) text(w io.Writer) error {
	var b strings.Builder
	t := res.Report.Targets[0]
	g := res.Report.Generator
	fmt.Fprintf(&b, "%s\n%s\n\n", res.URL, res.options.conditions())
	fmt.Fprintf(&b, "scheduled    %d in %v", res.Scheduled, res.Report.Window.Duration)
	if res.RateAsked > 0 {
		fmt.Fprintf(&b, " at %.6g a second", res.RateAsked)
	}
	fmt.Fprintf(&b, "\nsent         %d, overflow %d\n", res.Sent, res.Overflow)
	fmt.Fprintf(&b, "completed    %d (%.6g a second), failed %d, in flight at the end %d\n\n", res.Completed, res.Rate, res.Failed, res.InFlightAtEnd)

	fmt.Fprintf(&b, "%-12s %9s %9s %9s %9s %9s\n", "", "p50", "p90", "p99", "p99.9", "max")
	row := func(name string, p percentiles) {
		if p.Count > 0 {
			fmt.Fprintf(&b, "%-12s %9s %9s %9s %9s %9s\n", name, span(*p.P50), span(*p.P90), span(*p.P99), span(*p.P999), span(*p.Max))
		}
	}
	row("response", res.Response)
	row("service", res.Service)
	row("lateness", res.Lateness)
	if res.Handshakes != nil {
		row("handshake", res.Handshakes.Took)
	}
	fmt.Fprintf(&b, "\nconnections  %d opened, %d closed by the server", res.ConnectionsOpened, t.ConnectionsClosed+t.ConnectionsClosedBefore)
	if t.ConnectionsChurned > 0 {
		fmt.Fprintf(&b, ", %d after their number of requests", t.ConnectionsChurned)
	}
	if h := res.Handshakes; h != nil {
		fmt.Fprintf(&b, "\nhandshakes   %d full, %d resumed, %d failed", h.Full+h.FullBefore, h.Resumed+h.ResumedBefore, h.Failed)
		if h.CPU != nil {
			fmt.Fprintf(&b, ", %s of CPU each", span(int64(*h.CPU)))
		}
	}
	fmt.Fprintf(&b, "\nbytes        %d out, %d in", t.BytesOut, t.BytesIn)
	fmt.Fprintf(&b, "\ngenerator    ")
	if res.CPUPerRequest != nil {
		fmt.Fprintf(&b, "%s of CPU a request, ", span(int64(*res.CPUPerRequest)))
	}
	if res.Headroom != nil {
		fmt.Fprintf(&b, "headroom %.0f%%, ", 100**res.Headroom)
	}
	fmt.Fprintf(&b, "%s sent one at a time\n\n", percent(alone(g.Batches), res.Sent))
	if f := res.Search; f != nil {
		fmt.Fprintf(&b, "search       %.6g a second is the highest rate that was as asked", f.Rate)
		if f.Failed > 0 {
			fmt.Fprintf(&b, ", %.6g was not", f.Failed)
		}
		b.WriteString("\n\n")
	}
	switch {
	case res.Interrupted:
		fmt.Fprintf(&b, "interrupted: %d of %d requests were due by then\n", t.Scheduled, t.Planned)
	case len(res.Problems) == 0:
		b.WriteString("as asked\n")
	}
	for _, p := range res.Problems {
		fmt.Fprintf(&b, "NOT AS ASKED: %s\n", p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// conditions is one line about how the load is made.
func (o loadOptions) conditions() string {
	s := o.spec
	words := []string{string(s.Protocol)}
	if s.Protocol == "" {
		words[0] = string(loadgen.HTTP1)
	}
	if s.TLS != nil {
		words = append(words, "TLS")
	}
	words = append(words, plural(s.Connections, "connection"), plural(s.Workers, "worker"))
	switch {
	case o.window.InFlight > 0:
		words = append(words, fmt.Sprintf("closed loop of %d in flight", o.window.InFlight))
	case o.window.Idle:
		words = append(words, "idle")
	default:
		words = append(words, fmt.Sprintf("%s arrivals, seed %d", orElse(string(s.Arrival), string(loadgen.Jitter)), o.window.Seed))
	}
	return strings.Join(words, ", ")
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// span writes nanoseconds in a handy unit, to three digits.
func span(ns int64) string {
	switch {
	case ns < 1000:
		return fmt.Sprintf("%d ns", ns)
	case ns < 1_000_000:
		return fmt.Sprintf("%.3g µs", float64(ns)/1e3)
	case ns < int64(time.Second):
		return fmt.Sprintf("%.3g ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.4g s", float64(ns)/1e9)
}

func alone(batches []loadgen.Batch) int64 {
	for _, b := range batches {
		if b.Size == 1 {
			return b.Count
		}
	}
	return 0
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}

func overflowReasons(c loadgen.Counts) string {
	return reasons(
		reason{c.OverflowBusy, "no connection was free (more --connections or --streams, or a --queue)"},
		reason{c.OverflowQueue, "still queued at the end"},
		reason{c.OverflowDown, "no connection was open"},
		reason{c.OverflowLate, "the generator did not get its CPU in time"})
}

func failureReasons(f loadgen.Failures) string {
	return reasons(
		reason{f.Status, "another status"}, reason{f.Body, "another length"}, reason{f.Framing, "malformed answer"},
		reason{f.Closed, "connection closed"}, reason{f.Lost, "lost on a connection that closed"}, reason{f.Timeout, "time-out"},
		reason{f.Reset, "stream reset"}, reason{f.GRPC, "another gRPC status"})
}

func connectReasons(f loadgen.ConnectFailures) string {
	return reasons(
		reason{f.Refused, "refused"}, reason{f.LocalPort, "no local port"}, reason{f.Files, "no file descriptor"},
		reason{f.Timeout, "time-out"}, reason{f.TLS, "TLS handshake"}, reason{f.Other, "other"})
}

type reason struct {
	count int64
	text  string
}

// reasons lists those that there were.
func reasons(list ...reason) string {
	var parts []string
	for _, r := range list {
		if r.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", r.count, r.text))
		}
	}
	return strings.Join(parts, ", ")
}
