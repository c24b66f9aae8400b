package gate

import (
	"fmt"
	"math"
	"strings"
)

// RateEvidence is what the generator achieved for one arm.
type RateEvidence struct {
	Arm               string
	WantPerSecond     float64 // what the schedule asked for: for random arrivals, the arrivals of this schedule over its length
	Completed         int64   // answers received
	WindowNanoseconds int64   // from the window's start to the last answer or the end of the schedule, whichever is later
	Sent, Overflow    int64   // optional, to name the cause
	GeneratorBusy     float64 // optional: busy share of the generator's CPUs, to name the cause
}

// Rate passes when the achieved rate is within the tolerance of the wanted
// one, either way.
func Rate(t Thresholds, e RateEvidence) Result {
	r, decided := t.begin(NameRate, e.Arm)
	if decided {
		return r
	}
	r.Want = fmt.Sprintf("%.1f/s within %s", e.WantPerSecond, percent(t.RateTolerance))
	if !(e.WantPerSecond > 0) || math.IsInf(e.WantPerSecond, 0) || e.WindowNanoseconds <= 0 || e.Completed < 0 {
		return r.cannotTell(fmt.Sprintf("the evidence is incomplete: wanted %v/s, %d completed in %d ns", e.WantPerSecond, e.Completed, e.WindowNanoseconds),
			"report the generator's schedule and its answers")
	}
	rate := float64(e.Completed) / (float64(e.WindowNanoseconds) / 1e9)
	got := fmt.Sprintf("%.1f/s (%+.2f%%)", rate, 100*(rate/e.WantPerSecond-1))
	if math.Abs(rate/e.WantPerSecond-1) <= t.RateTolerance+1e-12 { // 3030 of 3000 is 1%, whatever binary fractions say
		return r.pass(got)
	}
	switch {
	case rate > e.WantPerSecond:
		return r.fail(got, "more answers than the schedule asked for", "check that only one generator drives this arm")
	case e.Overflow > 0:
		return r.fail(got, fmt.Sprintf("the generator could not send %d arrivals in time%s", e.Overflow, generatorBusy(e.GeneratorBusy)),
			"ask for a lower rate, or give the generator more CPUs, workers or connections")
	case e.Sent > e.Completed:
		return r.fail(got, fmt.Sprintf("%d of %d requests that were sent had no good answer", e.Sent-e.Completed, e.Sent),
			"look at the gates failures and origin")
	default:
		return r.fail(got, "the generator or what is behind it did not keep up"+generatorBusy(e.GeneratorBusy),
			"ask for a lower rate, or give the generator and the origin more CPUs")
	}
}

func generatorBusy(share float64) string {
	if share <= 0 {
		return ""
	}
	return fmt.Sprintf(" (its CPUs were %s busy)", percent(share))
}

// OverflowEvidence is the generator's account of arrivals that it could not
// send when they were due.
type OverflowEvidence struct {
	Arm       string
	Scheduled int64  // arrivals in the window; 0 is unknown
	Overflow  int64  // of those, not sent
	Reason    string // optional: the generator's own words, such as "all 32 connections had a request in flight"
}

// Overflow passes when every arrival was sent.
func Overflow(t Thresholds, e OverflowEvidence) Result {
	r, decided := t.begin(NameOverflow, e.Arm)
	if decided {
		return r
	}
	r.Want = "0 arrivals not sent"
	if e.Scheduled <= 0 || e.Overflow < 0 {
		return r.cannotTell(fmt.Sprintf("the generator reported %d scheduled and %d overflown arrivals", e.Scheduled, e.Overflow), "report the generator's schedule")
	}
	got := fmt.Sprintf("%d of %d", e.Overflow, e.Scheduled)
	if e.Overflow == 0 {
		return r.pass(got)
	}
	cause := e.Reason
	if cause == "" {
		cause = "the generator had no free connection or no time when they were due"
	}
	return r.fail(got, cause, "lower the rate, add connections or generator CPUs; if the answers became slow, look at the gates origin and headroom")
}

