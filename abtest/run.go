package abtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// deadlineReserve is what Run leaves before the test's own deadline for
// stopping processes and putting settings back.
const deadlineReserve = 30 * time.Second

// Run measures e inside a test and prints its rows in the test's log. An
// experiment that cannot be run, or whose rounds kept failing their gates, is
// fatal; a finding is not a failure. The row's file and the record's path are
// printed, also on failure.
//
// With -short the experiment is a smoke: two rounds of half-second windows
// with every gate live and the verdict forced to "smoke". A test binary built
// with -race or -cover may only smoke. A run's result is never cached by go
// test: running it again measures again.
func Run(t *testing.T, e Experiment) Result {
	t.Helper()
	if e.Name == "" {
		e.Name = t.Name()
	}
	e.smoke = e.smoke || testing.Short()
	if e.Log == nil {
		e.Log = t.Output()
	}
	uncacheable()
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-deadlineReserve))
		defer cancel()
	}
	result, err := Measure(ctx, e)
	if result.RecordPath != "" {
		fmt.Fprintf(t.Output(), "\n%s", result.Text())
	}
	if err != nil {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v: interrupted; run it again within %v to resume", err, resumeGap)
		}
		t.Fatal(err)
	}
	return result
}

// instrumented says what makes this binary unfit to measure, "" if nothing.
func instrumented() string {
	switch {
	case raceEnabled:
		return "-race"
	case testing.CoverMode() != "":
		return "-cover"
	}
	return ""
}
