// Command statsim measures, by simulation with known truth, how often the
// intervals of package stats cover and its tests err:
//
//	go run ./internal/statsim > internal/statsim/results.md    all tables, eight minutes on one core
//	go run ./internal/statsim -only rounds                     one section
//	go run ./internal/statsim -reps 2000                       quicker and coarser
//
// n is the number of rounds (of blocks, where there are blocks), k that of
// sessions. Every line gives the nominal value, what was found in percent, its
// Monte Carlo standard error, and a mark: "ok" within one point (and two standard
// errors, those of the nominal value) of the nominal value, "careful" on the safe
// side of it (covers more, errs less), "OFF" on the unsafe side. Lines that theory
// promises are marked with a star; the command fails when one of them is OFF or,
// for a two-sided promise, careful. All lines that are OFF are listed once more at
// the end.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

func main() {
	reps := flag.Int("reps", 10000, "repetitions per line; costly lines take a half to a twentieth of it")
	seed := flag.Uint64("seed", 1, "seed")
	only := flag.String("only", "", "comma-separated sections: "+strings.Join(sectionNames(), ", "))
	flag.Parse()
	runtime.GOMAXPROCS(1)
	fmt.Print("# Measured coverage and error rates of package stats\n\n")
	fmt.Printf("Output of `go run ./internal/statsim` (%d repetitions, seed %d; %s, %s/%s). What columns and marks mean: `go doc ./internal/statsim`.\n\n",
		*reps, *seed, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	bad := 0
	var done []*table
	for _, s := range sections {
		if *only != "" && !contains(strings.Split(*only, ","), s.name) {
			continue
		}
		began := time.Now()
		t := &table{title: s.title}
		s.run(t, *reps, *seed)
		fmt.Println(t)
		fmt.Fprintf(os.Stderr, "%s: %d lines, %.0f s\n", s.name, len(t.lines), time.Since(began).Seconds())
		bad += t.broken(markErrors)
		for _, l := range t.lines {
			if l.wrong(l.mark(markErrors)) {
				fmt.Fprintln(os.Stderr, "promised, and off:", l)
			}
		}
		done = append(done, t)
	}
	fmt.Print(shortfalls(done))
	if bad > 0 {
		fmt.Fprintf(os.Stderr, "%d promised lines are off\n", bad)
		os.Exit(1)
	}
}

type section struct {
	name, title string
	run         func(t *table, reps int, seed uint64)
}

var sections = []section{
	{"rounds", "Rounds of one row: round SD 1.5%, true change +2% (0 for tests)", roundsSection},
	{"arms", "Two arms with noise of their own: Fieller, order, drift, gaps, equivalence, budget", armsSection},
	{"blocks", "Blocks of 4 rounds between restarts, restart SD equal to round SD", blocksSection},
	{"families", "Nine rows against one baseline", familiesSection},
	{"sessions", "k sessions of n rounds, round SD 1%, spread 0.34% where not said otherwise", sessionsSection},
	{"spreads", "The rig's own library: 6 rows of k sessions for the spread, k A/A sessions for the bias", spreadsSection},
	{"floors", "A new A/A session of n rounds (round SD 1%) above the floor from k A/A sessions", floorsSection},
	{"plans", "Power as planned, looks as planned, comparisons, histories", plansSection},
	{"load", "Slope of cost against load at three rates of n rounds, and the bound from it", loadSection},
	{"discards", "Discards: each arm fails a tenth of its rounds", discardsSection},
	{"verdicts", "Verdicts over k sessions of n rounds, round SD 1%", verdictsSection},
	{"report", "Whole reports: nine rows against one baseline, k sessions of n rounds, one row at +5% where said", reportSection},
}

// markErrors is the slack of a mark in Monte Carlo standard errors.
const markErrors = 2

func sectionNames() (n []string) {
	for _, s := range sections {
		n = append(n, s.name)
	}
	return n
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if strings.TrimSpace(v) == s {
			return true
		}
	}
	return false
}
