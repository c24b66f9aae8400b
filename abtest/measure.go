package abtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/nginx"
	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/pinning"
)

// session is one sitting: what Measure holds between its start and its end.
type session struct {
	e        Experiment
	arms     []*arm
	plan     Plan
	cpus     pinning.Plan
	header   Session
	fs       procfs.FS
	ledger   *child.Ledger
	dir      string // of this session's processes; removed at the end
	record   *recordFile
	resumed  Record // zero if this is a new session
	placed   *pinning.Placement
	gen      *generator
	nginx    nginx.Binary // where the origin is one
	origin   *originProcess
	rate     float64
	live     []*liveArm
	blocks   int         // started so far
	starts   map[int]int // process starts by arm
	finished int         // rounds kept
	baseline effective   // what the baseline was seen to run
	began    time.Time
	digests  map[any]string // of executables, by file

	lastBlockAt int // index of the round that the running block began with
}

// DeadlineError is a plan that would not end before the deadline.
type DeadlineError struct {
	Need, Have time.Duration
}

func (e *DeadlineError) Error() string {
	return fmt.Sprintf("the plan takes about %v and the deadline is in %v; pass go test -timeout %v or more",
		e.Need.Round(time.Second), e.Have.Round(time.Second), e.timeout())
}

// timeout is the value to pass: the need and a third, in whole minutes.
func (e *DeadlineError) timeout() time.Duration {
	return (e.Need*4/3 + time.Minute - 1).Truncate(time.Minute)
}

// Measure runs the experiment until its plan is complete, and returns what it
// found. Result is also given beside an error when there is a record: its
// rows then say what the finished rounds support.
//
// The context's deadline is compared with the plan before anything starts. A
// cancelled context ends the run in order: processes stopped, settings put
// back, the record left to resume.
//
// Errors before anything starts are *InputError and the errors of the
// packages that checked their part, *DeadlineError, *HeldError (another
// experiment runs) and ErrNoMain. Later ones are *InvalidError (gates failed
// too often), *RecordError, and the errors of processes.
func Measure(ctx context.Context, e Experiment) (result Result, err error) {
	if !hooked.Load() {
		return Result{}, ErrNoMain
	}
	if what := instrumented(); what != "" && !e.smoke {
		return Result{}, fmt.Errorf("this program is built with %s, which changes what everything costs; build it without, or pass -short to a test for a smoke", what)
	}
	if e, err = e.withDefaults(); err != nil {
		return Result{}, err
	}
	// What follows may start tools, and so disturb another experiment.
	lock, err := child.LockHost(ctx, child.HostLock{Holder: e.Name, Wait: e.Wait})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	s, err := newSession(ctx, e)
	if err != nil {
		return Result{}, err
	}
	// Deferred, so that a panic in between puts everything back too.
	ended := errors.New("the session was cut off")
	defer func() {
		err = errors.Join(err, s.close(ended))
		if s.record != nil {
			var readErr error
			result, readErr = s.result()
			err = errors.Join(err, readErr)
		}
	}()
	if ended = s.open(); ended == nil {
		ended = s.run(ctx)
	}
	return Result{}, ended
}

// HeldError says that another experiment runs on this host, and which.
type HeldError = child.HeldError

