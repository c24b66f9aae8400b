package abtest

import (
	"fmt"
	"slices"

	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/stats"
)

// judge fills in what rows get from each other: floor, family and verdict.
func (r *Result) judge(rec Record) error {
	if p := r.Placebo; p != nil {
		// Alone: it is no row of the family, and has no floor but itself.
		p.HolmP = 1
		if p.Estimate.Testable() {
			p.HolmP = p.Estimate.P
		}
		p.judge(rec, *r, nil, 1)
	}
	if len(r.Rows) == 0 {
		return nil // an A/A experiment: the placebo is all there is
	}
	floor, err := r.floor()
	if err != nil {
		return err
	}
	p := make([]float64, len(r.Rows))
	for i, row := range r.Rows {
		p[i] = 1 // a row without an estimate stays in its family
		if row.Estimate.Testable() {
			p[i] = row.Estimate.P
		}
	}
	holm, err := stats.Holm(p, 0)
	if err != nil {
		return fmt.Errorf("family of %d rows: %w", len(p), err)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		row.HolmP = holm[i].Adjusted
		if row.Estimate.Testable() {
			if row.Simultaneous, err = stats.Simultaneous(row.Estimate.Effect(), len(p), 0); err != nil {
				return err
			}
		}
		if floor != nil {
			row.Floor = floor.Percent
		}
		row.judge(rec, *r, floor, len(p))
	}
	return nil
}

// floor is what the placebo shows; nil without one, and where the discards void
// it.
func (r *Result) floor() (*stats.Floor, error) {
	if r.Placebo == nil || !r.Placebo.Estimate.Testable() {
		return nil, nil
	}
	if r.Placebo.Discards.Void {
		r.Warnings = append(r.Warnings, "the placebo gives no floor: "+r.Placebo.Discards.Reason)
		return nil, nil
	}
	f, err := stats.FloorFromPlacebo(r.Placebo.Estimate.Effect(), nil)
	if err != nil {
		return nil, fmt.Errorf("floor from the placebo: %w", err)
	}
	return &f, nil
}

func (row *Row) judge(rec Record, r Result, floor *stats.Floor, family int) {
	in := stats.VerdictInput{
		Effect: row.Estimate.Effect(), Floor: floor, Family: family, AdjustedP: &row.HolmP,
		EquivalenceBound: rec.Session.Equivalence, Warnings: row.Estimate.Warnings,
		SmokeRun: rec.Session.Smoke, Release: row.release(rec),
	}
	switch {
	case in.SmokeRun && r.Complete: // whatever else: it prices nothing
	case r.Ended != "":
		in.Void = r.Ended
	case !r.Complete:
		in.Void = fmt.Sprintf("the session is not complete: %d of %d rounds", r.Kept, r.Planned)
	case row.Err != "":
		in.Void = row.Err
	case r.BaselineBusy.Status == gate.StatusFail || r.BaselineBusy.Status == gate.StatusCannotTell:
		in.Void = r.BaselineBusy.String()
	default:
		var with *stats.Effect
		if row.WithFailed != nil {
			e := row.WithFailed.Effect()
			with = &e
		}
		d, err := stats.CheckDiscards(armRounds(rec, row.Baseline, row.Arm), row.Estimate.Effect(), with)
		if err != nil {
			in.Void = err.Error()
		}
		row.Discards = d
		if d.Void {
			in.Void = d.Reason
		}
		load, err := stats.BoundFromLoad(nil, 100*row.BaselineBusy, 100*row.VariantBusy)
		if err != nil {
			load = stats.LoadBound{Direction: stats.BoundUnknown, Text: err.Error()}
		}
		in.Load = &load
	}
	row.Verdict = stats.Judge(in)
}

// release reports whether the two arms are different binaries.
func (row *Row) release(rec Record) bool {
	digests := map[string]bool{}
	for _, a := range rec.Session.Arms {
		if a.Name == row.Arm || a.Name == row.Baseline {
			digests[a.SHA256] = true
		}
	}
	return len(digests) > 1
}

// armRounds counts, for the arms of one row, the runs that their own gates
// passed and failed: in Duet those in which the two met. A gate of the rig
// fails a run for nobody in particular.
func armRounds(rec Record, base, variant string) []stats.ArmRounds {
	counts := []stats.ArmRounds{{Arm: base}, {Arm: variant}}
	for _, round := range rec.Rounds {
		for _, run := range round.Runs {
			ran := map[string]bool{}
			for _, s := range run.Samples {
				ran[s.Arm] = true
			}
			if len(run.Samples) > 1 && !(ran[base] && ran[variant]) {
				continue
			}
			for i := range counts {
				name := counts[i].Arm
				switch {
				case !ran[name]:
				case slices.Contains(run.Failed, name):
					counts[i].Failed++
				default:
					counts[i].Passed++
				}
			}
		}
	}
	return counts
}
