package abtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/stats"
)

func orders(p Plan) [][]int {
	var o [][]int
	for _, r := range p.Schedule {
		o = append(o, r.Order)
	}
	return o
}

func TestRestartPlanIsBalanced(t *testing.T) {
	for arms := 2; arms <= 6; arms++ {
		e := Experiment{Way: Restart, Rounds: 12, Window: 4 * time.Second}
		p := newPlan(e, arms, 0, 1)
		require.GreaterOrEqual(t, p.Rounds, 12)
		require.Len(t, p.Schedule, p.Rounds)
		b, err := stats.CheckBalance(orders(p))
		require.NoError(t, err)
		require.True(t, b.Runs && b.Places, "%d arms: %+v", arms, b)
		if arms > 2 { // A-B-B-A has a B after a B
			require.True(t, b.Neighbours, "%d arms: %+v", arms, b)
		}
	}
}

func TestRestartWindowIsWholePeriods(t *testing.T) {
	p := newPlan(Experiment{Way: Restart, Rounds: 2, Window: 2500 * time.Millisecond}, 2, time.Second, 1)
	require.Equal(t, 3*time.Second, p.Window)
	require.Greater(t, p.Settle, time.Second)
}

// TestDuetPlan: every other arm meets the baseline once a round, in an order
// that the seed decides, and blocks share the rounds evenly.
func TestDuetPlan(t *testing.T) {
	e := Experiment{Way: Duet, Rounds: 25, Window: 3 * time.Second}
	p := newPlan(e, 4, 0, 7)
	require.Equal(t, orders(p), orders(newPlan(e, 4, 0, 7)))
	require.NotEqual(t, orders(p), orders(newPlan(e, 4, 0, 8)))
	first := map[int]int{}
	for _, o := range orders(p) {
		require.ElementsMatch(t, []int{1, 2, 3}, o)
		first[o[0]]++
	}
	require.Len(t, first, 3)
	total := 0
	for _, n := range p.Blocks {
		total += n
		require.Contains(t, []int{2, 3}, n)
	}
	require.Equal(t, 25, total)
	require.Len(t, p.Blocks, 12)
}

func TestPlanDurationCoversItsWindows(t *testing.T) {
	p := newPlan(Experiment{Way: Restart, Rounds: 12, Window: 4 * time.Second, Warmup: 2 * time.Second}, 2, time.Second, 1)
	require.Greater(t, p.Duration(), 48*(4+2+1+1)*time.Second)
	require.Less(t, p.Duration(), 2*48*(4+2+1+1)*time.Second)
}
