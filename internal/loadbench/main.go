package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// settings are what the flags say.
type settings struct {
	rounds       int
	length       time.Duration // of a run at a rate
	saturated    time.Duration // of a run without one
	generatorCPU int
	serverCPU    int
	only         string
}

const (
	rate        = 2000.0
	connections = 32
	bodySize    = 1024
	// Of HTTP/2, as many requests in flight as of HTTP/1.1.
	h2Connections = 4
	h2Streams     = 8
)

func main() {
	if role := os.Getenv(roleVariable); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintf(os.Stderr, "loadbench as %s: %v\n", role, err)
			os.Exit(1)
		}
		return
	}
	var s settings
	quick := flag.Bool("quick", false, "few and short runs: a look, no comparison to quote")
	flag.IntVar(&s.rounds, "rounds", 10, "runs of each tool in each comparison, 2 or more")
	flag.DurationVar(&s.length, "length", 2500*time.Millisecond, "of a run at a rate")
	flag.DurationVar(&s.saturated, "saturated", 2*time.Second, "length of a run without a rate")
	flag.IntVar(&s.generatorCPU, "generator-cpu", 0, "the generator's CPU")
	flag.IntVar(&s.serverCPU, "server-cpu", 1, "the server's CPU")
	flag.StringVar(&s.only, "only", "", `one part: "rate" or "saturated"`)
	flag.Parse()
	if *quick {
		s.rounds, s.length, s.saturated = 3, 1200*time.Millisecond, time.Second
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	missed, err := bench(ctx, s)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "loadbench:", err)
		os.Exit(2)
	case missed:
		os.Exit(1)
	}
}

// bench runs everything; it tells whether a limit was missed.
func bench(ctx context.Context, s settings) (missed bool, err error) {
	if flag.NArg() > 0 || s.rounds < 2 || s.length < time.Second || s.saturated < time.Second || s.generatorCPU == s.serverCPU ||
		s.only != "" && s.only != "rate" && s.only != "saturated" {
		return false, errors.New("want no arguments, 2 rounds or more, runs of 1 s or more, two CPUs, and rate, saturated or nothing for -only; see -help")
	}
	r, err := newRig(ctx, s)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	fmt.Print(r.describe())
	var verdicts []verdict
	for _, part := range []struct {
		name string
		run  func(context.Context, *rig) ([]verdict, error)
	}{{"rate", atRate}, {"saturated", saturated}} {
		if s.only != "" && s.only != part.name {
			continue
		}
		v, err := part.run(ctx, r)
		verdicts = append(verdicts, v...)
		if err != nil {
			printVerdicts(verdicts)
			return false, err
		}
	}
	return printVerdicts(verdicts), nil
}
