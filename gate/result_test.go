package gate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResultsFailClosed(t *testing.T) {
	pass, off := Result{Status: StatusPass}, Result{Status: StatusOff, Cause: "because"}
	require.True(t, Results{pass, off}.OK())
	require.False(t, Results{}.OK(), "no result is no answer")
	for _, s := range []Status{StatusFail, StatusCannotTell, "", "something new"} {
		rs := Results{pass, {Gate: "x", Status: s}}
		require.False(t, rs.OK(), "%q", s)
		require.Len(t, rs.Failed(), 1)
	}
	require.Equal(t, Results{off}, Results{pass, off}.Off())
}

func TestOffNeedsAKnownNameAndAReason(t *testing.T) {
	off := Thresholds{Off: map[string]string{NameOverflow: "closed loop"}}
	require.NoError(t, off.Validate())
	r := Overflow(off, OverflowEvidence{})
	require.Equal(t, Result{Gate: NameOverflow, Status: StatusOff, Cause: "closed loop"}, r)
	require.NotEqual(t, StatusOff, Rate(off, RateEvidence{}).Status)

	for _, bad := range []Thresholds{
		{Off: map[string]string{"overflaw": "typo"}},
		{Off: map[string]string{NameOverflow: " "}},
		{RateTolerance: -0.1}, {RateTolerance: math.NaN()}, {HeadroomIdleShare: 1.5},
		{BaselineBusyMin: 0.5}, {CoverageMin: 0.9, CoverageMax: 0.8},
	} {
		require.Error(t, bad.Validate(), "%+v", bad)
		require.Equal(t, StatusCannotTell, Overflow(bad, OverflowEvidence{Scheduled: 1}).Status, "%+v", bad)
	}
	require.ErrorContains(t, Thresholds{Off: map[string]string{"overflaw": "x"}}.Validate(), "the gates are: rate, overflow")
}

func TestResultIsOneLine(t *testing.T) {
	r := Result{Gate: NameRate, Arm: "text", Status: StatusFail, Got: "1/s", Want: "2/s", Cause: "too slow", Fix: "ask for less"}
	require.Equal(t, "gate rate (arm text): fail: got 1/s, want 2/s: too slow; ask for less", r.String())
}
