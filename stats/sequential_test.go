package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLooks(t *testing.T) {
	l, err := PlanLooks([]int{6, 12, 24}, .05, LateSpending)
	require.NoError(t, err)
	near(t, .05, l.Alphas[0]+l.Alphas[1]+l.Alphas[2], nine)
	// 2−2Φ(1.96/√.25) = .0000887, then at .5: .005575.
	near(t, .0000887, l.Alphas[0], 2e-3)
	near(t, .0055746-.0000887, l.Alphas[1], 2e-3)
	_, err = PlanLooks([]int{12, 12}, 0, "")
	require.Error(t, err)
	var oe *OptionError
	require.ErrorAs(t, err, &oe)
}

func TestSecondLookAtTheSameRoundsIsUnplanned(t *testing.T) {
	l, err := PlanLooks([]int{12, 24}, 0, "")
	require.NoError(t, err)
	r, err := l.Review([]Look{{Rounds: 12, P: .9}, {Rounds: 12, P: .001}})
	require.NoError(t, err)
	require.Equal(t, 1, r.Unplanned)
	require.False(t, r.Reject)
	near(t, .025, r.Spent, nine)
}
