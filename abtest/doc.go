// Package abtest measures what one arm of an experiment costs against another
// in CPU per request, and says how sure it is.
//
// An [Experiment] is one baseline arm, one or more variant arms, one load and
// one primary metric. [Run] measures it inside a Go test, [Measure] anywhere:
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
// Everything else has a safe default. The rate too: a pilot on the baseline
// finds the rate that keeps it about 29% busy and freezes it in the record
// before the first round.
//
// # What happens in a run
//
// The experiment is checked before anything starts: names, load, binaries,
// configurations (by the very binary that will run them), CPUs, metric, record
// directory, time left. One experiment at a time runs on a host. Processes of
// the harness (load generator, embedded proxy, embedded origin) are this same
// binary started again, which is why [Main] or [RunHelper] must run first.
// Proxies get CPUs of their own, everything else the others; every process
// is held stopped at exec until it is placed and its counter is attached.
//
// Rounds are the atoms: planned, run, gated, recorded and kept or discarded as
// a whole. A window begins and ends with no request in flight; before its last
// counter reading the harness waits one declared period of the arms (a log's
// flush interval), so work that an arm defers is charged to the requests that
// caused it. Counters are read at those quiet borders, administration
// interfaces only outside them.
//
// There are two ways to fill a round, [Duet] and [Restart]; see [Way].
//
// # What comes out
//
// A [Result] with one [Row] per variant, and a record: a file of JSON lines,
// documented in [Record]. A Result is a pure function of the record, but for
// how long the run took and where its files are; [Analyze] does it again at any
// time.
//
// # What this package does not do
//
// It does not rerun until a row looks right: rounds are discarded only by
// gates that were fixed beforehand, they stay in the record with the reason,
// and earlier attempts of the same experiment in the same directory are
// counted in the row. It does not fall back to a weaker metric or switch a
// gate off by itself.
//
// # Environment
//
//	TARE_RECORD_DIR   where records go (default: tare-records in the working directory)
//	TARE_ENVOY        the Envoy binary to use (see package envoy)
//	TARE_NGINX        the nginx binary to use
//	TARE_REQUIRE      comma-separated things whose absence fails a test instead of skipping it
//	TARE_NO_INSTALL   scripts/test installs nothing when set
//	TARE_KEEP         keep the run directories (rendered configurations, logs) of a run when "1"
//
// TARE_LEDGER, TARE_HELPER and TARE_HELPER_CONFIG are set by the harness in
// the processes that it starts, and are not for users.
package abtest
