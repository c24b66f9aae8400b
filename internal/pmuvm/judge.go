package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tareperf/tare/internal/pmuvm/job"
)

// listSuffix marks the job that lists the tests of the job without it.
const listSuffix = ":list"

// transcript is what the console said of each job.
type transcript struct {
	jobs     map[string]*outcome
	done     bool     // the machine came to its end
	troubles []string // lines that say that the kernel or the machine failed
}

type outcome struct {
	begun, ok bool
	end       string
	// Names of tests, top level only; listed is what -test.list printed.
	listed, passed, failed, skipped []string
}

// parse reads a console. Lines that it does not know are what tests and the
// kernel say.
func parse(text string) transcript {
	t := transcript{jobs: map[string]*outcome{}}
	var now string
	at := func(name string) *outcome {
		if t.jobs[name] == nil {
			t.jobs[name] = &outcome{}
		}
		return t.jobs[name]
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		for _, bad := range []string{"Kernel panic", "Internal error: ", "Oops", "BUG: ", "Unable to handle kernel"} {
			if strings.Contains(line, bad) {
				t.troubles = append(t.troubles, line)
				break
			}
		}
		if said, ok := strings.CutPrefix(line, job.Mark+" "); ok {
			verb, rest, _ := strings.Cut(said, " ")
			name, rest, _ := strings.Cut(rest, " ")
			switch {
			case said == job.Done:
				t.done = true
			case verb == job.Begin:
				at(name).begun, now = true, name
			case verb == job.End:
				at(name).ok, at(name).end, now = strings.HasSuffix(rest, ": "+job.OK), rest, ""
			default:
				t.troubles = append(t.troubles, line)
			}
			continue
		}
		if now == "" {
			continue
		}
		o := at(now)
		add := func(list *[]string, prefix string) {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				if name, _, _ := strings.Cut(rest, " "); name != "" {
					*list = append(*list, name)
				}
			}
		}
		add(&o.passed, "--- PASS: ")
		add(&o.failed, "--- FAIL: ")
		add(&o.skipped, "--- SKIP: ")
		if list, ok := strings.CutSuffix(now, listSuffix); ok && strings.HasPrefix(line, "Test") {
			at(list).listed = append(at(list).listed, line)
		}
	}
	return t
}

// verdict is nil if the machine came to its end, every job did what it
// should, and every listed test passed.
func (t transcript) verdict(jobs []job.Job) error {
	errs := []error{t.machine()}
	for _, j := range jobs {
		o := t.jobs[j.Name]
		switch {
		case o == nil || !o.begun:
			errs = append(errs, fmt.Errorf("job %s never began", j.Name))
			continue
		case !o.ok:
			errs = append(errs, fmt.Errorf("job %s: %s", j.Name, orNever(o.end)))
		}
		if strings.HasSuffix(j.Name, listSuffix) {
			continue
		}
		if len(o.listed) == 0 {
			errs = append(errs, fmt.Errorf("job %s has no tests", j.Name))
		}
		for _, name := range o.listed {
			if !slices.Contains(o.passed, name) {
				errs = append(errs, fmt.Errorf("%s did not pass", name))
			}
		}
	}
	return errors.Join(errs...)
}

func (t transcript) machine() error {
	var errs []error
	if !t.done {
		errs = append(errs, errors.New("the machine did not come to its end"))
	}
	for _, line := range t.troubles {
		errs = append(errs, errors.New("the machine said: "+line))
	}
	return errors.Join(errs...)
}

func orNever(s string) string {
	if s == "" {
		return "never ended"
	}
	return s
}
