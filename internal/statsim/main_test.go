package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// shortErrors is the slack of a promised line, beside one point, in Monte Carlo standard
// errors under its nominal value.
const shortErrors = 5

// TestShort runs every section at a fifth of the size or less. The seed is fixed,
// so that it fails only when the code changes. Were the seed free, a promised line
// whose truth is its nominal value would have to miss by a point and 5 standard
// errors: by the exact binomial tail below 1e-6 for each, and so below 1e-3 for
// all of the hundreds of lines of a run.
func TestShort(t *testing.T) {
	for _, s := range sections {
		t.Run(s.name, func(t *testing.T) {
			reps := map[string]int{"rounds": 1600, "arms": 400, "blocks": 800, "families": 800, "sessions": 800, "floors": 2000}[s.name]
			if reps == 0 {
				reps = 4000
			}
			tab := &table{title: s.title}
			s.run(tab, reps, 1)
			require.NotEmpty(t, tab.lines)
			require.Zero(t, tab.broken(shortErrors), "promised lines are off:\n%s", tab)
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
	require.NotZero(t, tab.broken(shortErrors))
}

// What a line is held against does not depend on what came out: a line far off
// would have another error than its nominal value, and could be excused by it.
func TestSlackIsTheNominalValues(t *testing.T) {
	off := &line{nominal: 95, promise: exact, reps: 400, hits: 400 * 88 / 100}
	require.InDelta(t, 1.09, off.nullSE(), .005)
	require.Equal(t, "OFF", off.mark(shortErrors))
	power := &line{nominal: 80, promise: exact, reps: 400, hits: 400}
	require.Equal(t, "careful", power.mark(shortErrors))
}
