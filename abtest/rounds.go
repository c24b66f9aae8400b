package abtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/tareperf/tare/gate"
)

// InvalidError is an experiment whose rounds failed their gates more often
// than the plan allows. The record holds every one of them.
type InvalidError struct {
	Failed int            // rounds that were not kept
	Kept   int            // rounds that were
	ByGate map[string]int // rounds in which the gate did not pass
	Last   gate.Results   // what failed in the last of them
}

func (e *InvalidError) Error() string {
	text := e.summary()
	for _, r := range e.Last {
		text += "\n  " + r.String()
	}
	return text
}

// summary is the first line of the error.
func (e *InvalidError) summary() string {
	names := make([]string, 0, len(e.ByGate))
	for name, n := range e.ByGate {
		names = append(names, fmt.Sprintf("%s in %d", name, n))
	}
	sort.Strings(names)
	return fmt.Sprintf("%d rounds failed their gates, %d were kept (%s)", e.Failed, e.Kept, strings.Join(names, ", "))
}

// run measures: everything from here on touches the machine.
func (s *session) run(ctx context.Context) (err error) {
	if err := s.waitQuiet(ctx); err != nil {
		return err
	}
	if s.gen, err = s.startGenerator(ctx); err != nil {
		return err
	}
	if s.origin, err = s.startOrigin(ctx); err != nil {
		return err
	}
	if err := s.learnBaseline(ctx); err != nil {
		return err
	}
	if err := s.pilot(ctx); err != nil {
		return err
	}
	return s.rounds(ctx)
}

// rounds runs what the plan still wants. A round that fails its gates is run
// again whole, within the plan's budget.
func (s *session) rounds(ctx context.Context) error {
	invalid := InvalidError{ByGate: map[string]int{}}
	attempts := map[int]int{}
	for _, r := range s.resumed.Rounds {
		attempts[r.Index]++
		if r.Kept {
			s.finished++
		} else if r.Interrupted == "" {
			invalid.count(r)
		}
	}
	invalid.Kept = s.finished
	for index := range s.plan.Schedule {
		if s.resumed.kept(index) {
			continue
		}
		for {
			attempts[index]++
			r, err := s.round(ctx, index)
			r.Attempt = attempts[index]
			if err = errors.Join(err, s.record.append(Line{Kind: "round", Round: &r})); err != nil {
				return err
			}
			if r.Kept {
				s.finished++
			} else {
				invalid.count(r)
			}
			s.logRound(r)
			if r.Kept {
				break
			}
			if startBound(r.Gates.Failed()) {
				// The same processes and connections would fail again.
				if err := s.stopArms(); err != nil {
					return err
				}
			}
			if invalid.Failed > s.plan.Redo {
				invalid.Kept = s.finished
				return &invalid
			}
		}
	}
	return nil
}

// startBound reports whether a gate failed for what a start of the arms
// decides: how connections fell on workers, which binary runs, where it is.
func startBound(failed gate.Results) bool {
	return slices.ContainsFunc(failed, func(r gate.Result) bool {
		return r.Gate == gate.NameSpread || r.Gate == gate.NameIdentity || r.Gate == gate.NamePinning
	})
}

func (e *InvalidError) count(r RoundRecord) {
	e.Failed++
	e.Last = causesFirst(r.Gates.Failed())
	seen := map[string]bool{}
	for _, g := range r.Gates.Failed() {
		if !seen[g.Gate] {
			seen[g.Gate] = true
			e.ByGate[g.Gate]++
		}
	}
}

func (r Record) kept(index int) bool {
	for _, round := range r.Rounds {
		if round.Kept && round.Index == index {
			return true
		}
	}
	return false
}

// round runs one planned round from start to end and judges it.
func (s *session) round(ctx context.Context, index int) (RoundRecord, error) {
	r := RoundRecord{Index: index}
	var results gate.Results
	var err error
	if s.plan.Way == Restart {
		results, err = s.restartRound(ctx, &r)
	} else {
		results, err = s.duetRound(ctx, &r)
	}
	for _, g := range results {
		if g.Status == gate.StatusPass {
			r.Passed++
		} else {
			r.Gates = append(r.Gates, g)
		}
	}
	r.Kept = err == nil && results.OK()
	if err != nil {
		r.Interrupted = err.Error()
	}
	return r, err
}

