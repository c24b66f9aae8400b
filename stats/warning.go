package stats

import "fmt"

// A Code names one kind of warning, so that programs need not parse text.
type Code string

// The warnings that results carry. A warning never changes a number; Judge says
// which of them change a verdict.
const (
	// SkewedRatios: the log-ratio check reaches another conclusion than the mean of ratios.
	SkewedRatios Code = "skewed-ratios"
	// RanksDisagree: Hodges–Lehmann reaches another conclusion than the mean of ratios.
	RanksDisagree Code = "ranks-disagree"
	// MeansDisagree: Fieller's ratio of means reaches another conclusion than the mean of ratios.
	MeansDisagree Code = "means-disagree"
	// SignFlipDisagrees: the sign-flip test and the t interval reach different conclusions.
	SignFlipDisagrees Code = "sign-flip-disagrees"
	// CheckMissing: a cross-check could not be computed; the text says why.
	CheckMissing Code = "check-missing"
	// OrderMatters: the run that came second cost systematically more or less.
	OrderMatters Code = "order-matters"
	// OrderUnbalanced: the two orders were not used equally often.
	OrderUnbalanced Code = "order-unbalanced"
	// Drifts: the ratio has a slope over the rounds.
	Drifts Code = "drifts"
	// Autocorrelated: neighbouring rounds resemble (or oppose) each other.
	Autocorrelated Code = "autocorrelated"
	// OneRoundDecides: leaving one round out changes the conclusion.
	OneRoundDecides Code = "one-round-decides"
	// TooFewRounds: so few units that no exact test can reach 5% (below 6), or a
	// session of several with fewer than 5 degrees of freedom.
	TooFewRounds Code = "too-few-rounds"
	// RatioBias: rounds vary so much that the mean of ratios is visibly biased upwards.
	RatioBias Code = "ratio-bias"
	// TooFewBlocks: fewer restarts than MinBlocks stand behind a blocked interval.
	TooFewBlocks Code = "too-few-blocks"
	// BlocksUnequal: blocks hold different numbers of rounds.
	BlocksUnequal Code = "blocks-unequal"
	// ComponentUnknown: the restart component cannot be estimated; the text says why.
	ComponentUnknown Code = "component-unknown"
	// SessionOnly: the between-session spread is not in the number.
	SessionOnly Code = "this-session-only"
	// SpreadIsUpper: a spread estimated as zero was replaced by its upper limit.
	SpreadIsUpper Code = "spread-is-upper-limit"
	// SessionsDisagree: sessions differ more than the borrowed spread allows.
	SessionsDisagree Code = "sessions-disagree"
	// IntervalTooShort: an interval of a kind known to undercover here was asked for.
	// The effect made of it counts as without the between-session spread.
	IntervalTooShort Code = "interval-too-short"
	// Biased: A/A does not average to zero.
	Biased Code = "biased"
	// UnplannedLook: the data were looked at when no look was planned.
	UnplannedLook Code = "unplanned-look"
)

// Warning is one thing a reader must know before trusting a number.
type Warning struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// String is "code: text".
func (w Warning) String() string { return string(w.Code) + ": " + w.Text }

func warn(list *[]Warning, code Code, format string, args ...any) {
	*list = append(*list, Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

func hasWarning(list []Warning, code Code) bool {
	for _, w := range list {
		if w.Code == code {
			return true
		}
	}
	return false
}
