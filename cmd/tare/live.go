package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tareperf/tare/internal/sys"
)

// startLive keeps one line up to date while a load runs, where w is a
// terminal. The function it returns clears the line and ends it.
//
// It shows the time and what the generator costs. What was answered is known
// at the end only: the generator is not disturbed to ask.
func startLive(w io.Writer, o loadOptions, pid int) (end func()) {
	columns, ok := isTerminal(w)
	if !ok {
		return func() {}
	}
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		began := time.Now()
		cpuBefore, err := sys.ProcessCPUClock(pid)
		last := began
		share := ""
		for {
			fmt.Fprintf(w, "\r%s\x1b[K", clip(o.liveLine(time.Since(began))+share, columns))
			select {
			case <-stop:
				fmt.Fprint(w, "\r\x1b[K")
				return
			case now := <-tick.C:
				cpu, err2 := sys.ProcessCPUClock(pid)
				if share = ""; err == nil && err2 == nil {
					share = fmt.Sprintf(", generator at %.0f%% of a CPU", 100*float64(cpu-cpuBefore)/float64(now.Sub(last)))
				}
				cpuBefore, last, err = cpu, now, err2
			}
		}
	})
	return func() {
		close(stop)
		done.Wait()
	}
}

// liveLine is what is going on after some time.
func (o loadOptions) liveLine(t time.Duration) string {
	lead := o.window.Ramp + o.window.WarmUp
	var b strings.Builder
	switch counted := t - lead; {
	case counted < 0:
		fmt.Fprintf(&b, "warm-up %.0f s of %.0f s", t.Seconds(), lead.Seconds())
	case counted < o.window.Duration:
		fmt.Fprintf(&b, "%.0f s of %.0f s", counted.Seconds(), o.window.Duration.Seconds())
		if o.window.Rate > 0 {
			fmt.Fprintf(&b, ", %.0f of %.0f requests due", o.window.Rate*counted.Seconds(), o.window.Rate*o.window.Duration.Seconds())
		}
	default:
		b.WriteString("waiting for the last answers")
	}
	return b.String()
}

func clip(s string, columns int) string {
	if columns > 1 && len(s) >= columns {
		return s[:columns-1]
	}
	return s
}
