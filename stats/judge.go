package stats

import "math"

// Judge applies the rule. In order, the first clause that fits decides:
//
//	void, smoke run, mechanism only, not testable
//	interval contains zero          equivalent within the declared bound, else no resolved difference
//	an unplanned look               not a finding
//	family p missing, or > alpha    not a finding; no resolved difference
//	sessions without their spread, or that disagree
//	                                not a finding
//	fewer than MinBlocks restarts, or too few rounds in a session
//	                                not a finding
//	no floor                        not a finding
//	load moved the effect away from zero, or A/A is biased to its side, and what is
//	left without that contains zero, has the other sign, or in one session is under
//	max(1%, floor)                  not a finding
//	one session
//	  |effect| < max(1%, floor)     not a finding (or equivalent within the declared bound)
//	  widened contains zero         needs a second session
//	  cross-checks disagree         needs a second session
//	  |effect| ≤ max(2%, 2·floor)   near the floor if the widened interval excludes zero,
//	                                else needs a second session
//	  above                         finding; where the between-session spread is unknown,
//	                                a finding of this session only, by a clause of its own
//	several sessions (interval with the between-session spread excludes zero)
//	  |effect| < floor              not a finding, unless pooled A/A (Bias) excludes a bias
//	                                as large as the effect: then near the floor
//	  |effect| < max(1%, floor)     near the floor
//	  else                          finding
//
// A finding or a row near the floor whose arms ran at different busy shares is
// then worded as a bound, if the slope of cost against load is known.
// Equivalence needs no floor, but is not claimed below a known one, nor between
// arms that were not equally busy, nor over sessions that disagree, nor at an
// unplanned look.
//
// Intervals are at 1−alpha, which is 95% by default; at a planned look alpha is
// what the look may spend. Units are percent throughout.
//
// A finding of one session whose spread is unknown speaks for that session, and
// Clause, Text, SessionOnly and a note say so. It says little of the setting: on a
// rig whose sessions differ by 2% (SD), one unchanged row in ten is above
// max(2%, 2 × floor) with the floor of an A/A session, and three in ten with a
// placebo's, which knows of no other session (go run ./internal/statsim). With the
// spread known it is one in twenty. Measure the spread, or repeat in a second session.
func Judge(in VerdictInput) Verdict {
	if in.Effect.Sessions <= 1 && in.Effect.Between && in.Widened == nil {
		e := in.Effect // handed in already widened
		in.Widened = &e
	}
	v := decide(in)
	v.Basis = v.Kind
	v.SessionOnly = in.Effect.Sessions <= 1 && in.Widened == nil
	v.note(in)
	return v
}

