// Package doctor says what a machine can measure, and why not more.
//
// [Examine] looks at the machine for about a second and changes nothing that
// it does not put back at once (a cpuset is made and removed to know whether it
// can be). [Judge] is a pure function from what was seen to a [Report]: facts,
// each with what it means for a measurement and what to do about it, and one
// verdict.
//
// A fact weighs one of four things:
//
//   - fine: nothing to do;
//   - note: a condition of every number measured here;
//   - weaker: CPU time can be measured here and cycles cannot;
//   - stop: nothing can be measured here before this is mended.
//
// The verdict is the heaviest of them. What could not be found out says so in
// its value and is at least a note: unknown is never fine.
//
// The doctor judges the machine, not an experiment: an experiment may need
// more (more CPUs for the proxy, real idle states), and its own gates look at
// every window again.
package doctor
