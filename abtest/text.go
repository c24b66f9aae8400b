package abtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/stats"
)

// logRound prints the status line of a round.
func (s *session) logRound(r RoundRecord) {
	if s.e.Log == nil {
		return
	}
	head := fmt.Sprintf("round %2d/%d", r.Index+1, s.plan.Rounds)
	if r.Attempt > 1 {
		head += fmt.Sprintf(" try %d", r.Attempt)
	}
	var costs []string
	base := s.arms[0].Name
	for _, a := range s.arms {
		text := ""
		if ratio, ok := roundRatio(r, base, a.Name); ok && a.index > 0 {
			text = fmt.Sprintf("%s %+.1f%%", a.Name, 100*(ratio-1))
		} else if c, ok := armCost(r, a.Name); ok {
			text = fmt.Sprintf("%s %s", a.Name, costText(s.e.Metric, c))
		} else {
			continue
		}
		costs = append(costs, text)
	}
	verdict := fmt.Sprintf("%d gates pass", r.Passed)
	if !r.Kept {
		verdict = "NOT KEPT: " + firstFailure(r)
	}
	s.logf("%s  %s  %s  %s left", head, strings.Join(costs, "  "), verdict, s.left().Round(time.Second))
}

// firstFailure names the gate that failed, of several the one that is most
// likely the cause of the others: what is wrong with the machine before what is
// wrong with an arm.
func firstFailure(r RoundRecord) string {
	if failed := causesFirst(r.Gates.Failed()); len(failed) > 0 {
		text := clip(failed[0].String(), 240)
		if len(failed) > 1 {
			text += fmt.Sprintf(" (and %d more)", len(failed)-1)
		}
		return text
	}
	return r.Interrupted
}

// causesFirst puts gates that are about the machine and the origin before those
// that their trouble makes fail too.
func causesFirst(failed gate.Results) gate.Results {
	causes := []string{
		gate.NameLeftovers, gate.NameForeignBefore, gate.NameForeignDuring, gate.NameOrigin,
		gate.NameIdentity, gate.NamePinning, gate.NameIdleStates, gate.NameHeadroom,
	}
	rank := func(r gate.Result) int {
		if i := slices.Index(causes, r.Gate); i >= 0 {
			return i
		}
		return len(causes)
	}
	sorted := slices.Clone(failed)
	slices.SortStableFunc(sorted, func(a, b gate.Result) int { return rank(a) - rank(b) })
	return sorted
}

// left is the planned time of the rounds that are not kept yet.
func (s *session) left() time.Duration {
	whole := s.plan.Duration() - s.plan.pilotTime()
	return whole * time.Duration(s.plan.Rounds-s.finished) / time.Duration(s.plan.Rounds)
}

// roundRatio is one round's ratio of two arms, as it will be estimated.
func roundRatio(r RoundRecord, base, variant string) (float64, bool) {
	a, b := meet(r, base, variant)
	if len(a) == 0 || len(b) == 0 {
		return 0, false
	}
	ratio, err := stats.Round{Baseline: pool(a), Variant: pool(b)}.Ratio()
	return ratio, err == nil
}

// armCost pools what a request cost an arm in one round.
func armCost(r RoundRecord, arm string) (float64, bool) {
	var samples []Sample
	for _, run := range r.Runs {
		for _, s := range run.Samples {
			if s.Arm == arm {
				samples = append(samples, s)
			}
		}
	}
	cost, err := pool(samples).PerResponse()
	return cost, err == nil
}

// costText writes a cost per request with its unit.
func costText(m counters.Metric, v float64) string {
	if m == counters.CPUTime {
		return fmt.Sprintf("%.2f µs", v/1e3)
	}
	return fmt.Sprintf("%.0f %s", v, m.Unit())
}

