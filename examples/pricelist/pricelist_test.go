package pricelist

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tareperf/tare/abtest"
	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/loadgen"
	"github.com/tareperf/tare/stats"
)

func TestMain(m *testing.M) { abtest.Main(m) }

// release is the one that these rows are priced on.
const release = "1.40.0"

// proxied is Envoy in front of the origin.
func proxied(changes ...envoy.Change) envoy.Proxy {
	return envoy.Proxy{Version: release, Bootstrap: envoy.MustParse(bootstrap).With(changes...)}
}

// row is what the rows have in common: 4 KB proxied over HTTP/1.1.
func row(way abtest.Way) abtest.Experiment {
	return abtest.Experiment{
		Way:    way,
		Origin: abtest.Nginx{BodySize: 4096},
		Load:   loadgen.Spec{Path: "/4k", Expect: loadgen.Expect{BodyBytes: 4096}},
		Metric: metric(),
	}
}

// metric is cycles where there is a PMU; elsewhere these examples choose CPU
// time, by name, and every row says so.
func metric() counters.Metric {
	if errors.Is(counters.Probe(counters.Cycles), counters.ErrNotSupported) {
		return counters.CPUTime
	}
	return counters.Cycles
}

// TestAccessLog prices no log, the default text format and JSON against each
// other, in a duet and then, at the same rate for each arm, with a fresh
// process for each run. It prints by how much the two ways differ.
func TestAccessLog(t *testing.T) {
	results := map[abtest.Way]abtest.Result{}
	for _, way := range []abtest.Way{abtest.Duet, abtest.Restart} {
		t.Run(string(way), func(t *testing.T) {
			e := row(way)
			e.Baseline = abtest.Arm{Name: "no log", Target: proxied()}
			e.Variants = []abtest.Arm{
				{Name: "text log", Target: proxied(envoy.FileAccessLog("access.log"))},
				{Name: "JSON log", Target: proxied(envoy.JSONAccessLog("access.log", nil))},
			}
			if duet, ok := results[abtest.Duet]; ok {
				e.Load.Rate = duet.Rate
			}
			abtest.Need(t, e)
			results[way] = abtest.Run(t, e)
		})
	}
	compareWays(t, results)
}

// compareWays prints the difference between the ways, row by row.
func compareWays(t *testing.T, results map[abtest.Way]abtest.Result) {
	duet, restart := results[abtest.Duet], results[abtest.Restart]
	if len(duet.Rows) != len(restart.Rows) {
		t.Logf("the ways cannot be compared: %d rows in a duet, %d with restarts", len(duet.Rows), len(restart.Rows))
		return
	}
	for i, d := range duet.Rows {
		c, err := stats.Compare(d.Estimate.Effect(), restart.Rows[i].Estimate.Effect(), 0.95)
		if err != nil {
			t.Logf("%s: the ways cannot be compared: %v", d.Arm, err)
			continue
		}
		word := "not resolved"
		if c.Resolved {
			word = "resolved: the ways measure different conditions"
		}
		fmt.Fprintf(t.Output(), "%s: restart minus duet %+.2f [%+.2f, %+.2f] percentage points, %s\n", d.Arm, c.Difference, c.Interval.Low, c.Interval.High, word)
		for _, row := range []abtest.Row{d, restart.Rows[i]} {
			if row.Verdict.Kind == stats.Invalid {
				t.Errorf("%s: that difference means nothing, a row is invalid: %s", d.Arm, row.Verdict.Text)
			}
		}
	}
}

// TestFloor runs the same configuration against itself: what is left is what
// this rig cannot tell from noise. It fails unless the arms are equivalent
// within a bound that was fixed beforehand.
func TestFloor(t *testing.T) {
	for _, c := range []struct {
		way    abtest.Way
		rounds int
		bound  float64 // percent
	}{
		{abtest.Duet, 25, 0.5},
		{abtest.Restart, 12, 1.5},
	} {
		t.Run(string(c.way), func(t *testing.T) {
			e := row(c.way)
			e.Baseline = abtest.Arm{Name: "A", Target: proxied()}
			e.Variants = []abtest.Arm{{Name: "A again", Target: proxied(), Placebo: true}}
			e.Rounds, e.Equivalence = c.rounds, c.bound
			abtest.Need(t, e)
			result := abtest.Run(t, e)
			v := result.Placebo.Verdict
			if testing.Short() {
				return
			}
			if v.Equivalent == nil {
				t.Fatalf("no test of equivalence: %s", v.Text)
			}
			fmt.Fprintf(t.Output(), "A/A within ±%.2g%%: %v, p %.2g; the smallest bound that these rounds support is %.2f%%\n",
				c.bound, v.Equivalent.Holds, v.Equivalent.P, v.Equivalent.SmallestBound)
			if v.Kind != stats.NoChangeBiggerThan {
				t.Errorf("A/A is not equivalent within ±%.2g%%: %s", c.bound, v.Text)
			}
		})
	}
}
