package loadgen

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Generator loads its targets. Its methods may be called from any goroutine,
// and wait for each other.
type Generator struct {
	spec    Spec // with defaults
	targets []Target

	mu      sync.Mutex
	workers []*worker // none until Connect
	clock   monotonic
	closed  bool

	progress []progressSlot // one for each worker

	// ownProcess: nothing else lives here, so collection may be switched off
	// for a window.
	ownProcess bool
}

// New checks the spec and the targets; it opens nothing. The error is an
// *InvalidError.
func New(s Spec, targets []Target) (*Generator, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := validateTargets(targets); err != nil {
		return nil, err
	}
	s = s.withDefaults()
	return &Generator{spec: s, targets: append([]Target(nil), targets...), progress: make([]progressSlot, s.Workers)}, nil
}

// Connect resolves the targets and opens all connections, at Spec.ConnectRate.
// Without a deadline in ctx it takes at most 30 s more than the rate asks
// for. The error is a *ConnectError, after which no connection is open.
func (g *Generator) Connect(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return fmt.Errorf("connect: %w", ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("loadgen: connect: %w", err)
	}
	if g.workers == nil {
		if err := g.start(ctx); err != nil {
			g.stop()
			return err
		}
	}
	all := make([]int, len(g.targets))
	for i := range all {
		all[i] = i
	}
	if err := g.fill(ctx, all); err != nil {
		g.stop()
		return err
	}
	return nil
}

// Run sends the arrivals of one window and waits for their answers, from no
// request in flight to no request in flight. Connections that were lost since
// the last window are replaced first; a *ConnectError means that this was not
// possible and nothing was sent. A context that ends stops the window early:
// Run then returns its error together with a whole Report, in which
// Interrupted is set.
func (g *Generator) Run(ctx context.Context, w Window) (Report, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return Report{}, fmt.Errorf("run: %w", ErrClosed)
	}
	w, err := w.resolve(g.spec, len(g.targets))
	if err != nil {
		return Report{}, err
	}
	if g.workers == nil {
		return Report{}, errors.New("loadgen: run before connect: call Connect first")
	}
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("loadgen: run: %w", err)
	}
	if err := g.fill(ctx, w.Targets); err != nil {
		return Report{}, err
	}
	s, err := newSchedule(g.spec, w)
	if err != nil {
		return Report{}, err
	}
	report, err := g.window(ctx, w, s)
	if err == nil {
		err = report.Check()
	}
	if err == nil && ctx.Err() != nil && report.Interrupted {
		err = fmt.Errorf("loadgen: window interrupted: %w", context.Cause(ctx))
	}
	return report, err
}

// Close closes all connections. It waits for a window that runs: cancel its
// context first to end it early.
func (g *Generator) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.stop()
	return nil
}

// Progress tells how far the running window has come, or the last one, as of
// at most Window.ProgressEvery ago plus the time until the next event. It
// does not wait for other methods.
func (g *Generator) Progress() Progress {
	var sum Progress
	for i := range g.progress {
		sum.add(g.progress[i].load())
	}
	return sum
}

// startLead is the time between the start barrier and the first slot.
const startLead = int64(2 * time.Millisecond)

// window runs the prepared window on all workers.
func (g *Generator) window(ctx context.Context, w Window, s schedule) (Report, error) {
	jobs := make([]job, len(g.workers))
	cursors := make([]cursor, len(g.workers))
	if err := g.each(func(int) job { return job{kind: jobClear} }); err != nil {
		return Report{}, err
	}
	if g.ownProcess {
		defer quietCollector()()
	}
	lead := time.Duration(s.lead.end)
	if lead > 0 {
		lead += time.Duration(startLead)
	}
	first := watchStart(lead, g.evidence)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	release := g.interruptWith(ctx)
	start := g.clock.now() + startLead // the barrier: every worker is parked and ready
	for i := range jobs {
		cursors[i] = s.cursor(i, len(jobs))
		measured := start + s.lead.end
		jobs[i] = job{
			kind: jobRun, start: start, measured: measured, cursor: &cursors[i],
			end: measured + int64(w.Duration), drain: int64(w.Drain), inFlight: w.InFlight, publish: int64(w.ProgressEvery),
		}
	}
	err := g.each(func(i int) job { return jobs[i] })
	runtime.ReadMemStats(&after)
	last, atStart := g.evidence(), first()
	release()
	if err != nil {
		return Report{}, err
	}
	report, err := g.report(w, s)
	if err == nil {
		err = report.Generator.headroom(atStart, last)
	}
	report.Warnings = Warnings(g.spec, g.targets, w)
	report.Generator.Allocations = int64(after.Mallocs - before.Mallocs)
	report.Generator.GarbageCollections = int64(after.NumGC - before.NumGC)
	return report, err
}

