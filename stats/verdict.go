package stats

// Kind is what a row may be called.
type Kind string

// The kinds of verdict, weakest evidence first.
const (
	// Invalid: a gate, a counter or the discards void the row.
	Invalid Kind = "invalid"
	// Smoke: a short run that proves the machinery and prices nothing.
	Smoke Kind = "smoke"
	// MechanismShown: the host lacks what a price needs; only the effect's existence was shown.
	MechanismShown Kind = "mechanism shown"
	// NoResolvedDifference: the interval contains zero, or the family does not allow more.
	NoResolvedDifference Kind = "no resolved difference"
	// NoChangeBiggerThan: equivalence within the declared bound.
	NoChangeBiggerThan Kind = "no change bigger than"
	// NotAFinding: statistically there, but this rig's A/A shows as much.
	NotAFinding Kind = "not a finding"
	// NeedsSecondSession: too small to be believed from one session.
	NeedsSecondSession Kind = "needs a second session"
	// NearFloor: believed, and not far from what the rig cannot tell from noise.
	NearFloor Kind = "near the floor"
	// LowerBound, UpperBound: a difference whose arms ran at different busy
	// shares; the value at equal load is higher (lower) than measured.
	LowerBound Kind = "lower bound"
	UpperBound Kind = "upper bound"
	// Finding: a difference.
	Finding Kind = "finding"
)

// Clause names the line of the rule that decided.
type Clause string

// The clauses, in the order in which Judge tries them.
const (
	ClauseVoid          Clause = "void"
	ClauseSmoke         Clause = "smoke"
	ClauseMechanism     Clause = "mechanism only"
	ClauseNotTestable   Clause = "not testable"
	ClauseEquivalent    Clause = "equivalent within the declared bound"
	ClauseContainsZero  Clause = "interval contains zero"
	ClauseLook          Clause = "unplanned look"
	ClauseFamilyMissing Clause = "family p missing"
	ClauseFamily        Clause = "not significant in its family"
	ClauseNoSpread      Clause = "several sessions without the between-session spread"
	ClauseDisagree      Clause = "sessions disagree"
	ClauseFewBlocks     Clause = "too few restarts"
	ClauseFewRounds     Clause = "too few rounds for an exact test"
	ClauseNoFloor       Clause = "no floor"
	ClauseLoad          Clause = "load alone can have made it"
	ClauseBias          Clause = "A/A bias alone can have made it"
	ClauseUnderFloor    Clause = "under max(1%, floor) from one session"
	ClauseWidened       Clause = "widened interval contains zero"
	ClauseChecks        Clause = "cross-checks disagree"
	ClauseSecond        Clause = "up to max(2%, 2 x floor), one session, no widened interval"
	ClauseNearWidened   Clause = "up to max(2%, 2 x floor), widened interval excludes zero"
	ClauseUnderSessions Clause = "under the floor over several sessions"
	ClauseNearSessions  Clause = "under max(1%, floor), resolved over several sessions"
	ClauseSessions      Clause = "at least max(1%, floor), resolved over several sessions"
	ClauseLargeSession  Clause = "above max(2%, 2 x floor), this session only"
	ClauseLarge         Clause = "above max(2%, 2 x floor)"
)

// VerdictInput is what the mechanical rule looks at. Its zero value is judged
// Invalid, never a finding.
type VerdictInput struct {
	// Effect in percent: one session's (Estimate.Effect), or the one across
	// sessions (AcrossSessions), with Sessions set accordingly.
	Effect Effect
	// Widened is the one session's effect with the between-session spread
	// (Widen): the same Value with an SE that is not smaller, else the row is
	// Invalid. nil when the spread is unknown. Ignored with several sessions.
	Widened *Effect
	// Floor of this shape and session; nil means no finding.
	Floor *Floor
	// Family is the number of declared rows corrected together; 1 for a row that
	// was declared alone. 0 says that nothing was declared: the row is judged
	// alone, and a note says that nothing is corrected.
	Family int
	// AdjustedP is the row's p within its family, by the variance of Effect or of
	// Widened. Needed when Family > 1.
	AdjustedP *float64
	// Alpha is the error rate of the family, and of the interval that must exclude
	// zero. Default 0.05; it may be less, not more.
	Alpha float64
	// Look is the planned or unplanned look at which this verdict is made
	// (Looks.Look, or the last of LookReview.Looks): its Alpha takes the place of
	// the row's, and an unplanned one never makes a finding. nil: the data are
	// looked at once, at their planned end.
	Look *Look
	// Bias is what A/A gives on average on this rig (PooledBias); nil if unknown.
	Bias *Bias
	// EquivalenceBound in percent, declared beforehand; 0: none.
	EquivalenceBound float64
	// Load says what a difference in busy share does to the row; nil when the
	// arms ran at the same busy share.
	Load *LoadBound
	// Warnings of the estimate, and of AcrossSessions or Pool where they made
	// Effect. TooFewBlocks, TooFewRounds, SessionsDisagree, and cross-checks that
	// disagree change the verdict; the others become notes.
	Warnings []Warning
	// Void, when not empty, is the reason why the row is invalid (a failed gate,
	// Discards.Reason). Mechanism is the reason why no price can be shown.
	Void      string
	Mechanism string
	// SmokeRun forces the verdict "smoke".
	SmokeRun bool
	// Release is for arms that are different binaries, one build each.
	Release bool
	// Work is for instruction counts: work, never price.
	Work bool
}

// Verdict is the answer of the rule.
type Verdict struct {
	Kind   Kind   `json:"kind"`
	Clause Clause `json:"clause"`
	// Basis is the kind before a bound's wording replaced it; else equal to Kind.
	Basis Kind `json:"basis"`
	// Text is one sentence with the numbers that decided.
	Text string `json:"text"`
	// Notes are caveats that belong beside the row.
	Notes []string `json:"notes"`
	// Level is that of the interval that decided, 0 where none did.
	Level float64 `json:"level"`
	// SessionOnly is true when the between-session spread is not known to the
	// verdict: interval and p then speak for the measured session, not for the setting.
	SessionOnly bool `json:"session_only"`
	// Err is the typed reason of a row that is not testable.
	Err error `json:"-"`
	// NotBelow and SecondUpTo are the rule's limits for this rig in percent:
	// max(1, floor) and max(2, 2·floor). Zero without a floor.
	NotBelow   float64 `json:"not_below"`
	SecondUpTo float64 `json:"second_up_to"`
	// SmallestBound is the smallest "no change bigger than" that the row can
	// claim, nil when not testable; Equivalent the answer for the declared bound.
	// Both by one-sided tests at 5%, or at alpha where that is smaller.
	SmallestBound *float64    `json:"smallest_bound"`
	Equivalent    *Equivalent `json:"equivalent"`
}