// Text is the result as it is printed at the end of a run: the rows, then the
// conditions that belong beside every number.
func (r Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s per request, %d of %d rounds kept, %s, %.0f requests a second for each arm\n",
		r.Name, metricName(r.Session.Metric), r.Kept, r.Planned, r.Session.Plan.Way, r.Rate)
	for _, row := range r.Rows {
		row.text(&b, r.Session.Metric)
	}
	if r.Placebo != nil {
		fmt.Fprintf(&b, "placebo (equal to the baseline, in the same minutes): ")
		r.Placebo.effect(&b)
		fmt.Fprintf(&b, "\n")
		if len(r.Rows) == 0 {
			fmt.Fprintf(&b, "  %s: %s\n", r.Placebo.Verdict.Kind, r.Placebo.Verdict.Text)
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	fmt.Fprintf(&b, "conditions:\n")
	for _, c := range r.Conditions() {
		fmt.Fprintf(&b, "  %s\n", c)
	}
	if r.Ended != "" {
		fmt.Fprintf(&b, "ended early: %s\n", r.Ended)
	}
	fmt.Fprintf(&b, "record: %s\n", r.RecordPath)
	if r.RowsPath != "" {
		fmt.Fprintf(&b, "rows:   %s\n", r.RowsPath)
	}
	return b.String()
}

func metricName(m counters.Metric) string {
	if m == counters.CPUTime {
		return "CPU time"
	}
	return string(m)
}

func (row Row) effect(b *strings.Builder) {
	if !row.Estimate.Testable() {
		fmt.Fprintf(b, "no estimate: %s", row.Err)
		return
	}
	change, i := row.Change()
	fmt.Fprintf(b, "%+.2f%% [%+.2f, %+.2f]", change, i.Low, i.High)
}

func (row Row) text(b *strings.Builder, m counters.Metric) {
	fmt.Fprintf(b, "%s against %s: ", row.Arm, row.Baseline)
	row.effect(b)
	fmt.Fprintf(b, "  %s\n", row.Verdict.Kind)
	fmt.Fprintf(b, "  %s\n", row.Verdict.Text)
	if !row.Estimate.Testable() {
		return
	}
	fmt.Fprintf(b, "  a request costs %s instead of %s", costText(m, row.VariantCost), costText(m, row.BaselineCost))
	if row.Difference.Testable() {
		fmt.Fprintf(b, ", %s [%s, %s] more", costText(m, row.Difference.Mean), costText(m, row.Difference.Interval.Low), costText(m, row.Difference.Interval.High))
	}
	fmt.Fprintf(b, "; busy %.1f%% and %.1f%%\n", 100*row.BaselineBusy, 100*row.VariantBusy)
	if row.Floor > 0 {
		fmt.Fprintf(b, "  floor %.2f%% from the placebo; ", row.Floor)
	} else {
		fmt.Fprintf(b, "  no floor; ")
	}
	fmt.Fprintf(b, "for the whole family [%+.2f, %+.2f], Holm p %.2g, this session only; ", row.Simultaneous.Low, row.Simultaneous.High, row.HolmP)
	units := "rounds"
	if row.Estimate.Blocks != nil {
		units = "blocks" // what the interval is computed over
	}
	fmt.Fprintf(b, "same sign in %d of %d %s, sign-flip p %.2g\n", row.Estimate.Signs.Same, row.Estimate.Signs.Of, units, row.Estimate.SignFlip.P)
	if d := row.Verdict.SmallestBound; d != nil {
		fmt.Fprintf(b, "  these rounds exclude a change bigger than %.2f%%\n", *d)
	}
	if row.WithFailed != nil {
		e := *row.WithFailed
		i := e.Interval.Percent()
		fmt.Fprintf(b, "  with gate-failed rounds included: %+.2f%% [%+.2f, %+.2f]\n", 100*(e.Mean-1), i.Low, i.High)
	}
	for _, n := range row.Verdict.Notes {
		fmt.Fprintf(b, "  note: %s\n", n)
	}
}

// Conditions are the sentences that belong beside every number of the result.
func (r Result) Conditions() []string {
	return append(append([]string{}, r.Session.Conditions...), r.gateConditions()...)
}

func (r Result) gateConditions() []string {
	text := fmt.Sprintf("rounds: %d planned, %d kept, %d not kept, %d of those interrupted; resumed %d times; attempt %d at this question in its record directory",
		r.Planned, r.Kept, r.Failed, r.Interrupted, r.Resumed, r.Session.Attempt)
	if n := r.Session.Unreadable; n > 0 {
		text += fmt.Sprintf(", where %d more files are no readable record", n)
	}
	conditions := []string{text}
	if r.Arrivals.Sent > 0 {
		conditions = append(conditions, fmt.Sprintf("arrivals as sent: %.1f%% one at a time, the largest bunch %d; late by %v at the median, %v at p99 of the worst window",
			100*float64(r.Arrivals.Alone)/float64(r.Arrivals.Sent), r.Arrivals.LargestBunch, r.Arrivals.MedianLate, r.Arrivals.WorstP99Late))
	}
	return conditions
}

// clip shortens a text for a line.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
