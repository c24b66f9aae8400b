package gate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRate(t *testing.T) {
	e := RateEvidence{Arm: "off", WantPerSecond: 1000, Completed: 3000, WindowNanoseconds: 3e9}
	require.Equal(t, StatusPass, Rate(Thresholds{}, e).Status)
	for completed, want := range map[int64]Status{2970: StatusPass, 2969: StatusFail, 3030: StatusPass, 3031: StatusFail, 0: StatusFail} {
		e.Completed = completed
		require.Equal(t, want, Rate(Thresholds{}, e).Status, "%d", completed)
	}
	// A rate that the generator cannot reach.
	r := Rate(Thresholds{}, RateEvidence{Arm: "off", WantPerSecond: 1e6, Completed: 60000, WindowNanoseconds: 1e9, Sent: 60000, Overflow: 940000, GeneratorBusy: 0.997})
	require.Equal(t, StatusFail, r.Status)
	require.Equal(t, "the generator could not send 940000 arrivals in time (its CPUs were 99.7% busy)", r.Cause)
	require.Equal(t, "60000.0/s (-94.00%)", r.Got)

	for _, e := range []RateEvidence{
		{}, {WantPerSecond: math.NaN(), WindowNanoseconds: 1}, {WantPerSecond: -1, WindowNanoseconds: 1},
		{WantPerSecond: math.Inf(1), WindowNanoseconds: 1}, {WantPerSecond: 1}, {WantPerSecond: 1, WindowNanoseconds: 1, Completed: -1},
	} {
		require.Equal(t, StatusCannotTell, Rate(Thresholds{}, e).Status, "%+v", e)
	}
}

func TestOverflow(t *testing.T) {
	require.Equal(t, StatusPass, Overflow(Thresholds{}, OverflowEvidence{Scheduled: 10}).Status)
	r := Overflow(Thresholds{}, OverflowEvidence{Scheduled: 10, Overflow: 1, Reason: "all 32 connections had a request in flight"})
	require.Equal(t, StatusFail, r.Status)
	require.Equal(t, "1 of 10", r.Got)
	require.Equal(t, "all 32 connections had a request in flight", r.Cause)
	require.Equal(t, StatusCannotTell, Overflow(Thresholds{}, OverflowEvidence{}).Status, "no account is not a good account")
}

func TestFailures(t *testing.T) {
	require.Equal(t, StatusPass, Failures(Thresholds{}, FailuresEvidence{Sent: 5, Completed: 5}).Status)
	for _, e := range []FailuresEvidence{
		{Sent: 5, Completed: 4, Failed: 1}, {Sent: 5, Completed: 4, InFlightAtEnd: 1}, {Sent: 5, Completed: 5, ClosedConnections: 1},
	} {
		require.Equal(t, StatusFail, Failures(Thresholds{}, e).Status, "%+v", e)
	}
	r := Failures(Thresholds{}, FailuresEvidence{Sent: 5, Completed: 2, Failed: 3, Kinds: map[string]int64{"timeout": 2, "status": 1}})
	require.Equal(t, "status: 1, timeout: 2", r.Cause)
	for _, e := range []FailuresEvidence{{}, {Sent: 5, Completed: 4}, {Sent: 5, Completed: 6}, {Sent: 5, Completed: 6, Failed: -1}} {
		require.Equal(t, StatusCannotTell, Failures(Thresholds{}, e).Status, "%+v", e)
	}
}

func TestServed(t *testing.T) {
	count := func(n int64) *int64 { return &n }
	require.Equal(t, StatusPass, Served(Thresholds{}, ServedEvidence{Completed: 7, Served: count(7)}).Status)
	more := Served(Thresholds{}, ServedEvidence{Completed: 7, Served: count(8)})
	require.Equal(t, StatusFail, more.Status)
	require.Contains(t, more.Cause, "1 requests reached the proxy that the generator did not complete")
	fewer := Served(Thresholds{}, ServedEvidence{Completed: 7, Served: count(0), Stat: "rq_total"})
	require.Equal(t, StatusFail, fewer.Status)
	require.Contains(t, fewer.Cause, "another process listens on its port")
	absent := Served(Thresholds{}, ServedEvidence{Completed: 7, Stat: "rq_total"})
	require.Equal(t, StatusCannotTell, absent.Status, "an absent count is not zero")
	require.Contains(t, absent.Cause, "rq_total is absent")
	require.Equal(t, StatusCannotTell, Served(Thresholds{}, ServedEvidence{Served: count(0)}).Status, "nothing served and nothing asked shows nothing")
}