// duetRound has the baseline meet each other arm once.
func (s *session) duetRound(ctx context.Context, r *RoundRecord) (gate.Results, error) {
	if err := s.enterBlock(ctx, r.Index); err != nil {
		return nil, err
	}
	r.Block = s.blocks
	planned := s.plan.Schedule[r.Index]
	results, err := s.before(ctx)
	for pos, other := range planned.Order {
		if err != nil {
			break
		}
		var run RunRecord
		var more gate.Results
		run, more, err = s.window(ctx, []*liveArm{s.live[0], s.live[other]}, pos, planned.Seed+uint64(pos))
		results = append(results, more...)
		if err == nil && run.Samples != nil {
			r.Runs = append(r.Runs, run)
		}
	}
	return results, err
}

// enterBlock makes sure that the arms run in the processes of the block that
// the round belongs to.
func (s *session) enterBlock(ctx context.Context, index int) error {
	first := 0
	for _, n := range s.plan.Blocks {
		if index < first+n {
			break
		}
		first += n
	}
	if s.live != nil && index != first && s.allAlive() {
		return nil
	}
	if s.live != nil && index == first && s.lastBlockAt == index && s.allAlive() {
		return nil // the block's first round is being redone
	}
	if err := s.stopArms(); err != nil {
		return err
	}
	s.blocks++
	s.lastBlockAt = index
	order := make([]int, len(s.arms))
	for i := range order {
		order[i] = i
		if s.blocks%2 == 0 { // swapped start order
			order[i] = len(order) - 1 - i
		}
	}
	block := Block{Index: s.blocks}
	live := make([]*liveArm, len(s.arms))
	for _, i := range order {
		l, err := s.startArm(ctx, s.arms[i])
		if err != nil {
			return err
		}
		s.live = append(s.live, l) // so that a later failure stops it
		live[i] = l
		block.Starts = append(block.Starts, s.arms[i].Name)
	}
	s.live = live
	if err := s.record.append(Line{Kind: "block", Block: &block}); err != nil {
		return err
	}
	if err := s.gen.open(ctx, s.e.Load, s.live); err != nil {
		return err
	}
	return s.warm(ctx)
}

// restartRound runs each arm of the order in a process of its own.
func (s *session) restartRound(ctx context.Context, r *RoundRecord) (gate.Results, error) {
	planned := s.plan.Schedule[r.Index]
	var results gate.Results
	for pos, i := range planned.Order {
		more, err := s.restartRun(ctx, r, s.arms[i], pos, planned.Seed)
		results = append(results, more...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

func (s *session) restartRun(ctx context.Context, r *RoundRecord, a *arm, pos int, seed uint64) (gate.Results, error) {
	results, err := s.before(ctx)
	if err != nil {
		return results, err
	}
	l, err := s.startArm(ctx, a)
	if err != nil {
		return results, err
	}
	s.live = []*liveArm{l}
	err = s.gen.open(ctx, s.e.Load, s.live)
	if err == nil {
		err = s.warm(ctx)
	}
	if err == nil {
		var run RunRecord
		var more gate.Results
		// The same seed in all runs of a round: the same arrivals.
		run, more, err = s.window(ctx, s.live, pos, seed)
		results = append(results, more...)
		if err == nil && run.Samples != nil {
			r.Runs = append(r.Runs, run)
		}
	}
	return results, errors.Join(err, s.stopArms())
}

// warm loads all live arms, fresh processes, unmeasured, and waits until what
// they put off is done. Where more arms are alive than will be under load
// together, each gets its share of the load of two.
func (s *session) warm(ctx context.Context) error {
	targets := make([]int, len(s.live))
	for i := range targets {
		targets[i] = i
	}
	rate := s.rate * min(1, 2/float64(len(targets)))
	if _, err := s.gen.run(ctx, targets, rate, s.plan.Warmup, s.plan.Seed, s.plan.Drain); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	return sleep(ctx, s.plan.Settle)
}

// stopArms ends the proxies that are alive.
func (s *session) stopArms() error {
	var errs []error
	for _, l := range s.live {
		if l != nil {
			errs = append(errs, l.stop())
		}
	}
	s.live = nil
	return errors.Join(errs...)
}

func (s *session) allAlive() bool {
	for _, l := range s.live {
		select {
		case <-l.proxy.Done():
			return false
		default:
		}
	}
	return true
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
