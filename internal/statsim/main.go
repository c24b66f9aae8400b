// Command statsim measures, by simulation with known truth, how often the
// intervals of package stats cover and its tests err:
//
//	go run ./internal/statsim                 all tables, some minutes on one core
//	go run ./internal/statsim -only rounds    one section
//	go run ./internal/statsim -reps 2000      quicker and coarser
//
// Every line gives the nominal value, what was found in percent, its Monte Carlo
// standard error, and a mark: "ok" within one point (and one standard error, that
// of the nominal value) of the nominal value, "careful" on the safe side of it (covers more, errs less), "OFF" on
// the unsafe side. Lines that theory promises are marked with a star; the
// command fails when one of them is OFF or, for a two-sided promise, careful.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
)

func main() {
	reps := flag.Int("reps", 20000, "repetitions per line; costly lines take a half to a twentieth of it")
	seed := flag.Uint64("seed", 1, "seed")
	only := flag.String("only", "", "comma-separated sections: "+strings.Join(sectionNames(), ", "))
	flag.Parse()
	runtime.GOMAXPROCS(1)
	bad := 0
	for _, s := range sections {
		if *only != "" && !contains(strings.Split(*only, ","), s.name) {
			continue
		}
		t := &table{title: s.title}
		s.run(t, *reps, *seed)
		fmt.Println(t)
		bad += t.broken(markErrors)
	}
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
	{"arms", "Two arms with noise of their own: Fieller, order term, equivalence, budget", armsSection},
	{"blocks", "Blocks of 4 rounds between restarts, restart SD equal to round SD", blocksSection},
	{"families", "Nine rows against one baseline", familiesSection},
	{"sessions", "k sessions of n rounds, round SD 1%", sessionsSection},
	{"floors", "A new A/A session of 12 rounds (round SD 1%) above the floor", floorsSection},
	{"plans", "Power as planned, looks as planned, comparisons, histories, slopes", plansSection},
	{"verdicts", "Verdicts on rows without any effect, 12 rounds, round SD 1%, spread 0.34%", verdictsSection},
}

// markErrors is the slack of a mark in Monte Carlo standard errors.
const markErrors = 1

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
