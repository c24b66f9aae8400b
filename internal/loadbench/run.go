package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tareperf/tare/internal/arrivals"
	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

// sample is what one run was found to be.
type sample struct {
	outcome
	served int64 // requests that the server counted
	// cpu is user and system time of the generator's whole process.
	cpu    time.Duration
	middle middle
	// arrivals is known at the recording server, with a rate.
	arrivals *arrivals.Analysis
}

// wholeCPU and steadyCPU are nanoseconds of CPU time for each request: over the
// whole life of the process, and in the middle of the run.
func (s sample) wholeCPU() float64  { return float64(s.cpu) / float64(s.served) }
func (s sample) steadyCPU() float64 { return s.middle.process / s.Rate * 1e9 }

// errServed is a run whose tool and server do not agree.
var errServed = errors.New("tool and server count differently")

// tolerance is how far the tool's own count may be from the server's. Requests
// under way at the end are in one of them only.
const tolerance = 0.01

// measure does one run.
func (r *rig) measure(ctx context.Context, t tool, j job) (sample, error) {
	s, err := r.tryMeasure(ctx, t, j)
	if err != nil {
		return s, fmt.Errorf("%s against %s, round %d: %w", t.name, j.server.name, j.round, err)
	}
	return s, nil
}

func (r *rig) tryMeasure(ctx context.Context, t tool, j job) (s sample, err error) {
	end, err := r.count(ctx, j)
	if err != nil {
		return s, err
	}
	before, err := childrenCPU()
	if err != nil {
		return s, err
	}
	process, err := t.start(ctx, r, j)
	if err != nil {
		return s, err
	}
	middle := make(chan error, 1)
	go func() { middle <- s.middle.watch(ctx, r, process.pid, j.length) }()
	s.outcome, err = process.wait()
	if err := errors.Join(err, <-middle); err != nil {
		return s, err
	}
	after, err := childrenCPU()
	if err != nil {
		return s, err
	}
	s.cpu = after - before
	if err := end(&s); err != nil {
		return s, err
	}
	if math.Abs(float64(s.Completed-s.served)) > tolerance*float64(s.served)+connections {
		return s, fmt.Errorf("%w: %d completed, %d served", errServed, s.Completed, s.served)
	}
	return s, nil
}

// count begins to count at the server; the function it returns ends that.
func (r *rig) count(ctx context.Context, j job) (func(*sample) error, error) {
	if j.server.requests != nil {
		before, err := j.server.requests(ctx)
		return func(s *sample) error {
			after, err := j.server.requests(ctx)
			s.served = after - before
			return err
		}, err
	}
	what := arrivals.Counts
	if j.rate > 0 {
		what = arrivals.Times
	}
	return func(s *sample) error {
		got, err := r.recorder.Take()
		if err != nil {
			return err
		}
		s.served = got.Requests
		if got.Refused > 0 {
			return fmt.Errorf("the recording server refused %d connections", got.Refused)
		}
		if j.rate > 0 {
			a, err := arrivals.Analyze(got.Times, arrivals.Schedule{Rate: j.rate, Skip: settling})
			if err != nil {
				return err
			}
			s.arrivals = &a
		}
		return nil
	}, r.recorder.Start(what)
}

// settling is how much of the beginning is no part of the analysis of
// arrivals: most tools open connections then.
const settling = 300 * time.Millisecond

// middle is what was seen from the outside in the middle of a run. All are
// shares of the time: 1 is one CPU.
type middle struct {
	process           float64 // of the generator's process, user and system
	generator, server float64 // of the CPUs, whatever ran there
}

func (m *middle) watch(ctx context.Context, r *rig, pid int, length time.Duration) error {
	var fs procfs.FS
	var busy [2]procfs.Busy
	var cpu, at [2]int64
	for k, wait := range []time.Duration{length * 3 / 10, length / 2} {
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		var errs [3]error
		at[k], errs[0] = sys.MonotonicNanoseconds()
		cpu[k], errs[1] = sys.ProcessCPUClock(pid)
		busy[k], errs[2] = fs.CPUBusy()
		if err := errors.Join(errs[:]...); err != nil {
			return fmt.Errorf("in the middle of the run: %w", err)
		}
	}
	delta, err := busy[1].Since(busy[0])
	if err != nil {
		return err
	}
	m.process = float64(cpu[1]-cpu[0]) / float64(at[1]-at[0])
	share := func(cpu int) float64 { return float64(delta.Nanoseconds[cpu]) / float64(delta.WallNanoseconds) }
	m.generator, m.server = share(r.generatorCPU), share(r.serverCPU)
	return nil
}

// sleep returns the cause of the end of ctx where that comes first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