// check refuses an input that no rule can be applied to, and gives alpha.
func (in VerdictInput) check() (alpha float64, err error) {
	if err := in.Effect.check("effect"); err != nil {
		return 0, err
	}
	if alpha, err = settleVerdictAlpha(in.Alpha); err != nil {
		return 0, err
	}
	if l := in.Look; l != nil && l.Planned {
		if !(l.Alpha > 0 && l.Alpha <= alpha*(1+1e-9)) {
			return 0, &OptionError{"Look.Alpha", l.Alpha, "a look of a plan that spends no more than alpha"}
		}
		alpha = l.Alpha
	}
	if in.Family < 0 {
		return 0, &OptionError{"Family", in.Family, "0 for none declared, or the number of declared rows"}
	}
	if in.Effect.Sessions <= 1 && in.Widened != nil {
		if err := in.Widened.check("widened effect"); err != nil {
			return 0, err
		}
		if why := notWidened(in.Effect, *in.Widened); why != "" {
			return 0, notTestable("widened effect", "it is not this effect widened: %s", why)
		}
	}
	if in.Floor != nil {
		if f := in.Floor.Percent; !(f > 0 && f <= maxMagnitude) {
			return 0, notTestable("floor", "it is %v: it must be positive", f)
		}
	}
	if in.Bias != nil {
		if err := in.Bias.check(); err != nil {
			return 0, err
		}
	}
	if b := in.EquivalenceBound; b != 0 && !(b > 0 && b <= maxMagnitude) {
		return 0, &OptionError{"EquivalenceBound", b, "0 for none, or a positive number of percent"}
	}
	return alpha, nil
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
	alpha, err := in.check()
	if err != nil {
		v.Err = err
		return set(Invalid, ClauseNotTestable, "%v", err)
	}
	v.Level = 1 - alpha
	one := in.Effect.Sessions <= 1
	best := in.Effect // the effect with the most honest error there is
	if one && in.Widened != nil {
		best = *in.Widened
	}
	if in.Floor != nil {
		v.NotBelow = math.Max(1, in.Floor.Percent)
		v.SecondUpTo = math.Max(2, 2*in.Floor.Percent)
	}
	equivalent := v.equivalence(in, best, alpha)
	i := in.Effect.interval(v.Level)
	size, what := math.Abs(in.Effect.Value), percent(in.Effect.Value, i)
	if v.Level != 0.95 {
		what += text(" at %.4g%%", 100*v.Level)
	}
	if i.side(0) == 0 {
		if equivalent {
			return set(NoChangeBiggerThan, ClauseEquivalent, "no change bigger than %.3g%%: %s", in.EquivalenceBound, what)
		}
		return set(NoResolvedDifference, ClauseContainsZero, "no resolved difference: %s; nothing bigger than %.3g%%", what, *v.SmallestBound)
	}
	if in.Look != nil && !in.Look.Planned {
		return set(NotAFinding, ClauseLook, "not a finding: %s, seen after %d rounds, where no look was planned", what, in.Look.Rounds)
	}
	if in.Family > 1 || in.AdjustedP != nil {
		if in.AdjustedP == nil || !(*in.AdjustedP >= 0 && *in.AdjustedP <= 1) {
			return set(NotAFinding, ClauseFamilyMissing, "not a finding: one of %d rows without its p within the family", in.Family)
		}
		if *in.AdjustedP > alpha {
			return set(NoResolvedDifference, ClauseFamily, "no resolved difference: %s, but p %.3g among %d rows", what, *in.AdjustedP, max(1, in.Family))
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
	if why := in.Load.explains(best, v.NotBelow, v.Level); why != "" {
		return set(NotAFinding, ClauseLoad, "not a finding: %s, and %s", what, why)
	}
	if why := in.Bias.explains(best, v.NotBelow, v.Level); why != "" {
		return set(NotAFinding, ClauseBias, "not a finding: %s, and %s", what, why)
	}
	under := size < v.NotBelow
	if !one {
		if size < in.Floor.Percent && !(in.Bias != nil && in.Bias.ExcludedAbove < size) {
			return set(NotAFinding, ClauseUnderSessions, "not a finding: %s over %d sessions, under the floor of %.3g%%", what, in.Effect.Sessions, in.Floor.Percent)
		}
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
	w := best.interval(v.Level)
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
	if in.Widened == nil {
		return set(Finding, ClauseLargeSession, "%s, floor %.3g%%; this session only: how much sessions differ is unknown", what, in.Floor.Percent)
	}
	return set(Finding, ClauseLarge, "%s, widened [%+.3g, %+.3g], floor %.3g%%", what, w.Low, w.High, in.Floor.Percent)
}

// equivalence fills in the smallest bound and the answer for the declared one,
// and says whether the verdict may claim it.
func (v *Verdict) equivalence(in VerdictInput, best Effect, alpha float64) bool {
	side := math.Min(0.05, alpha) // a look spends no more on this than on a difference
	bound := in.EquivalenceBound
	if bound == 0 {
		bound = maxMagnitude // only SmallestBound is wanted
	}
	q := equivalent(best, bound, side)
	v.SmallestBound = &q.SmallestBound
	if in.EquivalenceBound == 0 {
		return false
	}
	v.Equivalent = &q
	if !q.Holds {
		return false
	}
	one := in.Effect.Sessions <= 1
	for _, c := range []struct {
		applies bool
		why     string
	}{
		{in.Floor != nil && in.EquivalenceBound < floorOf(in.Floor), text("the floor is %.3g%%", floorOf(in.Floor))},
		{hasWarning(in.Warnings, TooFewBlocks) || hasWarning(in.Warnings, TooFewRounds), "too few restarts or rounds"},
		{in.Load != nil && in.Load.Direction != BoundNone, "the arms were not equally busy"},
		{!one && !in.Effect.Between, "the spread between sessions is not in the interval"},
		{!one && hasWarning(in.Warnings, SessionsDisagree), "the sessions disagree"},
		{in.Look != nil && !in.Look.Planned, "no look was planned here"},
	} {
		if c.applies {
			v.Notes = append(v.Notes, text("equivalence within ±%.3g%% is not claimed: %s", in.EquivalenceBound, c.why))
			return false
		}
	}
	return true
}

func floorOf(f *Floor) float64 {
	if f == nil {
		return 0
	}
	return f.Percent
}
