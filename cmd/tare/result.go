package main

import (
	"fmt"
	"math"
	"time"

	"github.com/tareperf/tare/loadgen"
)

// loadResult is what tare load says, and its JSON.
type loadResult struct {
	URL string `json:"url"`
	// AsAsked: nothing was other than asked, and nothing interrupted it.
	// Problems say what was.
	AsAsked     bool     `json:"as_asked"`
	Problems    []string `json:"problems"`
	Interrupted bool     `json:"interrupted"`
	Exit        int      `json:"exit"`

	Scheduled         int64 `json:"scheduled"`
	Sent              int64 `json:"sent"`
	Overflow          int64 `json:"overflow"`
	Completed         int64 `json:"completed"`
	Failed            int64 `json:"failed"`
	InFlightAtEnd     int64 `json:"in_flight_at_end"`
	ConnectionsOpened int64 `json:"connections_opened"` // warm-up included
	// RateAsked and Rate are requests per second. Rate is of those that were
	// completed, over the duration without ramp, warm-up and drain. RateAsked
	// is 0 where no rate was asked for.
	RateAsked float64 `json:"rate_asked"`
	Rate      float64 `json:"rate"`

	Response percentiles `json:"response_ns"`
	Service  percentiles `json:"service_ns"`
	Lateness percentiles `json:"lateness_ns"`
	// Handshakes are those of TLS.
	Handshakes *handshakes `json:"handshakes,omitempty"`

	// CPUPerRequest is CPU time of the whole generator process for each
	// completed request; null without one.
	CPUPerRequest *float64 `json:"cpu_ns_per_request"`
	// Headroom is for what part of the time the generator's CPUs were idle,
	// whoever used them, or its busiest thread was, whichever is less; null
	// when it is not known.
	Headroom *float64 `json:"headroom"`

	// Report is all that the generator says.
	Report loadgen.Report `json:"report"`

	// Search is set where a rate was searched; all else is then of the last
	// window at the rate that was found.
	Search *searchResult `json:"search,omitempty"`

	options loadOptions
}

// handshakes of TLS: in the window, and full and resumed ones before it.
type handshakes struct {
	Full          int64 `json:"full"`
	Resumed       int64 `json:"resumed"`
	Failed        int64 `json:"failed"`
	FullBefore    int64 `json:"full_before"`
	ResumedBefore int64 `json:"resumed_before"`
	// Took is how long those of the window took, CPU what each cost the
	// generator; null where there was none.
	Took percentiles `json:"took_ns"`
	CPU  *float64    `json:"cpu_ns_each"`
}

func handshakesOf(t loadgen.TargetReport, g loadgen.GeneratorReport) *handshakes {
	h := &handshakes{
		Full: t.HandshakesFull, Resumed: t.HandshakesResumed, Failed: t.HandshakesFailed,
		FullBefore: t.HandshakesFullBefore, ResumedBefore: t.HandshakesResumedBefore, Took: percentilesOf(t.Handshake),
	}
	if n := h.Full + h.Resumed + h.Failed; n > 0 {
		each := float64(g.HandshakeCPUNanoseconds) / float64(n)
		h.CPU = &each
	}
	return h
}

// percentiles of times in nanoseconds; null where there is no value.
type percentiles struct {
	Count int64    `json:"count"`
	Mean  *float64 `json:"mean"`
	Min   *int64   `json:"min"`
	P50   *int64   `json:"p50"`
	P90   *int64   `json:"p90"`
	P99   *int64   `json:"p99"`
	P999  *int64   `json:"p999"`
	Max   *int64   `json:"max"`
}

func percentilesOf(d loadgen.Distribution) percentiles {
	if d.Count == 0 {
		return percentiles{}
	}
	return percentiles{d.Count, &d.Mean, &d.Min, &d.P50, &d.P90, &d.P99, &d.P999, &d.Max}
}

// errorResult is the JSON where there was no load at all.
type errorResult struct {
	URL     string `json:"url"`
	AsAsked bool   `json:"as_asked"`
	Exit    int    `json:"exit"`
	Error   string `json:"error"`
	// LastSeen is what a generator that died had done shortly before.
	LastSeen *loadgen.Progress `json:"last_seen,omitempty"`
}

