package abtest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/loadgen"
	"github.com/tareperf/tare/stats"
)

// made is a record whose arms cost what cost says, by round and run.
func made(way Way, arms []ArmRecord, rounds int, cost func(round int, arm string, run int) float64) Record {
	r := Record{
		Session: Session{Name: "made", Arms: arms, Plan: Plan{Way: way, Rounds: rounds}, Metric: counters.CPUTime},
		Pilot:   &Pilot{Rate: 1000}, End: &End{Complete: true},
	}
	sample := func(round int, arm string, run int) Sample {
		const completed = 1000
		return Sample{Arm: arm, Position: run, Busy: 0.3,
			Load: loadgen.TargetReport{Counts: loadgen.Counts{Completed: completed}},
			Cost: counters.Delta{Metric: counters.CPUTime, Value: completed * cost(round, arm, run)}}
	}
	for i := range rounds {
		round := RoundRecord{Index: i, Block: i / 2, Attempt: 1, Kept: true}
		if way == Duet {
			for run, other := range arms[1:] {
				round.Runs = append(round.Runs, RunRecord{Samples: []Sample{sample(i, arms[0].Name, run), sample(i, other.Name, run)}})
			}
		} else {
			for run, arm := range []string{arms[0].Name, arms[1].Name, arms[1].Name, arms[0].Name} {
				round.Runs = append(round.Runs, RunRecord{Samples: []Sample{sample(i, arm, run)}})
			}
			round.Block = 0
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

var threeArms = []ArmRecord{{Name: "A", Baseline: true, SHA256: "x"}, {Name: "B", SHA256: "x"}, {Name: "P", Placebo: true, SHA256: "x"}}

// wobble is small noise that differs by round and arm.
func wobble(round int, arm string) float64 {
	return float64((round*7+int(arm[0])*13)%11-5) * 0.0002
}

// TestDuetKnownAnswer: B costs 5% more than the baseline it met, whatever the
// level of the minute; the baseline that met the placebo must not be mixed in.
func TestDuetKnownAnswer(t *testing.T) {
	r := made(Duet, threeArms, 12, func(round int, arm string, run int) float64 {
		level := 100e3 * float64(1+round%3) * float64(1+run) // the machine changes, between windows too
		if arm == "B" {
			level *= 1.05
		}
		return level * (1 + wobble(round, arm))
	})
	result, err := Analyze(r)
	require.NoError(t, err)
	require.Len(t, result.Rows, 1)
	row := result.Rows[0]
	require.Equal(t, 12, row.Estimate.N)
	require.Equal(t, 6, row.Estimate.Blocks.Count)
	change, interval := row.Change()
	require.InDelta(t, 5, change, 0.1)
	require.True(t, interval.Contains(change))
	require.Equal(t, stats.Finding, row.Verdict.Kind, row.Verdict.Text)
	require.NotNil(t, result.Placebo)
	require.Greater(t, row.Floor, 0.0)
	require.Less(t, row.Floor, 0.2)
	require.Contains(t, result.Text(), "+5.0")
}

// TestRestartKnownAnswer: A-B-B-A cancels a linear drift exactly.
func TestRestartKnownAnswer(t *testing.T) {
	r := made(Restart, threeArms[:2], 12, func(round int, arm string, run int) float64 {
		cost := 100e3 + 1000*float64(run) + 50*float64(round%5)
		if arm == "B" {
			cost += 2000
		}
		return cost * (1 + wobble(round, arm))
	})
	result, err := Analyze(r)
	require.NoError(t, err)
	row := result.Rows[0]
	change, _ := row.Change()
	require.InDelta(t, 2000/101.5e3*100, change, 0.1)
	require.InDelta(t, 2000, row.Difference.Mean, 150)
	require.Equal(t, stats.NotAFinding, row.Verdict.Kind, "there is no floor: %s", row.Verdict.Text)
}

// TestFailedRoundsStayBeside: what the gates threw away is not in the estimate,
// is in the one beside it, and voids a row that it decides.
func TestFailedRoundsStayBeside(t *testing.T) {
	r := made(Duet, threeArms, 12, func(round int, arm string, run int) float64 {
		cost := 100e3
		if arm == "B" {
			cost *= 1.05
		}
		return cost * (1 + wobble(round, arm))
	})
	clean, err := Analyze(r)
	require.NoError(t, err)
	require.Nil(t, clean.Rows[0].WithFailed)

	for i := range 6 {
		failed := r.Rounds[i]
		failed.Kept = false
		failed.Runs = append([]RunRecord(nil), failed.Runs...)
		samples := append([]Sample(nil), failed.Runs[0].Samples...)
		samples[1].Cost.Value *= 0.8
		failed.Runs[0].Samples = samples
		failed.Gates = gate.Results{{Gate: gate.NameForeignDuring, Status: gate.StatusFail}}
		r.Rounds = append(r.Rounds, failed)
	}
	result, err := Analyze(r)
	require.NoError(t, err)
	row := result.Rows[0]
	require.Equal(t, clean.Rows[0].Estimate.Mean, row.Estimate.Mean)
	require.NotNil(t, row.WithFailed)
	require.Less(t, row.WithFailed.Mean, 1.0)
	require.Equal(t, stats.Invalid, row.Verdict.Kind, row.Verdict.Text)
	require.Equal(t, 6, result.Failed)
}

// TestIncompleteIsInvalid: no number comes out of an unfinished session.
func TestIncompleteIsInvalid(t *testing.T) {
	r := made(Duet, threeArms, 12, func(round int, arm string, _ int) float64 { return 100e3 * (1 + wobble(round, arm)) })
	r.End = nil
	result, err := Analyze(r)
	require.NoError(t, err)
	require.Equal(t, stats.Invalid, result.Rows[0].Verdict.Kind)
	require.Contains(t, result.Rows[0].Verdict.Text, "not complete")
}

// TestExperimentMarshals: an experiment is the first line of its record, with
// type tags, and one that asks the same has the same fingerprint.
func TestExperimentMarshals(t *testing.T) {
	e := small(t)
	e, err := e.withDefaults()
	require.NoError(t, err)
	first, question, text, err := fingerprints(e)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(text, &m))
	require.Equal(t, "embedded origin", m["Origin"].(map[string]any)["kind"])
	require.Equal(t, "embedded proxy", m["Baseline"].(map[string]any)["Target"].(map[string]any)["kind"])

	e.Seed, e.RecordDir, e.Resume = 99, "elsewhere", ResumeMust
	same, _, _, err := fingerprints(e)
	require.NoError(t, err)
	require.Equal(t, first, same)
	e.Rounds++
	other, still, _, err := fingerprints(e)
	require.NoError(t, err)
	require.NotEqual(t, first, other)
	require.Equal(t, question, still, "more rounds are another attempt at the same question")
	e.Load.Rate++
	_, another, _, err := fingerprints(e)
	require.NoError(t, err)
	require.NotEqual(t, question, another)
}
