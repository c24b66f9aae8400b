package h3

import (
	"context"
	"fmt"
	"iter"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/tareperf/tare/internal/sys"
	"github.com/tareperf/tare/loadgen"
	"golang.org/x/sys/unix"
)

// startLead is the time between the start barrier and the first slot.
const startLead = 2 * time.Millisecond

// window is one run.
type window struct {
	*Generator
	loadgen.Window // resolved

	ctx    context.Context // of its requests
	cancel context.CancelFunc
	start  time.Time // of the ramp
	lead   time.Duration
	over   bool // guarded by mu: what ends now is no result any more
	asking sync.WaitGroup

	interrupted bool
	batches     map[int]int64
	waits       int64
	epfd        int
	events      []sys.EpollEvent
	tid         int
	clock       string
}

// Run sends the arrivals of one window and waits for their answers, as
// Generator.Run of package loadgen does. Connections that were lost since the
// last window are replaced first.
func (g *Generator) Run(ctx context.Context, w loadgen.Window) (loadgen.Report, error) {
	g.use.Lock()
	defer g.use.Unlock()
	if err := checkWindow(w); err != nil {
		return loadgen.Report{}, err
	}
	resolved, arrivals, err := loadgen.Arrivals(g.spec, len(g.targets), w)
	switch {
	case err != nil:
		return loadgen.Report{}, err
	case g.closed:
		return loadgen.Report{}, fmt.Errorf("h3: run: %w", loadgen.ErrClosed)
	case g.life == nil:
		return loadgen.Report{}, fmt.Errorf("h3: run before connect: call Connect first")
	case ctx.Err() != nil:
		return loadgen.Report{}, fmt.Errorf("h3: run: %w", context.Cause(ctx))
	}
	for _, i := range resolved.Targets {
		g.mu.Lock()
		g.targets[i].refusal = nil
		g.mu.Unlock()
		if err := g.await(ctx, g.targets[i]); err != nil {
			return loadgen.Report{}, err
		}
	}
	report, err := g.window(ctx, resolved, arrivals)
	if err == nil {
		err = report.Check()
	}
	if err == nil && report.Interrupted {
		err = fmt.Errorf("h3: window interrupted: %w", context.Cause(ctx))
	}
	return report, err
}

