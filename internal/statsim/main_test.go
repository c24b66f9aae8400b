package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShort runs every section at a fiftieth of the size or so. The seed is fixed, so
// that it fails only when the code changes. Were the seed free, a promised line
// whose truth is its nominal value would have to miss by a point and 6.5
// Monte Carlo standard errors: about 1e-10 each, below 1e-7 for all lines of a run.
func TestShort(t *testing.T) {
	for _, s := range sections {
		t.Run(s.name, func(t *testing.T) {
			reps := map[string]int{"rounds": 400, "arms": 400, "blocks": 400, "families": 200, "sessions": 240}[s.name]
			if reps == 0 {
				reps = 1600
			}
			tab := &table{title: s.title}
			s.run(tab, reps, 1)
			require.NotEmpty(t, tab.lines)
			require.Zero(t, tab.broken(6.5), "promised lines are off:\n%s", tab)
		})
	}
}

// The check itself can fail: intervals known to be too short are seen.
func TestShortIntervalsAreSeen(t *testing.T) {
	tab := &table{}
	blocksSection(tab, 800, 2)
	l := tab.at("t over rounds (pseudo-replication)", "normal", 12, 0, 95, none, false)
	require.Equal(t, "OFF", l.mark(3))
	l.promise = exact
	require.NotZero(t, tab.broken(6.5))
}
