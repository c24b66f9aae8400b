package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// chance is the probability below which a promised line is called off: that of
// what was found, or worse, if the truth were a whole point beyond the nominal
// value. The limits follow from it by the exact binomial tail, whatever the
// number of repetitions.
const chance = 1e-9

// TestShort runs every section at a small part of its size. The seed is fixed, so
// that it fails only when the code changes. Were the seed free, each promised line
// whose truth is within a point of its nominal value would fail with a probability
// below 1e-9 on either side, and a run, of less than 2,000 promised lines, with one
// below 4e-6, with the race detector and without it.
func TestShort(t *testing.T) {
	promises := 0
	for _, s := range sections {
		t.Run(s.name, func(t *testing.T) {
			reps := map[string]int{
				"rounds": 600, "arms": 400, "blocks": 400, "families": 300, "sessions": 400,
				"report": 80, "verdicts": 500, "floors": 800, "spreads": 1200,
			}[s.name]
			if reps == 0 {
				reps = 2000
			}
			tab := &table{title: s.title}
			s.run(tab, reps/share, 1)
			require.NotEmpty(t, tab.lines)
			require.Empty(t, strings.Join(tab.improbable(chance), "\n"), "promised lines are off")
			for _, l := range tab.lines {
				if l.promise != none {
					promises++
				}
			}
		})
	}
	require.Less(t, promises, 2000)
	require.Greater(t, promises, 500)
}

// The check itself can fail: intervals known to be too short are seen.
func TestShortIntervalsAreSeen(t *testing.T) {
	tab := &table{}
	blocksSection(tab, 800/share+200, 2)
	l := tab.at("t over rounds (pseudo-replication)", "normal", 12, 0, 95, none, false)
	require.Equal(t, "OFF", l.mark(3))
	require.Empty(t, tab.improbable(chance))
	l.promise = exact
	require.Len(t, tab.improbable(chance), 1)
	require.NotZero(t, tab.broken(markErrors))
}

// What a line is held against does not depend on what came out: a line far off
// would have another error than its nominal value, and could be excused by it.
func TestSlackIsTheNominalValues(t *testing.T) {
	off := &line{nominal: 95, promise: exact, reps: 400, hits: 400 * 88 / 100}
	require.InDelta(t, 1.09, off.nullSE(), .005)
	require.Equal(t, "OFF", off.mark(5))
	power := &line{nominal: 80, promise: exact, reps: 400, hits: 400}
	require.Equal(t, "careful", power.mark(5))
}

// The exact tails, on cases that can be counted.
func TestBinomialTails(t *testing.T) {
	require.InDelta(t, 11.0/1024, atMostHits(1, 10, .5), 1e-12)
	require.InDelta(t, 11.0/1024, atLeastHits(9, 10, .5), 1e-12)
	require.Equal(t, 1.0, atLeastHits(0, 10, .05))
	require.InDelta(t, 1e-10, atLeastHits(10, 10, .1), 1e-20)
	require.Equal(t, 1.0, atMostHits(10, 10, .1))
	lines := func(hits int, p promise, isError bool) int {
		return len((&table{lines: []*line{{nominal: 5, reps: 1000, hits: hits, promise: p, isError: isError}}}).improbable(chance))
	}
	require.Equal(t, 0, lines(50, exact, true))
	require.Equal(t, 0, lines(100, exact, true), "6% may give 10% of 1,000: 4e-7")
	require.Equal(t, 1, lines(120, exact, true))
	require.Equal(t, 1, lines(0, exact, true), "4% does not give none")
	require.Equal(t, 0, lines(0, atMost, true))
	require.Equal(t, 1, lines(0, atLeast, false))
	require.Equal(t, 0, lines(500, atLeast, false))
	require.Equal(t, 0, lines(120, none, true))
}

// A name with bars stays in its column.
func TestBarsAreEscaped(t *testing.T) {
	tab := &table{title: "x"}
	tab.at("|A/A| + half-width", "normal", 12, 1, 5, none, true).count(true)
	for _, s := range []string{tab.String(), shortfalls([]*table{tab})} {
		require.Contains(t, s, `| \|A/A\| + half-width |`)
	}
}