func (g *Generator) window(ctx context.Context, w loadgen.Window, arrivals iter.Seq2[time.Duration, int]) (loadgen.Report, error) {
	run := &window{Generator: g, Window: w, lead: w.Ramp + w.WarmUp, batches: map[int]int64{}, events: make([]sys.EpollEvent, 1)}
	run.ctx, run.cancel = context.WithCancel(context.Background())
	defer run.cancel()
	var err error
	if run.epfd, err = sys.EpollCreate(); err != nil {
		return loadgen.Report{}, fmt.Errorf("h3: epoll_create1: %w", err)
	}
	defer sys.SocketClose(run.epfd)
	g.clear(w.Targets)
	planned := map[int]int64{}
	for at, t := range arrivals {
		if at >= run.lead {
			planned[t]++
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpuBefore, err := sys.ProcessCPUClock(os.Getpid())
	if err != nil {
		return loadgen.Report{}, fmt.Errorf("h3: process CPU clock: %w", err)
	}
	began := time.Now()
	monotonic, err := sys.MonotonicNanoseconds()
	if err != nil {
		return loadgen.Report{}, fmt.Errorf("h3: monotonic clock: %w", err)
	}
	run.start = began.Add(startLead)
	paced := make(chan struct{})
	go func() { // a locked thread ends with its goroutine
		defer close(paced)
		run.pace(ctx, arrivals)
	}()
	<-paced
	run.drain(ctx)
	ended := time.Now()
	cpuAfter, err := sys.ProcessCPUClock(os.Getpid())
	if err != nil {
		return loadgen.Report{}, fmt.Errorf("h3: process CPU clock: %w", err)
	}
	runtime.ReadMemStats(&after)
	r := loadgen.Report{
		Window: w, Arrival: g.spec.Arrival, Choice: g.spec.Reuse, Interrupted: run.interrupted,
		StartNanoseconds: monotonic + int64(startLead+run.lead), EndNanoseconds: monotonic + int64(ended.Sub(began)),
	}
	r.Generator.ProcessCPUNanoseconds = cpuAfter - cpuBefore
	r.Generator.GarbageCollections = int64(after.NumGC - before.NumGC)
	r.Generator.Allocations = int64(after.Mallocs - before.Mallocs)
	return r, run.report(&r, planned)
}

// pace sends each arrival at its time. It has a thread of its own, whose sleep
// is exact where the timers of package time are rounded to milliseconds.
func (run *window) pace(ctx context.Context, arrivals iter.Seq2[time.Duration, int]) {
	runtime.LockOSThread()
	run.tid = unix.Gettid()
	_ = sys.SetTimerSlack(1) // a refusal costs accuracy only, which the lateness shows
	batch := 0
	for at, index := range arrivals {
		intended := run.start.Add(at)
		if wait := time.Until(intended); wait > 0 {
			if batch > 0 {
				run.batches[min(batch, maxBatch)]++
				batch = 0
			}
			if !run.sleep(ctx, intended) {
				break
			}
		} else if ctx.Err() != nil {
			run.interrupted = true
			break
		}
		if run.arrive(run.targets[index], intended, at >= run.lead) && at >= run.lead {
			batch++
		}
	}
	if batch > 0 {
		run.batches[min(batch, maxBatch)]++
	}
	if !run.interrupted { // a window lasts its duration, so that counts over it are rates
		run.sleep(ctx, run.start.Add(run.lead+run.Duration))
	}
}

// maxBatch is the largest size that has a count of its own, as in package
// loadgen.
const maxBatch = 64

// sleepAtMost bounds how late the end of a context is seen.
const sleepAtMost = 50 * time.Millisecond

// sleep returns at a time, or false when ctx has ended, which interrupts the
// window.
func (run *window) sleep(ctx context.Context, until time.Time) bool {
	for {
		if ctx.Err() != nil {
			run.interrupted = true
			return false
		}
		wait := min(time.Until(until), sleepAtMost)
		if wait <= 0 {
			return true
		}
		run.waits++
		run.clock = "epoll_pwait2"
		if _, errno := sys.EpollWaitNanoseconds(run.epfd, run.events, int64(wait)); errno == unix.ENOSYS {
			run.clock = "sleep"
			time.Sleep(wait)
		}
	}
}

// arrive sends one arrival or counts it as overflow; it tells which.
func (run *window) arrive(t *target, intended time.Time, measured bool) bool {
	late := time.Since(intended)
	k := 0
	if measured {
		k = 1
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	counts := &t.counts[k]
	counts.Scheduled++
	if late > run.spec.MaxLate {
		counts.Overflow++
		counts.OverflowLate++
		return false
	}
	c := t.pick(run.spec.Streams)
	if c == nil {
		counts.Overflow++
		if t.open == 0 {
			counts.OverflowDown++
		} else {
			counts.OverflowBusy++
		}
		return false
	}
	counts.Sent++
	c.active++
	t.active[k]++
	counts.MaxInFlight = max(counts.MaxInFlight, t.active[k])
	run.phase[k].inFlight++
	run.phase[k].maxInFlight = max(run.phase[k].maxInFlight, run.phase[k].inFlight)
	client := c.client
	run.asking.Go(func() { run.ask(t, c, client, intended, k) })
	return true
}

// pick is the next connection in turn that can take a request, or nil.
func (t *target) pick(streams int) *conn {
	for range t.conns {
		t.turn = (t.turn + 1) % len(t.conns)
		if c := t.conns[t.turn]; c.client != nil && c.active < streams && c.client.Context().Err() == nil {
			return c
		}
	}
	return nil
}

// drain waits for answers, gives the rest up and waits until nobody works any
// more.
func (run *window) drain(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		run.asking.Wait()
		close(done)
	}()
	limit := run.Drain
	if run.interrupted {
		limit = min(limit, time.Second)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	interrupt := ctx.Done()
	if run.interrupted {
		interrupt = nil
	}
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-timer.C:
			waiting = false
		case <-interrupt:
			interrupt = nil
			run.interrupted = true
			timer.Reset(time.Second)
		}
	}
	run.mu.Lock()
	run.over = true
	for _, i := range run.Targets {
		t := run.targets[i]
		for k := range t.counts {
			t.counts[k].InFlightAtEnd = t.active[k]
		}
	}
	run.mu.Unlock()
	run.cancel()
	<-done
}
