package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/tareperf/tare/internal/doctor"
)

// doctorCommand says what this machine can measure. Its exit statuses are the
// verdict: 0 can measure, 1 only with a weaker metric, 2 cannot.
func doctorCommand(args []string, s streams) int {
	flags := flag.NewFlagSet("tare doctor", flag.ContinueOnError)
	flags.SetOutput(s.err)
	asJSON := flags.Bool("json", false, "one JSON object on standard output")
	flags.Usage = func() {
		fmt.Fprint(s.err, "Usage: tare doctor [--json]\n\nSays what this machine can measure, why not more, and what to do about it.\nChanges nothing. Exit status 0: can measure; 1: CPU time only, not cycles;\n2: cannot.\n\n")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case err == flag.ErrHelp:
		return exitOK
	case err != nil:
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(s.err, "tare doctor: takes no argument, got %q\n", flags.Arg(0))
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	m, err := doctor.Examine(ctx, doctor.Options{})
	if err != nil {
		fmt.Fprintln(s.err, "tare doctor: interrupted")
		return exitInterrupted
	}
	r := doctor.Judge(m)
	if *asJSON {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.WriteText(s.out)
	}
	if err != nil {
		fmt.Fprintln(s.err, "tare doctor:", err)
		return 2
	}
	return r.Exit
}
