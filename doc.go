// Package tare is the root of a module that measures what a proxy's setting,
// feature or release costs in CPU per request, by paired A/B runs, and says
// how sure it is. The package itself is empty; this page is the manual.
//
// # The question
//
// "What does the access log cost?" is asked of two configurations that differ
// in one thing, loaded alike, on one machine, in the same minutes. The answer
// is a row: a change in percent with its interval, the cost of one request in
// absolute terms, a verdict that was fixed beforehand, and the conditions
// under which all of that is true. "Not a finding" is an answer.
//
// # The packages
//
//   - [github.com/tareperf/tare/abtest] is what users touch: an Experiment in,
//     a Result with rows out. It is the only package that imports the others.
//   - [github.com/tareperf/tare/envoy] describes, changes, validates, starts
//     and inspects Envoy.
//   - [github.com/tareperf/tare/loadgen] sends open-loop load and accounts for
//     every arrival.
//   - [github.com/tareperf/tare/counters] counts the CPU of a process, all its
//     threads, over a window, or refuses.
//   - [github.com/tareperf/tare/pinning] plans CPUs, puts processes there and
//     puts everything back.
//   - [github.com/tareperf/tare/gate] judges whether a window is valid, from
//     plain evidence that any harness can fill in.
//   - [github.com/tareperf/tare/stats] turns rounds into estimates and
//     verdicts: numbers in, numbers out.
//
// gate, stats and counters are useful without the rest.
//
// # A first experiment
//
//	func TestMain(m *testing.M) { abtest.Main(m) }
//
//	func TestAccessLogCost(t *testing.T) {
//		base := envoy.MustParse(bootstrapYAML)
//		abtest.Run(t, abtest.Experiment{
//			Baseline: abtest.Arm{Name: "off", Target: envoy.Proxy{Bootstrap: base}},
//			Variants: []abtest.Arm{{Name: "text", Target: envoy.Proxy{Bootstrap: base.With(envoy.FileAccessLog("access.log"))}}},
//			Origin:   abtest.Nginx{BodySize: 4096},
//			Load:     loadgen.Spec{Path: "/4k"},
//		})
//	}
//
// run by
//
//	go test -v -count=1 -timeout 30m -run TestAccessLogCost .
//
// The directory examples/quickstart holds one that needs nothing but Go.
//
// # How a row is read
//
// The interval is at 95% and knows this session only, unless it says
// otherwise. A difference under the floor (what an arm equal to the baseline
// showed in the same minutes, and at least 1%) is not a finding from one
// session, whatever its own interval says. Up to twice that it needs a second
// session. "No change bigger than X%" is an equivalence test, not the absence
// of a finding. The clause of the rule that decided is part of the row.
//
// # Systems
//
// Linux on amd64 and arm64 measures. Everywhere else the module builds, and
// measuring answers ErrNotSupported; statistics, verdicts and records work
// anywhere.
package tare
