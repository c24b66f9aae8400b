package main

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/abtest"
	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/loadgen"
)

func TestMain(m *testing.M) { abtest.Main(m) }

// The experiment of examples/quickstart with the default metric, cycles, as a
// smoke: processes, load, rounds, gates, record and rows, with hardware counters
// in them. A given rate and large bodies, because half a second of this slow
// machine must hold enough CPU time for the coverage check.
func TestPMUQuickstart(t *testing.T) {
	var err error
	if os.Getenv("TARE_PMU_MACHINE") != "1" {
		err = errors.New("TARE_PMU_MACHINE is not 1: run scripts/pmu-test")
	}
	need.Skip(t, "emulated pmu", err)
	const (
		flush = 250 * time.Millisecond
		rate  = 160
	)
	r := abtest.Run(t, abtest.Experiment{
		Baseline:  abtest.Arm{Name: "no log", Target: abtest.EmbeddedProxy{FlushInterval: flush}},
		Variants:  []abtest.Arm{{Name: "text log", Target: abtest.EmbeddedProxy{FlushInterval: flush, AccessLog: "text"}}},
		Origin:    abtest.EmbeddedOrigin{BodySize: 256 << 10},
		Load:      loadgen.Spec{Path: "/", Rate: rate},
		RecordDir: t.TempDir(),
	})
	require.True(t, r.Complete)
	require.Equal(t, counters.Cycles, r.Session.Metric)
	require.NotEmpty(t, r.Rows)
	for _, row := range r.Rows {
		require.Empty(t, row.Err)
		// A cycle is a nanosecond here, so a request's cycles are also what the
		// scheduler says that it took, at 1 GHz.
		require.InEpsilon(t, row.BaselineBusy*1e9/rate, row.BaselineCost, 0.1)
		require.InEpsilon(t, row.VariantBusy*1e9/rate, row.VariantCost, 0.1)
	}
}
