package gate

import (
	"fmt"
	"strings"
)

// Status is the answer of a gate.
type Status string

// The four answers.
const (
	StatusPass       Status = "pass"
	StatusFail       Status = "fail"
	StatusCannotTell Status = "cannot tell" // the evidence is missing or too coarse; counts as failed
	StatusOff        Status = "off"         // switched off with a reason, which is in Cause
)

// Names of the gates, as they appear in results and as keys of
// [Thresholds.Off].
const (
	NameRate          = "rate"
	NameOverflow      = "overflow"
	NameHeadroom      = "headroom"
	NameBaselineBusy  = "baseline busy"
	NameArmBusy       = "arm busy"
	NameLiveBusy      = "live busy"
	NameForeignBefore = "foreign work before"
	NameForeignDuring = "foreign work during"
	NameLeftovers     = "leftovers"
	NameSpread        = "spread"
	NameWholeWindow   = "whole window"
	NameIdleStates    = "idle states"
	NamePinning       = "pinning"
	NameIdentity      = "identity"
	NameServed        = "served"
	NameFailures      = "failures"
	NameOrigin        = "origin"
)

// Names lists every gate of this package.
func Names() []string {
	return []string{
		NameRate, NameOverflow, NameHeadroom, NameBaselineBusy, NameArmBusy, NameLiveBusy,
		NameForeignBefore, NameForeignDuring, NameLeftovers, NameSpread, NameWholeWindow,
		NameIdleStates, NamePinning, NameIdentity, NameServed, NameFailures, NameOrigin,
	}
}

// Result is the answer of one gate for one arm (or for the rig as a whole,
// with Arm empty).
type Result struct {
	Gate   string `json:"gate"`
	Arm    string `json:"arm,omitempty"`
	Status Status `json:"status"`
	Got    string `json:"got,omitempty"`
	Want   string `json:"want,omitempty"`
	Cause  string `json:"cause,omitempty"` // what most likely did it, by name; the reason when off
	Fix    string `json:"fix,omitempty"`   // what the user can do
}

// String is one line for a log.
func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "gate %s", r.Gate)
	if r.Arm != "" {
		fmt.Fprintf(&b, " (arm %s)", r.Arm)
	}
	fmt.Fprintf(&b, ": %s", r.Status)
	for _, part := range []struct{ lead, text string }{
		{": got ", r.Got}, {", want ", r.Want}, {": ", r.Cause}, {"; ", r.Fix},
	} {
		if part.text != "" {
			b.WriteString(part.lead + part.text)
		}
	}
	return b.String()
}

// Results are the answers of all gates of one run or round.
type Results []Result

// OK reports whether every gate passed or was switched off. It fails closed:
// cannot tell is not OK, and neither is an empty list.
func (rs Results) OK() bool { return len(rs) > 0 && len(rs.Failed()) == 0 }

// Failed lists the results that are not OK, in their order.
func (rs Results) Failed() Results {
	var failed Results
	for _, r := range rs {
		if r.Status != StatusPass && r.Status != StatusOff {
			failed = append(failed, r)
		}
	}
	return failed
}

// Off lists the gates that were switched off, with their reason in Cause.
func (rs Results) Off() Results {
	var off Results
	for _, r := range rs {
		if r.Status == StatusOff {
			off = append(off, r)
		}
	}
	return off
}

func (r Result) pass(got string) Result {
	r.Status, r.Got = StatusPass, got
	return r
}

func (r Result) fail(got, cause, fix string) Result {
	r.Status, r.Got, r.Cause, r.Fix = StatusFail, got, cause, fix
	return r
}

func (r Result) cannotTell(cause, fix string) Result {
	r.Status, r.Cause, r.Fix = StatusCannotTell, cause, fix
	return r
}
