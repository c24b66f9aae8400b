package envoy

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// LogProblem is a line of Envoy's log that says that an arm is not what it
// seems.
type LogProblem struct {
	Kind string // what it is a sign of
	Line string
}

func (p LogProblem) String() string { return p.Kind + ": " + p.Line }

// logSigns are pieces of log lines. The statistics that should count these
// (runtime.deprecated_feature_use, server.envoy_bug_failures) stay at 0.
var logSigns = []struct{ text, kind string }{
	{"using deprecated", "deprecated field"},
	{"deprecated field", "deprecated field"},
	{"removed guard", "removed runtime guard"},
	{"envoy bug failure", "Envoy bug"},
	{"work-in-progress", "work in progress"},
}

var logHead = regexp.MustCompile(`^(\[[^\]]*\])+ `)

// LogProblems reads the process's log for lines about deprecated fields,
// runtime guards that this release has not, features that are not finished,
// and bugs; each once. Nil: none so far.
func (p *Process) LogProblems() ([]LogProblem, error) {
	text, err := os.ReadFile(p.LogPath())
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", p.name, err)
	}
	return scanLog(string(text)), nil
}

func scanLog(text string) []LogProblem {
	var found []LogProblem
	seen := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		lower := strings.ToLower(line)
		for _, s := range logSigns {
			if strings.Contains(lower, s.text) {
				line = clip(strings.TrimSpace(line), 500)
				// "[time][thread][level][component] ": the same line of every
				// worker is one problem.
				if message := logHead.ReplaceAllString(line, ""); !seen[message] {
					seen[message] = true
					found = append(found, LogProblem{Kind: s.kind, Line: line})
				}
				break
			}
		}
	}
	return found
}

// lastLog gives the last lines of the log for an error.
func (p *Process) lastLog() string {
	text, err := os.ReadFile(p.LogPath())
	if err != nil {
		return err.Error()
	}
	return lastLines(strings.ToValidUTF8(string(text), "?"), 6)
}
