package stats

import "math"

// notWidened says why w cannot be e with the between-session spread added, which
// changes the error and nothing else; "" when it can.
func notWidened(e, w Effect) string {
	const rounding = 1e-9
	switch {
	case !w.Between:
		return "it does not say that the between-session spread is in it"
	case w.Sessions > 1:
		return text("it is over %d sessions", w.Sessions)
	case math.Abs(w.Value-e.Value) > rounding*math.Max(math.Abs(e.Value), e.SE):
		return text("its value is %.6g%% and the effect's %.6g%%", w.Value, e.Value)
	case w.SE < e.SE*(1-rounding):
		return text("its standard error is %.3g and the effect's %.3g", w.SE, e.SE)
	}
	return ""
}

// note adds the caveats, and the wording of a bound.
func (v *Verdict) note(in VerdictInput) {
	if v.Kind == Invalid || v.Kind == Smoke || v.Kind == MechanismShown {
		return
	}
	priced := v.Kind == Finding || v.Kind == NearFloor
	if in.Load != nil {
		switch in.Load.Direction {
		case BoundLower, BoundUpper:
			if priced {
				v.Kind = LowerBound
				if in.Load.Direction == BoundUpper {
					v.Kind = UpperBound
				}
			}
			v.Notes = append(v.Notes, in.Load.Text)
		default:
			v.Notes = append(v.Notes, in.Load.Text)
		}
	}
	if in.Family == 0 {
		v.Notes = append(v.Notes, "no family was declared: the p is this row's alone, and among many such rows some are different by chance")
	}
	if l := in.Look; l != nil && l.Planned {
		v.Notes = append(v.Notes, text("a planned look after %d rounds, at %.3g", l.Rounds, l.Alpha))
	}
	if b := in.Bias; b != nil {
		if b.shown() != 0 {
			v.Notes = append(v.Notes, text("A/A averages %s, which is not zero", percent(b.Mean, b.Interval)))
		}
		if !b.Pass.Holds {
			v.Notes = append(v.Notes, text("A/A does not exclude a bias of ±%.3g%%: only above %.3g%%", b.Pass.Bound, b.ExcludedAbove))
		}
	}
	if v.SessionOnly {
		v.Notes = append(v.Notes, "this session only: the between-session spread is not in the interval or the p")
	}
	if in.Release && in.Floor != nil && math.Abs(in.Effect.Value) < 2*in.Floor.Percent {
		v.Notes = append(v.Notes, "one binary each: code layout alone can do this")
	}
	if in.Work {
		v.Notes = append(v.Notes, "instructions are work, not price")
	}
	if in.Floor != nil {
		for _, w := range in.Floor.Warnings {
			v.Notes = append(v.Notes, w.Text)
		}
	}
	for _, w := range in.Warnings {
		v.Notes = append(v.Notes, w.Text)
	}
}