// evidence reads what is outside of the workers.
func (g *Generator) evidence() evidence {
	e := readEvidence()
	for _, w := range g.workers {
		if w.tls != nil {
			e.handshakes += w.tls.cpuNanoseconds()
		}
	}
	return e
}

// quietCollector collects now and then not again until it is undone, short
// of a limit that no window comes near.
func quietCollector() (undo func()) {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(1 << 30)
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}

// each gives every worker a job and waits for all of them.
func (g *Generator) each(of func(worker int) job) error {
	for i, w := range g.workers {
		w.jobs <- of(i)
	}
	var first error
	for _, w := range g.workers {
		if err := <-w.results; first == nil {
			first = err
		}
	}
	return first
}

// interruptWith lets the end of ctx interrupt the workers until release.
func (g *Generator) interruptWith(ctx context.Context) (release func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		for _, w := range g.workers {
			w.interrupt.Store(true)
			_, _ = unix.Write(w.wakefd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only when it is readable already
		}
	})
	return func() {
		if !stop() {
			<-done
		}
		for _, w := range g.workers {
			w.interrupt.Store(false)
		}
	}
}

// fill opens what is not open of the targets.
func (g *Generator) fill(ctx context.Context, targets []int) error {
	const grace = 30 * time.Second
	atRate := time.Duration(float64(len(g.targets)*g.spec.Connections) / g.spec.ConnectRate * float64(time.Second))
	deadline := g.clock.now() + int64(grace+min(atRate, time.Hour))
	if at, ok := ctx.Deadline(); ok {
		deadline = min(deadline, g.clock.now()+int64(time.Until(at)))
	}
	defer g.interruptWith(ctx)()
	err := g.each(func(int) job { return job{kind: jobFill, targets: targets, deadline: deadline} })
	if err == nil {
		return nil
	}
	var failed *connectFailure
	var stopped *fillStopped
	switch {
	case errors.As(err, &failed):
		return g.connectError(failed.target, failed.class, failed.cause())
	case errors.As(err, &stopped) && ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return g.connectError(stopped.target, ConnectOther, context.Cause(ctx))
	case errors.As(err, &stopped):
		return g.connectError(stopped.target, ConnectTimeout, context.DeadlineExceeded)
	}
	return err
}

func (g *Generator) connectError(target int, class ConnectClass, cause error) error {
	e := &ConnectError{Class: class, Target: g.targets[target], Want: g.spec.Connections, Err: cause}
	for _, w := range g.workers { // they are parked
		e.Have += int(w.targets[target].open)
	}
	return e
}

// setOwnProcess tells the generator that nothing else lives in its process.
// Each worker then has a processor of the Go scheduler for itself and one is
// left for the rest, whatever the number of CPUs: it keeps its own through
// short waits, which spares it the scheduler and the runtime's monitor thread
// (1.5 instead of 9 microseconds for each request at 2,000 a second).
func (g *Generator) setOwnProcess() {
	g.ownProcess = true
	perWorker := 1
	if g.spec.TLS != nil {
		perWorker = 2 // one shakes hands
	}
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), perWorker*g.spec.Workers+1))
}

// holdBelow is the time after which the Go scheduler asks for a processor
// back anyway.
const holdBelow = int64(10 * time.Millisecond)
