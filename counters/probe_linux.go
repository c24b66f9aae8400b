package counters

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

// probeSpin is how long the probe keeps its CPU busy.
const probeSpin = 50 * time.Millisecond

// Probe tries a metric out on the calling thread for 50 ms. Nil: this machine
// has it, for processes of our own. errors.Is(err, ErrNotSupported): it does
// not. Any other error: this could not be told, or something that can be
// changed is in the way; the text says what.
func Probe(m Metric) error {
	if err := m.check(); err != nil {
		return err
	}
	if m == CPUTime {
		if _, err := sys.ProcessCPUClock(os.Getpid()); err != nil {
			return fmt.Errorf("process CPU clock: %w", err)
		}
		return nil
	}
	if err := probeGroup(m); err != nil {
		return fmt.Errorf("probe metric %s: %w", m, err)
	}
	return nil
}

func probeGroup(m Metric) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g, err := openGroup(m, 0)
	if err != nil {
		return explain(err, procfs.FS{}, m)
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if err := g.enable(); err != nil {
		return err
	}
	var readings [2]Reading
	for i := range readings {
		r := &readings[i]
		r.Metric = m
		if r.AtNanoseconds, err = sys.MonotonicNanoseconds(); err != nil {
			return err
		}
		if r.Group, err = g.read(); err != nil {
			return err
		}
		// Coverage is not the probe's question, and 50 ms are too short for it:
		// the group's own task clock stands in for the process clock.
		task, _ := r.Group.value(EventTaskClock)
		r.CPUNanoseconds = int64(task)
		for start := time.Now(); i == 0 && time.Since(start) < probeSpin; {
		}
	}
	_, err = readings[1].Since(readings[0])
	return err
}
