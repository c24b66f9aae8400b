package doctor

import (
	"fmt"
	"io"
	"strings"
)

// Weight is what a fact does to a measurement.
type Weight string

// The weights, lightest first.
const (
	Fine   Weight = "fine"
	Note   Weight = "note"
	Weaker Weight = "weaker"
	Stop   Weight = "stop"
)

// Fact is one thing that was found out about the machine.
type Fact struct {
	ID      string `json:"id"`
	Value   string `json:"value"`
	Weight  Weight `json:"weight"`
	Meaning string `json:"meaning"` // for a measurement here
	Fix     string `json:"fix"`     // empty where there is nothing to do
}

// Verdict is what the machine can do.
type Verdict string

// The verdicts, and the exit status of each.
const (
	CanMeasure Verdict = "can measure"                      // 0
	WeakerOnly Verdict = "can measure CPU time, not cycles" // 1
	CannotHere Verdict = "cannot measure"                   // 2
)

// Report is what the doctor says.
type Report struct {
	Verdict Verdict `json:"verdict"`
	Exit    int     `json:"exit"`
	Facts   []Fact  `json:"facts"`
}

// Fact returns the fact of that name.
func (r Report) Fact(id string) (Fact, bool) {
	for _, f := range r.Facts {
		if f.ID == id {
			return f, true
		}
	}
	return Fact{}, false
}

func (r *Report) conclude() {
	r.Verdict, r.Exit = CanMeasure, 0
	for _, f := range r.Facts {
		switch {
		case f.Weight == Stop:
			r.Verdict, r.Exit = CannotHere, 2
		case f.Weight == Weaker && r.Exit < 1:
			r.Verdict, r.Exit = WeakerOnly, 1
		}
	}
}

var marks = map[Weight]string{Fine: "ok", Note: "note", Weaker: "WEAKER", Stop: "STOP"}

// WriteText writes the report for people: the facts that weigh something first
// in their own order, then those that are fine.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "This machine %s.\n\n", r.Verdict)
	width := 0
	for _, f := range r.Facts {
		width = max(width, len(f.ID))
	}
	for _, fine := range []bool{false, true} {
		for _, f := range r.Facts {
			if (f.Weight == Fine) != fine {
				continue
			}
			fmt.Fprintf(&b, "%-6s  %-*s  %s\n", marks[f.Weight], width, f.ID, f.Value)
			if f.Weight == Fine {
				continue
			}
			indent := strings.Repeat(" ", 6+2+width+2)
			for _, line := range fold(f.Meaning, 96-len(indent)) {
				fmt.Fprintf(&b, "%s%s\n", indent, line)
			}
			if f.Fix != "" {
				for i, line := range fold(f.Fix, 96-len(indent)-5) {
					lead := "     "
					if i == 0 {
						lead = "fix: "
					}
					fmt.Fprintf(&b, "%s%s%s\n", indent, lead, line)
				}
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fold breaks a text into lines of at most so many characters, between words.
func fold(s string, most int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+1+len(word) > most {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
