package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tareperf/tare/loadgen"
)

// progressEvery is how often the generator tells how far it has come. It is
// known then should it die.
const progressEvery = 500 * time.Millisecond

// startLive keeps one line up to date while a window runs, where w is a
// terminal. The function it returns ends it and clears the line.
func startLive(w io.Writer, o loadgen.Window, p *process) (end func()) {
	columns, ok := isTerminal(w)
	if !ok {
		return func() {}
	}
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				fmt.Fprint(w, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprintf(w, "\r%s\x1b[K", clip(liveLine(o, p.Progress()), columns))
			}
		}
	})
	return func() {
		close(stop)
		done.Wait()
	}
}

// liveLine says how far a window has come.
func liveLine(o loadgen.Window, p loadgen.Progress) string {
	at := time.Duration(p.AtNanoseconds)
	when := fmt.Sprintf("%.1f s of %v", at.Seconds(), o.Duration)
	switch {
	case at < 0:
		when = fmt.Sprintf("warm-up, %.1f s to go", -at.Seconds())
	case at > o.Duration:
		when = "waiting for the last answers"
	}
	return fmt.Sprintf("%s: %d sent, %d completed, %d failed, %d overflow, %d in flight, %d connections",
		when, p.Sent, p.Completed, p.Failed, p.Overflow, p.InFlight, p.Open)
}

func clip(s string, columns int) string {
	if columns > 1 && len(s) >= columns {
		return s[:columns-1]
	}
	return s
}
