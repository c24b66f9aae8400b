package main

import (
	"fmt"
	"math"
	"strings"
)

// promise says what theory promises of a line.
type promise int

const (
	none    promise = iota // shown, not promised
	exact                  // within a point of nominal
	atLeast                // a coverage or power not below nominal by more than a point
	atMost                 // an error rate not above nominal by more than a point
)

// line is one measured frequency.
type line struct {
	what, noise string
	n, k        int
	nominal     float64 // in percent
	promise     promise
	isError     bool // an error rate: above nominal is the unsafe side
	hits, reps  int
	failed      int     // repetitions without a result; they count as misses of a coverage
	width       float64 // sum of half-widths
}

// table keeps lines in the order of their first use.
type table struct {
	title string
	lines []*line
	index map[string]*line
}

func (t *table) at(what, noise string, n, k int, nominal float64, p promise, isError bool) *line {
	key := fmt.Sprint(what, "|", noise, "|", n, "|", k)
	if l := t.index[key]; l != nil {
		return l
	}
	if t.index == nil {
		t.index = map[string]*line{}
	}
	l := &line{what: what, noise: noise, n: n, k: k, nominal: nominal, promise: p, isError: isError}
	t.index[key] = l
	t.lines = append(t.lines, l)
	return l
}

// cover counts one interval against the truth.
func (l *line) cover(low, high, truth float64, err error) {
	l.reps++
	if err != nil {
		l.failed++
		return
	}
	l.width += (high - low) / 2
	if low <= truth && truth <= high {
		l.hits++
	}
}

func (l *line) count(hit bool) {
	l.reps++
	if hit {
		l.hits++
	}
}

func (l *line) percent() float64 { return 100 * float64(l.hits) / float64(l.reps) }

// nullSE is the Monte Carlo standard error in percent that a line has whose truth
// is its nominal value: what it is held against must not depend on what came out.
func (l *line) nullSE() float64 {
	return math.Sqrt(l.nominal * (100 - l.nominal) / float64(l.reps))
}

// se is the Monte Carlo standard error in percent, not below one hit's worth.
func (l *line) se() float64 {
	p := (float64(l.hits) + 1) / (float64(l.reps) + 2)
	return 100 * math.Sqrt(p*(1-p)/float64(l.reps))
}

// mark compares with nominal ± (1 point + z standard errors under the nominal value).
func (l *line) mark(z float64) string {
	slack := 1 + z*l.nullSE()
	unsafe := l.nominal - l.percent()
	if l.isError {
		unsafe = -unsafe
	}
	switch {
	case unsafe > slack:
		return "OFF"
	case unsafe < -slack:
		return "careful"
	}
	return "ok"
}

// broken counts promised lines that are off by more than a point and z standard errors.
func (t *table) broken(z float64) (n int) {
	for _, l := range t.lines {
		m := l.mark(z)
		if l.promise != none && (m == "OFF" || l.promise == exact && m != "ok") {
			n++
		}
	}
	return n
}

func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", t.title)
	fmt.Fprintln(&b, "| what | noise | n | k | nominal | found | ± MC | half-width | mark |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|---|---|---|")
	for _, l := range t.lines {
		k, w := "", ""
		if l.k > 0 {
			k = fmt.Sprint(l.k)
		}
		if l.width > 0 {
			w = fmt.Sprintf("%.3g", l.width/float64(max(1, l.reps-l.failed)))
		}
		mark := l.mark(markErrors)
		if l.promise != none {
			mark += " *"
		}
		if l.failed > 0 {
			mark += fmt.Sprintf(" (%d without a result)", l.failed)
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %.4g | %.2f | %.2f | %s | %s |\n", l.what, l.noise, l.n, k, l.nominal, l.percent(), l.se(), w, mark)
	}
	return b.String()
}
