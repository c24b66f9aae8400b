package stats

import "math"

// Judge applies the rule. In order, the first clause that fits decides:
//
//	void, smoke run, mechanism only, not testable
//	interval contains zero          equivalent within the declared bound, else no resolved difference
//	family p missing, or > alpha    not a finding; no resolved difference
//	sessions without their spread, or that disagree
//	                                not a finding
//	fewer than MinBlocks restarts, or too few rounds in a session
//	                                not a finding
//	no floor                        not a finding
//	load moved the effect away from zero, and effect − shift contains zero, has the
//	other sign, or in one session is under max(1%, floor)
//	                                not a finding
//	one session
//	  |effect| < max(1%, floor)     not a finding (or equivalent within the declared bound)
//	  widened contains zero         needs a second session
//	  cross-checks disagree         needs a second session
//	  |effect| ≤ max(2%, 2·floor)   near the floor if the widened interval excludes zero,
//	                                else needs a second session
//	  above                         finding
//	several sessions (interval with the between-session spread excludes zero)
//	  |effect| < max(1%, floor)     near the floor
//	  else                          finding
//
// A finding or a row near the floor whose arms ran at different busy shares is
// then worded as a bound, if the slope of cost against load is known.
// Equivalence needs no floor, but is not claimed below a known one, nor between
// arms that were not equally busy, nor over sessions that disagree. Intervals
// are at 95%. Units are percent throughout.
func Judge(in VerdictInput) Verdict {
	if in.Effect.Sessions <= 1 && in.Effect.Between && in.Widened == nil {
		e := in.Effect // handed in already widened
		in.Widened = &e
	}
	v := decide(in)
	v.Basis = v.Kind
	v.note(in)
	return v
}

