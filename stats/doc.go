// Package stats turns paired rounds of measurements into estimates, intervals
// and verdicts that hold up. Numbers in, numbers out: it knows nothing of
// proxies, files or clocks, and imports nothing of this module.
//
// # The way through
//
//	rounds → FromRounds → Estimate → Effect → Widen/AcrossSessions → Judge → Verdict
//
// A [Round] is the unit: both arms within the same minutes, in a balanced order.
// [FromRounds] makes one ratio of costs per response from each, and from the
// ratios an [Estimate]: mean, t interval, an exact sign-flip p, three
// cross-checks and a search for what independent rounds would not show. Where
// rounds share a process until it is restarted, their Block numbers make the
// block the unit (see [Blocked]). Estimate.Effect is the change in percent; all
// that follows works on an [Effect]: the between-session spread ([Widen],
// [AcrossSessions], [Pool]), floors ([FloorFromAA], [FloorFromPlacebo]),
// [Equivalence], [AskBudget], [Compare], [Simultaneous], and [Judge], whose rule
// is mechanical and names the clause that fired. What is said of one session's
// own effect holds for that session; answers carry it as SessionOnly, and only an
// effect with the between-session spread (Between) speaks for the setting.
//
// Rows that are read together are a family: [FamilyPlan] declares it before the
// first round and refuses what could not come out, [PlanLooks] says when the data
// may be looked at, [Holm] and [Simultaneous] correct, and [Report] does all of it
// for a table. A verdict outside any family says so.
//
// # Units
//
// Ratios are plain (1.02 is two percent more). Effects, floors, spreads, bounds
// and budgets are in percent. Effects of [MeanOfDifferences] are in the unit of
// the input. Levels and p values are fractions.
//
// # What it does not do
//
// Nothing is dropped by value; a round is discarded by gates before it comes
// here ([CheckDiscards] says whether that can have made the result). Nothing is
// corrected for drift or autocorrelation; they are warned of. No result is NaN,
// infinite, or a p of exactly zero: what cannot be computed is a
// [*NotTestableError] with the reason, or a nil pointer with a [Warning].
// A p below 1e-300 is given as 1e-300.
//
// Formulas, sources and assumptions stand at each function. How well the
// intervals and tests do on normal, heavy-tailed, autocorrelated and one-sided
// noise is measured by go run ./internal/statsim.
package stats
