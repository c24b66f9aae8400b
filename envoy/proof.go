package envoy

import (
	"fmt"
	"strings"
)

// What a counter's growth over a window must be.
const (
	IsRequests = "requests" // as large as the number of requests served in the window
	IsPositive = "positive" // more than 0
	IsZero     = "zero"     // 0
)

// Expect is one counter that shows a setting at work.
type Expect struct {
	// Stat is a whole name, such as "filesystem.write_buffered". A * in it
	// stands for any text: the growth of all counters that fit is added up, and
	// one must.
	Stat string `json:"stat"`
	// Is is IsRequests, IsPositive or IsZero.
	Is string `json:"is"`
}

// ProofError lists what did not hold.
type ProofError struct{ Failed []string }

func (e *ProofError) Error() string {
	return "the setting is not proved to be at work: " + strings.Join(e.Failed, "; ")
}

// CheckProof holds the proof of a change against what the counters of one
// process did while it served the given number of requests, all of which must
// be done and answered. A counter that is not there is a failure, never zero.
// The error is a *ProofError.
func CheckProof(proof []Expect, d StatsDelta, requests int64) error {
	var failed []string
	for _, e := range proof {
		got, ok := e.growth(d)
		var want bool
		switch e.Is {
		case IsRequests:
			want = got == requests
		case IsPositive:
			want = got > 0
		case IsZero:
			want = got == 0
		default:
			failed = append(failed, fmt.Sprintf("%s: %q is no expectation: use requests, positive or zero", e.Stat, e.Is))
			continue
		}
		switch {
		case !ok:
			failed = append(failed, fmt.Sprintf("%s is absent from the statistics, want %s", e.Stat, e.wanted(requests)))
		case !want:
			failed = append(failed, fmt.Sprintf("%s grew by %d, want %s", e.Stat, got, e.wanted(requests)))
		}
	}
	if len(failed) > 0 {
		return &ProofError{Failed: failed}
	}
	return nil
}

// CheckProofAbsent holds the same proof against an arm without the change,
// such as the baseline: what is to grow there must not grow here. Being
// absent counts as not growing. The error is a *ProofError.
func CheckProofAbsent(proof []Expect, d StatsDelta) error {
	var failed []string
	for _, e := range proof {
		if got, ok := e.growth(d); ok && got != 0 && e.Is != IsZero {
			failed = append(failed, fmt.Sprintf("%s grew by %d in an arm without the setting, want 0", e.Stat, got))
		}
	}
	if len(failed) > 0 {
		return &ProofError{Failed: failed}
	}
	return nil
}

// growth adds up the counters that the name fits; false if there is none.
func (e Expect) growth(d StatsDelta) (sum int64, ok bool) {
	pieces := strings.Split(e.Stat, "*")
	if len(pieces) == 1 {
		return d.Counter(e.Stat)
	}
	for name, n := range d.Counters {
		if fits(name, pieces) {
			sum, ok = sum+n, true
		}
	}
	return sum, ok
}

// fits reports whether name is the pieces with some text between each two.
func fits(name string, pieces []string) bool {
	rest, ok := strings.CutPrefix(name, pieces[0])
	if !ok {
		return false
	}
	last := len(pieces) - 1
	for _, piece := range pieces[1:last] {
		if rest == "" {
			return false
		}
		i := strings.Index(rest[1:], piece)
		if i < 0 {
			return false
		}
		rest = rest[1+i+len(piece):]
	}
	return len(rest) > len(pieces[last]) && strings.HasSuffix(rest, pieces[last])
}

func (e Expect) wanted(requests int64) string {
	if e.Is == IsRequests {
		return fmt.Sprintf("%d, the requests served", requests)
	}
	return e.Is
}