// newLoadResult judges a report.
func newLoadResult(o loadOptions, r loadgen.Report) *loadResult {
	t := r.Targets[0]
	res := &loadResult{
		URL: o.url, Interrupted: r.Interrupted, Problems: []string{},
		Scheduled: t.Scheduled, Sent: t.Sent, Overflow: t.Overflow, Completed: t.Completed, Failed: t.Failed, InFlightAtEnd: t.InFlightAtEnd,
		ConnectionsOpened: t.ConnectionsBefore + t.ConnectionsOpened,
		RateAsked:         r.Window.Rate,
		Response:          percentilesOf(t.Response), Service: percentilesOf(t.Service), Lateness: percentilesOf(r.Generator.Lateness),
		Headroom: r.Generator.Headroom, Report: r, options: o,
	}
	if o.spec.TLS != nil {
		res.Handshakes = handshakesOf(t, r.Generator)
	}
	duration := r.Window.Duration
	if r.Interrupted {
		duration = min(duration, time.Duration(r.EndNanoseconds-r.StartNanoseconds))
	}
	if duration > 0 {
		res.Rate = float64(t.Completed) / duration.Seconds()
	}
	if t.Completed > 0 {
		cost := float64(r.Generator.ProcessCPUNanoseconds) / float64(t.Completed)
		res.CPUPerRequest = &cost
	}
	res.judge(t)
	return res
}

// rateTolerance is how far from what was asked the rate may be, in parts of it.
const rateTolerance = 0.005

func (res *loadResult) problem(format string, args ...any) {
	res.Problems = append(res.Problems, fmt.Sprintf(format, args...))
}

// judge fills in Problems and the exit status.
func (res *loadResult) judge(t loadgen.TargetReport) {
	if t.Overflow > 0 {
		res.problem("%d of %d requests were not sent: %s", t.Overflow, t.Scheduled, overflowReasons(t.Counts))
	}
	if t.Failed > 0 {
		res.problem("%d of %d requests failed: %s", t.Failed, t.Sent, failureReasons(t.FailedBy))
	}
	if t.InFlightAtEnd > 0 && !res.Interrupted {
		res.problem("%d requests had no answer %v after the last was sent", t.InFlightAtEnd, res.Report.Window.Drain)
	}
	if asked := res.RateAsked * res.Report.Window.Duration.Seconds(); res.RateAsked > 0 && !res.Interrupted && math.Abs(float64(t.Completed)-asked) > max(1, rateTolerance*asked) {
		res.problem("%.5g requests a second were completed, and %.5g asked for", res.Rate, res.RateAsked)
	}
	if t.ConnectFailures > 0 {
		res.problem("%d connections could not be opened: %s", t.ConnectFailures, connectReasons(t.ConnectFailuresBy))
	}
	if tls := res.options.spec.TLS; tls != nil && tls.Resume {
		// The first handshake of each worker may have nothing to resume; those
		// before the first request may not, and are not judged.
		if first := int64(res.options.spec.Workers); t.HandshakesFull > first {
			res.problem("%d of %d TLS handshakes were full ones: the server gives no tickets, or does not take them", t.HandshakesFull, t.HandshakesFull+t.HandshakesResumed)
		}
	}
	if len(res.Problems) > 0 {
		res.Exit = exitNotAsAsked
	}
	switch {
	case res.Headroom == nil && res.options.minHeadroom > 0:
		res.problem("the headroom of the generator cannot be known here")
	case res.Headroom != nil && *res.Headroom < res.options.minHeadroom:
		res.problem("the generator's CPUs were idle for %.0f%% of the time only: its times are not the server's; give it CPUs of its own (--cpus)", 100**res.Headroom)
	}
	if len(res.Problems) > 0 && res.Exit == exitOK {
		res.Exit = exitNoHeadroom
	}
	if res.Interrupted {
		res.Exit = exitInterrupted
	}
	res.AsAsked = res.Exit == exitOK
}
