package nginx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Stats are counters since nginx's start, of one moment, without the questions of
// the Status that read them.
type Stats struct {
	// Accepts and Handled are connections accepted and not turned away for want of
	// a slot; they are equal as long as Options.Connections is enough.
	Accepts uint64 `json:"accepts"`
	Handled uint64 `json:"handled"`
	// Requests are requests begun: nginx counts one when its first bytes come, not
	// when it is answered. With no request under way they are those answered.
	Requests uint64 `json:"requests"`
	// Active are open connections; Reading, Writing and Waiting what they are at.
	Active  uint64 `json:"active"`
	Reading uint64 `json:"reading"`
	Writing uint64 `json:"writing"`
	Waiting uint64 `json:"waiting"`
	// Uncertain are questions that failed, of which nginx may have counted none or
	// all. Counters may be too high by it.
	Uncertain uint64 `json:"uncertain"`
}

// Closed is how many connections have ended, by whomever.
func (s Stats) Closed() uint64 { return s.Handled - s.Active }

// UncertainError says that between two readings a question failed, so that the
// difference may be wrong by Questions.
type UncertainError struct{ Questions uint64 }

func (e *UncertainError) Error() string {
	return fmt.Sprintf("nginx: %d questions for its status failed between two readings, so the counts of the window are not exact; measure the window again", e.Questions)
}

// Delta is what happened between two readings.
type Delta struct {
	Accepts  uint64 `json:"accepts"`
	Handled  uint64 `json:"handled"`
	Requests uint64 `json:"requests"`
	// Closed are the connections that ended, by whomever.
	Closed uint64 `json:"closed"`
}

// Since is the difference to an earlier reading of the same nginx. It refuses
// counters that went back (another nginx) and a question that failed in between.
func (s Stats) Since(earlier Stats) (Delta, error) {
	if s.Uncertain != earlier.Uncertain {
		return Delta{}, &UncertainError{Questions: s.Uncertain - earlier.Uncertain}
	}
	for _, c := range []struct {
		name     string
		was, now uint64
	}{
		{"accepts", earlier.Accepts, s.Accepts}, {"handled", earlier.Handled, s.Handled},
		{"requests", earlier.Requests, s.Requests}, {"closed", earlier.Closed(), s.Closed()},
	} {
		if c.now < c.was {
			return Delta{}, fmt.Errorf("nginx: %s went back from %d to %d: it was started again in the window; measure the window again", c.name, c.was, c.now)
		}
	}
	return Delta{
		Accepts: s.Accepts - earlier.Accepts, Handled: s.Handled - earlier.Handled,
		Requests: s.Requests - earlier.Requests, Closed: s.Closed() - earlier.Closed(),
	}, nil
}

// Status reads the counters of one nginx. It must be the only one to ask, and
// exist from the start of that nginx: it knows by counting what its own questions
// added. The zero value with an Address is ready; it must not be copied.
type Status struct {
	// Address is Command.StatusAddress.
	Address string

	mu        sync.Mutex
	asked     uint64 // with an answer
	uncertain uint64
}

// maxStatus bounds an answer, in bytes; nginx's is about a hundred.
const maxStatus = 4 << 10

// Stats asks nginx, on a connection of its own.
func (s *Status) Stats(ctx context.Context) (Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := s.ask(ctx)
	if err != nil {
		if !errors.Is(err, syscall.ECONNREFUSED) { // refused is certain: nobody counted
			s.uncertain++
		}
		return Stats{}, fmt.Errorf("nginx: read the status at %s: %w", s.Address, err)
	}
	s.asked++
	got, err := parseStatus(raw)
	if err != nil {
		return Stats{}, fmt.Errorf("nginx: status at %s: %w", s.Address, err)
	}
	// The question that got this answer is in it, as a connection, as a request,
	// and as the one connection of ours that is active, and writing.
	for _, own := range []struct {
		name  string
		value *uint64
		by    uint64
	}{{"accepts", &got.Accepts, s.asked}, {"handled", &got.Handled, s.asked}, {"requests", &got.Requests, s.asked}, {"active", &got.Active, 1}, {"writing", &got.Writing, 1}} {
		if *own.value < own.by {
			return Stats{}, fmt.Errorf("nginx: %s is %d after %d questions: this is another nginx than was asked before", own.name, *own.value, own.by)
		}
		*own.value -= own.by
	}
	got.Uncertain = s.uncertain
	return got, nil
}

func (s *Status) ask(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+statusPath, nil)
	if err != nil {
		return nil, err
	}
	request.Close = true
	// A transport of its own: no proxy of the environment, no connection kept, so
	// no silent second try that would be counted twice.
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxStatus))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answered %s", response.Status)
	}
	return raw, nil
}

// parseStatus reads what stub_status writes:
//
//	Active connections: 2
//	server accepts handled requests
//	 3 3 7
//	Reading: 0 Writing: 1 Waiting: 1
func parseStatus(raw []byte) (Stats, error) {
	fail := func(what string) (Stats, error) {
		return Stats{}, fmt.Errorf("%s in %q", what, raw[:min(len(raw), 200)])
	}
	var s Stats
	lines := strings.Split(string(bytes.TrimRight(raw, " \n")), "\n")
	if len(lines) != 4 {
		return fail("not four lines")
	}
	if strings.TrimSpace(lines[1]) != "server accepts handled requests" {
		return fail("no line with the names")
	}
	read := func(line, form string, into ...*uint64) error {
		words, want := strings.Fields(line), strings.Fields(form)
		if len(words) != len(want) {
			return errors.New("wrong number of words")
		}
		for i, w := range want {
			if w != "N" {
				if words[i] != w {
					return fmt.Errorf("no %q", w)
				}
				continue
			}
			n, err := strconv.ParseUint(words[i], 10, 64)
			if err != nil {
				return err
			}
			*into[0], into = n, into[1:]
		}
		return nil
	}
	if err := read(lines[0], "Active connections: N", &s.Active); err != nil {
		return fail(err.Error())
	}
	if err := read(lines[2], "N N N", &s.Accepts, &s.Handled, &s.Requests); err != nil {
		return fail(err.Error())
	}
	if err := read(lines[3], "Reading: N Writing: N Waiting: N", &s.Reading, &s.Writing, &s.Waiting); err != nil {
		return fail(err.Error())
	}
	return s, nil
}