func decide(in VerdictInput) (v Verdict) {
	set := func(k Kind, c Clause, format string, args ...any) Verdict {
		v.Kind, v.Clause, v.Text = k, c, text(format, args...)
		return v
	}
	switch {
	case in.Void != "":
		return set(Invalid, ClauseVoid, "invalid: %s", in.Void)
	case in.SmokeRun:
		return set(Smoke, ClauseSmoke, "smoke run: everything worked, nothing was priced")
	case in.Mechanism != "":
		return set(MechanismShown, ClauseMechanism, "mechanism shown, no price: %s", in.Mechanism)
	}
	if err := in.Effect.check("effect"); err != nil {
		return set(Invalid, ClauseNotTestable, "%v", err)
	}
	alpha, err := settleAlpha(in.Alpha)
	if err != nil {
		return set(Invalid, ClauseNotTestable, "%v", err)
	}
	one := in.Effect.Sessions <= 1
	best := in.Effect // the effect with the most honest error there is
	if one && in.Widened != nil {
		if err := in.Widened.check("widened effect"); err != nil {
			return set(Invalid, ClauseNotTestable, "%v", err)
		}
		if why := notWidened(in.Effect, *in.Widened); why != "" {
			return set(Invalid, ClauseNotTestable, "the widened effect is not this effect widened: %s", why)
		}
		best = *in.Widened
	}
	if in.Floor != nil {
		if f := in.Floor.Percent; !(f > 0 && f <= maxMagnitude) {
			return set(Invalid, ClauseNotTestable, "the floor is %v: it must be positive", f)
		}
		v.NotBelow = math.Max(1, in.Floor.Percent)
		v.SecondUpTo = math.Max(2, 2*in.Floor.Percent)
	}
	equivalent := false
	bound := in.EquivalenceBound
	if bound == 0 {
		bound = maxMagnitude // only SmallestBound is wanted
	}
	q, err := Equivalence(best, bound)
	if err != nil {
		return set(Invalid, ClauseNotTestable, "%v", err)
	}
	v.SmallestBound = &q.SmallestBound
	if in.EquivalenceBound != 0 {
		v.Equivalent = &q
		equivalent = q.Holds
		if equivalent && in.Floor != nil && in.EquivalenceBound < in.Floor.Percent {
			equivalent = false
			v.Notes = append(v.Notes, text("equivalence within ±%.3g%% is not claimed: the floor is %.3g%%", in.EquivalenceBound, in.Floor.Percent))
		}
		if equivalent && (hasWarning(in.Warnings, TooFewBlocks) || hasWarning(in.Warnings, TooFewRounds)) {
			equivalent = false
			v.Notes = append(v.Notes, "equivalence is not claimed: too few restarts or rounds")
		}
		if equivalent && in.Load != nil && in.Load.Direction != BoundNone {
			equivalent = false
			v.Notes = append(v.Notes, "equivalence is not claimed: the arms were not equally busy")
		}
		if equivalent && !one && !in.Effect.Between {
			equivalent = false
			v.Notes = append(v.Notes, "equivalence is not claimed: the spread between sessions is not in the interval")
		}
		if equivalent && !one && hasWarning(in.Warnings, SessionsDisagree) {
			equivalent = false
			v.Notes = append(v.Notes, "equivalence is not claimed: the sessions disagree")
		}
	}
	i := in.Effect.interval(0.95)
	size, what := math.Abs(in.Effect.Value), percent(in.Effect.Value, i)
	if i.side(0) == 0 {
		if equivalent {
			return set(NoChangeBiggerThan, ClauseEquivalent, "no change bigger than %.3g%%: %s", in.EquivalenceBound, what)
		}
		return set(NoResolvedDifference, ClauseContainsZero, "no resolved difference: %s; nothing bigger than %.3g%%", what, q.SmallestBound)
	}
	if in.Family > 1 {
		if in.AdjustedP == nil || !(*in.AdjustedP >= 0 && *in.AdjustedP <= 1) {
			return set(NotAFinding, ClauseFamilyMissing, "not a finding: one of %d rows without its p within the family", in.Family)
		}
		if *in.AdjustedP > alpha {
			return set(NoResolvedDifference, ClauseFamily, "no resolved difference: %s, but p %.3g among %d rows", what, *in.AdjustedP, in.Family)
		}
	}
	if !one && !in.Effect.Between {
		return set(NotAFinding, ClauseNoSpread, "not a finding: %s over %d sessions, without the spread between them", what, in.Effect.Sessions)
	}
	if !one && hasWarning(in.Warnings, SessionsDisagree) {
		return set(NotAFinding, ClauseDisagree, "not a finding: %s over %d sessions that differ more than the spread allows", what, in.Effect.Sessions)
	}
	if hasWarning(in.Warnings, TooFewBlocks) {
		return set(NotAFinding, ClauseFewBlocks, "not a finding: %s, from fewer than %d restarts", what, MinBlocks)
	}
	if hasWarning(in.Warnings, TooFewRounds) {
		return set(NotAFinding, ClauseFewRounds, "not a finding: %s, from too few rounds in a session", what)
	}
	if in.Floor == nil {
		return set(NotAFinding, ClauseNoFloor, "not a finding: %s, and no A/A floor to hold it against", what)
	}
	if why := in.Load.explains(best, v.NotBelow); why != "" {
		return set(NotAFinding, ClauseLoad, "not a finding: %s, and %s", what, why)
	}
	under := size < v.NotBelow
	if !one {
		if under {
			return set(NearFloor, ClauseNearSessions, "near the floor: %s over %d sessions, floor %.3g%%", what, in.Effect.Sessions, in.Floor.Percent)
		}
		return set(Finding, ClauseSessions, "%s over %d sessions, floor %.3g%%", what, in.Effect.Sessions, in.Floor.Percent)
	}
	if under {
		if equivalent {
			return set(NoChangeBiggerThan, ClauseEquivalent, "no change bigger than %.3g%%: %s", in.EquivalenceBound, what)
		}
		return set(NotAFinding, ClauseUnderFloor, "not a finding: %s from one session, under %.3g%% (floor %.3g%%)", what, v.NotBelow, in.Floor.Percent)
	}
	w := best.interval(0.95)
	if in.Widened != nil && w.side(0) == 0 {
		return set(NeedsSecondSession, ClauseWidened, "needs a second session: %s, widened [%+.3g, %+.3g]", what, w.Low, w.High)
	}
	for _, c := range []Code{SkewedRatios, RanksDisagree, MeansDisagree, SignFlipDisagrees} {
		if hasWarning(in.Warnings, c) {
			return set(NeedsSecondSession, ClauseChecks, "needs a second session: %s, and a cross-check disagrees (%s)", what, c)
		}
	}
	if size <= v.SecondUpTo {
		if in.Widened == nil {
			return set(NeedsSecondSession, ClauseSecond, "needs a second session: %s, up to %.3g%% (floor %.3g%%)", what, v.SecondUpTo, in.Floor.Percent)
		}
		return set(NearFloor, ClauseNearWidened, "near the floor: %s, widened [%+.3g, %+.3g], floor %.3g%%", what, w.Low, w.High, in.Floor.Percent)
	}
	return set(Finding, ClauseLarge, "%s, floor %.3g%%", what, in.Floor.Percent)
}

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
	if in.Effect.Sessions <= 1 && in.Widened == nil {
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
