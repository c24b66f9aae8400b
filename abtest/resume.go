package abtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/tareperf/tare/gate"
)

// resumeGap is how old the last line of an unfinished record may be: a machine
// that did other things for longer is another sitting.
const resumeGap = 10 * time.Minute

// ResumeError is an unfinished record that cannot be continued.
type ResumeError struct {
	Path    string
	Changed []string
}

func (e *ResumeError) Error() string {
	return fmt.Sprintf("record %s cannot be resumed: %s; run a new session (Resume: abtest.ResumeNever)", e.Path, strings.Join(e.Changed, "; "))
}

// openRecord continues the newest unfinished record, or begins a new one.
func (s *session) openRecord() error {
	earlier, unreadable := recordsOf(s.e.RecordDir, s.e.Name)
	s.header.Attempt, s.header.Unreadable = 1, len(unreadable)
	for _, r := range earlier {
		if r.Session.Question == s.header.Question {
			s.header.Attempt++
		}
	}
	var refused *ResumeError
	if s.e.Resume != ResumeNever {
		for i := len(earlier) - 1; i >= 0; i-- {
			if earlier[i].End != nil {
				continue
			}
			changed := s.changedSince(earlier[i])
			if len(changed) == 0 {
				return s.resume(earlier[i])
			}
			if refused == nil {
				refused = &ResumeError{Path: earlier[i].Path, Changed: changed}
			}
		}
	}
	if s.e.Resume == ResumeMust {
		if refused == nil {
			refused = &ResumeError{Path: s.e.RecordDir, Changed: []string{"no unfinished record of " + s.e.Name}}
		}
		return refused
	}
	now := time.Now()
	s.header.ID = fmt.Sprintf("%s-%d-%d", s.header.BootID, os.Getpid(), now.UnixNano())
	var err error
	if s.record, err = newRecordFile(s.e.RecordDir, s.e.Name, now); err != nil {
		return err
	}
	if err := s.record.append(Line{Kind: "session", Session: &s.header}); err != nil {
		return err
	}
	s.logf("record %s", s.record.path)
	if refused != nil && time.Since(earlier[len(earlier)-1].Last) < resumeGap {
		return s.note("a new session: %v", refused)
	}
	return nil
}

// changedSince says what forbids to continue r, one reason an item.
func (s *session) changedSince(r Record) []string {
	var changed []string
	differ := func(what string, then, now any) {
		if then != now {
			changed = append(changed, fmt.Sprintf("%s was %v and is %v", what, then, now))
		}
	}
	if r.Session.Fingerprint != s.header.Fingerprint {
		changed = append(changed, "the experiment changed: "+changedFields(r.Session.Experiment, s.header.Experiment))
	}
	differ("boot", r.Session.BootID, s.header.BootID)
	if r.Session.Code != s.header.Code {
		changed = append(changed, "this program or an arm's binary changed")
	}
	differ("CPU plan", fmt.Sprint(r.Session.CPUs), fmt.Sprint(s.header.CPUs))
	differ("placement", r.Session.Placement, s.header.Placement)
	then, _ := json.Marshal(r.Session.Host)
	now, _ := json.Marshal(s.header.Host)
	if string(then) != string(now) {
		changed = append(changed, "host conditions changed: "+changedFields(then, now))
	}
	if gap := time.Since(r.Last); gap > resumeGap {
		changed = append(changed, fmt.Sprintf("its last line is %v old, more than %v", gap.Round(time.Second), resumeGap))
	}
	return changed
}

// changedFields names the top-level fields in which two experiments differ.
func changedFields(then, now json.RawMessage) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(then, &a) != nil || json.Unmarshal(now, &b) != nil {
		return "it cannot be compared"
	}
	var names []string
	for k := range b {
		if string(a[k]) != string(b[k]) {
			names = append(names, fmt.Sprintf("%s was %.60s and is %.60s", k, a[k], b[k]))
		}
	}
	if names == nil {
		return "its defaults or its code"
	}
	return strings.Join(names, ", ")
}

// resume continues r with its plan, seed and rate.
func (s *session) resume(r Record) error {
	var err error
	if s.record, err = openRecordFile(r); err != nil {
		return err
	}
	s.resumed, s.plan = r, r.Session.Plan
	s.header = r.Session
	for _, b := range r.Blocks {
		s.blocks = max(s.blocks, b.Index)
	}
	for _, round := range r.Rounds {
		for _, run := range round.Runs {
			for _, sample := range run.Samples {
				for i, a := range s.arms {
					if a.Name == sample.Arm {
						s.starts[i] = max(s.starts[i], sample.Start)
					}
				}
			}
		}
	}
	text := fmt.Sprintf("resumed %s: %d of %d rounds are kept", r.Path, len(r.Kept()), s.plan.Rounds)
	s.logf("%s", text)
	return s.record.append(Line{Kind: "note", Note: &Note{Text: text, Resumed: true}})
}

// fingerprints of an experiment with its defaults filled in. whole is of all but
// the seed and where records go; two sessions with the same can be one. question
// is of what is asked, without how much effort is made for the answer or by
// which gates it is held: trying again with more rounds or looser gates is
// another attempt at the same question.
func fingerprints(e Experiment) (whole, question string, text json.RawMessage, err error) {
	text, err = json.Marshal(e)
	if err != nil {
		return "", "", nil, fmt.Errorf("experiment %s: %w", e.Name, err)
	}
	e.Seed, e.RecordDir, e.Resume, e.Wait = 0, "", "", false
	if whole, err = hashJSON(e); err != nil {
		return "", "", nil, err
	}
	e.Rounds, e.Blocks, e.Window, e.Warmup, e.Redo, e.Equivalence = 0, 0, 0, 0, 0, 0
	e.Gates = gate.Thresholds{}
	question, err = hashJSON(e)
	return whole, question, text, err
}

func hashJSON(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// fileSHA256 hashes a file's content.
func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
