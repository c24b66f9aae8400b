package main

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mathext"
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
	index map[cell]*line
}

// cell is what tells one line of a table from another.
type cell struct {
	what, noise string
	n, k        int
}

func (t *table) at(what, noise string, n, k int, nominal float64, p promise, isError bool) *line {
	key := cell{what, noise, n, k}
	if l := t.index[key]; l != nil {
		return l
	}
	if t.index == nil {
		t.index = map[cell]*line{}
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

// mark compares with nominal ± (1 point + z standard errors under the nominal value):
// off by more than a point, and more than the Monte Carlo error explains.
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

// wrong says whether a promise is broken by that mark.
func (l *line) wrong(mark string) bool {
	return l.promise != none && (mark == "OFF" || l.promise == exact && mark != "ok")
}

// broken counts promised lines that are off by more than a point and z standard errors.
func (t *table) broken(z float64) (n int) {
	for _, l := range t.lines {
		if l.wrong(l.mark(z)) {
			n++
		}
	}
	return n
}

// improbable gives the promised lines that a truth within a point of the nominal
// value would give with a probability below p, by the exact binomial tail.
func (t *table) improbable(p float64) (off []string) {
	for _, l := range t.lines {
		if l.promise == none {
			continue
		}
		// Beyond the nominal value on either side, as if the truth were a point off.
		many := atLeastHits(l.hits, l.reps, math.Min(1, (l.nominal+1)/100)) < p
		few := atMostHits(l.hits, l.reps, math.Max(0, (l.nominal-1)/100)) < p
		unsafe, careful := few, many
		if l.isError {
			unsafe, careful = many, few
		}
		if unsafe || l.promise == exact && careful {
			off = append(off, fmt.Sprintf("%s, %s, n=%d k=%d: %d of %d hits, nominal %.4g%%", l.what, l.noise, l.n, l.k, l.hits, l.reps, l.nominal))
		}
	}
	return off
}

// atMostHits is P(X ≤ k) of a binomial count, atLeastHits P(X ≥ k).
func atMostHits(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n || p == 0:
		return 1
	case p == 1:
		return 0
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}

func atLeastHits(k, n int, p float64) float64 { return atMostHits(n-k, n, 1-p) }

func (l *line) String() string {
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
		mark += fmt.Sprintf(" (%d of %d without a result)", l.failed, l.reps)
	}
	return fmt.Sprintf("| %s | %s | %d | %s | %.4g | %.2f | %.2f | %s | %s |", cellText(l.what), l.noise, l.n, k, l.nominal, l.percent(), l.se(), w, mark)
}

// cellText keeps a name in its own column.
func cellText(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

func (t *table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", t.title)
	fmt.Fprintln(&b, "| what | noise | n | k | nominal | found | ± MC | half-width | mark |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|---|---|---|")
	for _, l := range t.lines {
		fmt.Fprintln(&b, l)
	}
	return b.String()
}

// shortfalls lists what does not reach its nominal value, one line for each
// interval or test and noise, over all n and k.
func shortfalls(tables []*table) string {
	var b strings.Builder
	fmt.Fprintln(&b, "## Where the nominal value is not reached")
	fmt.Fprintln(&b, "\nEvery line marked OFF above, gathered over n and k. A rate shown for comparison (a method this package does not use, or use without what it asks for) is here too. A search for dependence that finds the dependence of AR(1) rounds is right, and here as well.")
	fmt.Fprintln(&b, "\n| what | noise | nominal | worst found | at n, k | lines off |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|")
	for _, t := range tables {
		type group struct {
			worst    *line
			off, all int
		}
		groups := map[[2]string]*group{}
		var order [][2]string
		for _, l := range t.lines {
			key := [2]string{l.what, l.noise}
			g := groups[key]
			if g == nil {
				g = &group{}
				groups[key] = g
				order = append(order, key)
			}
			g.all++
			if l.mark(markErrors) != "OFF" {
				continue
			}
			g.off++
			if g.worst == nil || math.Abs(l.percent()-l.nominal) > math.Abs(g.worst.percent()-g.worst.nominal) {
				g.worst = l
			}
		}
		for _, key := range order {
			if g := groups[key]; g.worst != nil {
				fmt.Fprintf(&b, "| %s | %s | %.4g | %.2f | %d, %d | %d of %d |\n", cellText(key[0]), key[1], g.worst.nominal, g.worst.percent(), g.worst.n, g.worst.k, g.off, g.all)
			}
		}
	}
	return b.String()
}