// FailuresEvidence is the generator's account of requests that went wrong.
type FailuresEvidence struct {
	Arm               string
	Sent              int64            // 0 is unknown
	Completed         int64            // good answers
	Failed            int64            // wrong status, wrong length, time-out, broken connection
	InFlightAtEnd     int64            // without an answer when the drain was over
	ClosedConnections int64            // closed by the other side in the window
	Kinds             map[string]int64 // optional: failures by kind, to name the cause
}

// Failures passes when every request that was sent had a good answer and no
// connection was closed.
func Failures(t Thresholds, e FailuresEvidence) Result {
	r, decided := t.begin(NameFailures, e.Arm)
	if decided {
		return r
	}
	r.Want = "0 failed, 0 in flight at the end, 0 connections closed"
	if e.Sent <= 0 || e.Completed < 0 || e.Failed < 0 || e.InFlightAtEnd < 0 || e.ClosedConnections < 0 {
		return r.cannotTell(fmt.Sprintf("the generator's account is not complete: %+v", e), "report the generator's counts")
	}
	if e.Sent != e.Completed+e.Failed+e.InFlightAtEnd {
		return r.cannotTell(fmt.Sprintf("the generator's account does not add up: %d sent, %d completed + %d failed + %d in flight",
			e.Sent, e.Completed, e.Failed, e.InFlightAtEnd), "the generator is at fault; its counts cannot be used")
	}
	got := fmt.Sprintf("%d failed, %d in flight at the end, %d connections closed", e.Failed, e.InFlightAtEnd, e.ClosedConnections)
	if e.Failed == 0 && e.InFlightAtEnd == 0 && e.ClosedConnections == 0 {
		return r.pass(got)
	}
	cause := "the proxy or the origin did not answer as expected"
	if len(e.Kinds) > 0 {
		var kinds []string
		for _, k := range sortedKeys(e.Kinds) {
			kinds = append(kinds, fmt.Sprintf("%s: %d", k, e.Kinds[k]))
		}
		cause = strings.Join(kinds, ", ")
	}
	return r.fail(got, cause, "send one request by hand; look at the logs of the proxy and the origin and at the gate origin")
}

// ServedEvidence sets the generator's count against the proxy's own.
type ServedEvidence struct {
	Arm       string
	Completed int64  // by the generator
	Served    *int64 // by the proxy, over exactly the same requests; nil is unknown
	Stat      string // where Served comes from, such as "http.ingress.downstream_rq_completed"
	// Problems are other counters of the proxy that moved and must not have, or
	// did not and must have: errors, retries, the proof of the arm's setting.
	// Each is a sentence with the counter's name. None is a statement too.
	Problems []string
}

// Served passes when the proxy served exactly the requests that the generator
// completed.
func Served(t Thresholds, e ServedEvidence) Result {
	r, decided := t.begin(NameServed, e.Arm)
	if decided {
		return r
	}
	r.Want = fmt.Sprintf("%d served, as the generator completed", e.Completed)
	if e.Served == nil {
		return r.cannotTell(fmt.Sprintf("the proxy has no count of its requests (%s is absent)", or(e.Stat, "the stat")),
			"use a proxy that counts its requests, or switch the gate off with a reason")
	}
	if e.Completed <= 0 {
		return r.cannotTell(fmt.Sprintf("the generator completed %d requests", e.Completed), "look at the gates rate and failures")
	}
	got := fmt.Sprintf("%d served", *e.Served)
	if *e.Served == e.Completed && len(e.Problems) > 0 {
		return r.fail(got, "the proxy's own counters disagree: "+clipList(e.Problems, 3), "look at the proxy's log and at the gates failures and origin")
	}
	if *e.Served == e.Completed {
		return r.pass(got)
	}
	cause := fmt.Sprintf("%d requests reached the proxy that the generator did not complete: another client, retries, or answers that were lost", *e.Served-e.Completed)
	if *e.Served < e.Completed {
		cause = fmt.Sprintf("%d answers did not come from this proxy: another process listens on its port, or the count %s misses some", e.Completed-*e.Served, e.Stat)
	}
	return r.fail(got, cause, "check who listens on the port and that nobody else sends requests")
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func percent(share float64) string {
	p := 100 * share
	switch {
	case math.Abs(p) >= 10:
		return fmt.Sprintf("%.1f%%", p)
	default:
		return fmt.Sprintf("%.2g%%", p)
	}
}