// newSession checks everything that can be checked before anything starts.
func newSession(ctx context.Context, e Experiment) (*session, error) {
	if e.Seed == 0 {
		e.Seed = uint64(time.Now().UnixNano())
	}
	s := &session{e: e, starts: map[int]int{}, digests: map[any]string{}, began: time.Now()}
	topology, err := pinning.ReadTopology(s.fs)
	if err != nil {
		return nil, err
	}
	if s.cpus, err = topology.Plan(pinning.Wish{ProxyCPUs: e.ProxyCPUs}); err != nil {
		return nil, err
	}
	if s.e.Load.Connections == 0 {
		s.e.Load.Connections = connectionsFor(s.cpus.Proxy.Len())
	}
	if s.arms, err = describeArms(ctx, e, s.cpus.Proxy.Len()); err != nil {
		return nil, err
	}
	if o, ok := e.Origin.(Nginx); ok {
		if s.nginx, err = findNginx(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := counters.Probe(e.Metric); err != nil {
		return nil, metricError(e.Metric, err)
	}
	s.plan = newPlan(e, len(s.arms), longestPeriod(s.arms), e.Seed)
	if deadline, ok := ctx.Deadline(); ok {
		need, have := s.plan.Duration(), time.Until(deadline)
		if need > have {
			return nil, &DeadlineError{Need: need, Have: have}
		}
	}
	if err := s.describe(); err != nil {
		return nil, err
	}
	return s, writable(e.RecordDir)
}

// connectionsFor is how many connections an honest start needs to pass the
// spread gate: a worker's share of c connections that fall on n workers at
// random has a relative standard deviation of √((n−1)/c), and the gate's limit
// is 30% above the even share. Four deviations fit with 178 connections for each
// worker but the first. With fewer than 64, a stall of some ten milliseconds,
// which virtual machines have, leaves no connection for an arrival.
func connectionsFor(workers int) int { return max(64, 178*(workers-1)) }

func metricError(m counters.Metric, err error) error {
	if m == counters.Cycles {
		return fmt.Errorf("%w; or choose the weaker metric by name: Metric: counters.CPUTime", err)
	}
	return err
}

// writable makes the record directory and tries it, so that a full or
// read-only disk is found before the rounds and not after the first.
func writable(dir string) error {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".probe-*"); err == nil {
			_, err = f.Write(make([]byte, 4096))
			err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return &RecordError{Path: dir, Err: fmt.Errorf("cannot be written: %w; choose another RecordDir or set TARE_RECORD_DIR", err)}
	}
	return nil
}

// open takes what a session holds on the host: what a killed run left is
// cleaned first.
func (s *session) open() error {
	state, err := child.StateDir()
	if err != nil {
		return err
	}
	swept, err := child.Sweep(state)
	for _, w := range swept {
		s.logf("cleaned up after a run that was killed: %v", w)
	}
	if err != nil {
		return fmt.Errorf("clean up after a run that was killed: %w", err)
	}
	if s.ledger, err = child.OpenLedger(state); err != nil {
		return err
	}
	s.dir = filepath.Join(state, "run", fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err := s.ledger.AddDir(s.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	s.placed, err = pinning.Apply(s.cpus, pinning.ApplyOptions{Ledger: s.ledger})
	if err != nil {
		return err
	}
	s.header.Placement = s.placed.Method()
	s.header.Conditions = append(s.header.Conditions, "placed by "+s.placed.Method())
	for _, lost := range s.placed.Lost() {
		s.header.Conditions = append(s.header.Conditions, "not allowed: "+lost)
	}
	return s.openRecord()
}

// close ends everything in the reverse order of its start, and says what could
// not be put back. cause is why the session ends, nil if its plan is done.
func (s *session) close(cause error) error {
	var errs []error
	errs = append(errs, s.stopArms(), s.gen.stop(), s.origin.stop())
	if s.placed != nil {
		errs = append(errs, s.placed.Close())
	}
	if os.Getenv("TARE_KEEP") == "1" {
		s.logf("run directories kept in %s", s.dir)
	} else {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	if s.ledger != nil {
		errs = append(errs, s.ledger.Forget(s.dir), s.ledger.Close())
	}
	if s.record == nil {
		return errors.Join(errs...)
	}
	if end := s.end(cause); end != nil {
		errs = append(errs, s.record.append(Line{Kind: "end", End: end}))
	}
	return errors.Join(append(errs, s.record.close())...)
}

// end is the last line of a record, nil if the session may be resumed.
func (s *session) end(cause error) *End {
	var invalid *InvalidError
	switch {
	case cause == nil:
		return &End{Complete: true}
	case errors.As(cause, &invalid):
		return &End{Reason: invalid.summary()}
	}
	return nil
}

// logf writes one line to the experiment's log.
func (s *session) logf(format string, args ...any) {
	if s.e.Log != nil {
		fmt.Fprintf(s.e.Log, format+"\n", args...)
	}
}

// note logs a line and records it.
func (s *session) note(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	s.logf("%s", text)
	return s.record.append(Line{Kind: "note", Note: &Note{Text: text}})
}
