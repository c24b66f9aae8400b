package gate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpread(t *testing.T) {
	w := func(ns ...int64) []WorkerTime {
		var list []WorkerTime
		for i, n := range ns {
			list = append(list, WorkerTime{Name: string(rune('a' + i)), RunNanoseconds: n})
		}
		return list
	}
	for _, c := range []struct {
		workers []WorkerTime
		want    int
		status  Status
	}{
		{w(5), 1, StatusPass}, {w(0), 1, StatusPass},
		{w(32, 28, 20, 20), 4, StatusPass}, {w(33, 27, 20, 20), 4, StatusFail}, {w(100, 0, 0, 0), 4, StatusFail},
		{w(1, 1), 4, StatusFail}, {w(1), 4, StatusFail}, {w(1, 1), 0, StatusCannotTell}, {nil, 2, StatusCannotTell},
		{w(0, 0), 2, StatusCannotTell}, {w(2, -1), 2, StatusCannotTell},
	} {
		require.Equal(t, c.status, Spread(Thresholds{}, SpreadEvidence{Workers: c.workers, Want: c.want}).Status, "%+v", c)
	}
	require.Equal(t, "one worker, nothing to spread", Spread(Thresholds{}, SpreadEvidence{Workers: w(5), Want: 1}).Got)
	require.Equal(t, "a did 33.0%", Spread(Thresholds{}, SpreadEvidence{Workers: w(33, 27, 20, 20), Want: 4}).Got)
}

func TestWholeWindow(t *testing.T) {
	ok := WholeWindowEvidence{Metric: "cycles", EnabledNanoseconds: 1e9, RunningNanoseconds: 1e9, Coverage: 1}
	require.Equal(t, StatusPass, WholeWindow(Thresholds{}, ok).Status)
	change := func(f func(*WholeWindowEvidence)) Status {
		e := ok
		f(&e)
		return WholeWindow(Thresholds{}, e).Status
	}
	require.Equal(t, StatusFail, change(func(e *WholeWindowEvidence) { e.RunningNanoseconds = 999_700_000 }), "99.97% is not the whole window")
	require.Equal(t, StatusFail, change(func(e *WholeWindowEvidence) { e.Coverage = 0.96 }))
	require.Equal(t, StatusFail, change(func(e *WholeWindowEvidence) { e.Coverage = 1.05 }))
	require.Equal(t, StatusPass, change(func(e *WholeWindowEvidence) { e.Coverage, e.StealShare = 1.05, 0.03 }))
	require.Equal(t, StatusFail, change(func(e *WholeWindowEvidence) { e.Error = "pinned counter lost its place" }))
	require.Equal(t, StatusCannotTell, change(func(e *WholeWindowEvidence) { e.EnabledNanoseconds, e.RunningNanoseconds = 0, 0 }))
	require.Equal(t, StatusCannotTell, change(func(e *WholeWindowEvidence) { e.Coverage = 0 }))
	require.Equal(t, StatusCannotTell, WholeWindow(Thresholds{}, WholeWindowEvidence{}).Status)
	require.Equal(t, StatusPass, WholeWindow(Thresholds{}, WholeWindowEvidence{Metric: "cpu-time"}).Status)
	require.Equal(t, StatusFail, WholeWindow(Thresholds{}, WholeWindowEvidence{Metric: "cpu-time", EnabledNanoseconds: 2, RunningNanoseconds: 1}).Status)
}

func TestIdleStates(t *testing.T) {
	none := map[string]string{"driver": "none"}
	require.Equal(t, StatusPass, IdleStates(Thresholds{}, IdleStatesEvidence{Start: none, End: none}).Status)
	start := map[string]string{"driver": "intel_idle", "cpu1/state2": "C6 disabled false"}
	end := map[string]string{"driver": "intel_idle", "cpu1/state2": "C6 disabled true"}
	r := IdleStates(Thresholds{}, IdleStatesEvidence{Start: start, End: end})
	require.Equal(t, StatusFail, r.Status)
	require.Equal(t, `cpu1/state2 was "C6 disabled false" and is "C6 disabled true"`, r.Cause)
	require.Equal(t, StatusFail, IdleStates(Thresholds{}, IdleStatesEvidence{Start: none, End: start}).Status)
	require.Equal(t, StatusFail, IdleStates(Thresholds{}, IdleStatesEvidence{Start: start, End: map[string]string{"driver": "intel_idle"}}).Status)
	require.Equal(t, StatusCannotTell, IdleStates(Thresholds{}, IdleStatesEvidence{}).Status)
	require.Equal(t, StatusCannotTell, IdleStates(Thresholds{}, IdleStatesEvidence{Start: none, End: none, Error: "x"}).Status)
}

func TestPinning(t *testing.T) {
	require.Equal(t, StatusPass, Pinning(Thresholds{}, PinningEvidence{Checked: 3}).Status)
	require.Equal(t, StatusCannotTell, Pinning(Thresholds{}, PinningEvidence{}).Status)
	require.Equal(t, StatusCannotTell, Pinning(Thresholds{}, PinningEvidence{Checked: 3, Error: "x"}).Status)
	r := Pinning(Thresholds{}, PinningEvidence{Checked: 3, Error: "x", Violations: []string{"a", "b", "c", "d"}})
	require.Equal(t, StatusFail, r.Status)
	require.Equal(t, "a; b; c; and 1 more", r.Cause)
}

func TestIdentity(t *testing.T) {
	ok := IdentityEvidence{WantDigest: "aa", GotDigest: "aa", WantBuildType: "RELEASE", BuildType: "RELEASE", WantFlags: []string{"-c", "x"}, GotFlags: []string{"-c", "x"}}
	require.Equal(t, StatusPass, Identity(Thresholds{}, ok).Status)
	change := func(f func(*IdentityEvidence)) Status {
		e := ok
		f(&e)
		return Identity(Thresholds{}, e).Status
	}
	require.Equal(t, StatusFail, change(func(e *IdentityEvidence) { e.GotDigest = "bb" }))
	require.Equal(t, StatusFail, change(func(e *IdentityEvidence) { e.BuildType = "DEBUG" }))
	require.Equal(t, StatusFail, change(func(e *IdentityEvidence) { e.GotFlags = []string{"-c", "y"} }))
	require.Equal(t, StatusFail, change(func(e *IdentityEvidence) { e.GotFlags = nil }))
	require.Equal(t, StatusCannotTell, change(func(e *IdentityEvidence) { e.BuildType = "" }))
	require.Equal(t, StatusCannotTell, change(func(e *IdentityEvidence) { e.GotDigest = "" }))
	require.Equal(t, StatusCannotTell, change(func(e *IdentityEvidence) { e.Error = "x" }))
	require.Equal(t, StatusPass, change(func(e *IdentityEvidence) { e.WantBuildType, e.BuildType = "", "" }))
}
