package abtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/loadgen"
)

// borderTimeout bounds one question to a proxy or the origin between windows.
const borderTimeout = 2 * time.Second

// quietPause separates questions to the proxies from the first counter
// reading: what they cost must be over.
const quietPause = 10 * time.Millisecond

// border is what the parties say of themselves between windows.
type border struct {
	proxies   map[*liveArm]counts
	proxyErr  map[*liveArm]error
	workers   map[*liveArm]map[string]int64
	origin    OriginCounts
	originErr error
}

func (s *session) border(ctx context.Context, arms []*liveArm) border {
	b := border{
		proxies: map[*liveArm]counts{}, proxyErr: map[*liveArm]error{},
		workers: map[*liveArm]map[string]int64{},
	}
	ask := func(f func(ctx context.Context)) {
		ctx, cancel := context.WithTimeout(ctx, borderTimeout)
		defer cancel()
		f(ctx)
	}
	ask(func(ctx context.Context) { b.origin, b.originErr = s.origin.counts(ctx) })
	for _, l := range arms {
		ask(func(ctx context.Context) {
			c, err := l.proxy.counts(ctx)
			w, errW := l.proxy.workers()
			b.proxies[l], b.workers[l], b.proxyErr[l] = c, w, errors.Join(err, errW)
		})
	}
	return b
}

// window measures one run: the arms under load, from a quiet border to a quiet
// border. An error is about the harness and ends the session; what went wrong
// on the arms' side is a gate's to say.
func (s *session) window(ctx context.Context, arms []*liveArm, pos int, seed uint64) (RunRecord, gate.Results, error) {
	var run RunRecord
	before := s.border(ctx, arms)
	if err := sleep(ctx, quietPause); err != nil {
		return run, nil, err
	}
	watch, err := gate.StartWatch(s.fs, s.watchOptions())
	if err != nil {
		return run, nil, err
	}
	first := s.readCounters()
	report, err := s.gen.run(ctx, s.targetsOf(arms), s.rate, s.plan.Window, seed, s.plan.Drain)
	var lost *loadgen.ConnectError
	if errors.As(err, &lost) {
		// An arm that cannot be reached any more is a failed round, not the
		// harness's fault.
		return run, gate.Results{{
			Gate: gate.NameFailures, Arm: lost.Target.Name, Status: gate.StatusFail, Got: "no connection", Want: "a proxy that answers",
			Cause: lost.Error(), Fix: "look at the proxy's log",
		}}, nil
	}
	if err != nil {
		return run, nil, fmt.Errorf("load: %w", err)
	}
	// What the arms put off is theirs: wait for it before the last reading.
	if err := sleep(ctx, s.plan.Settle); err != nil {
		return run, nil, err
	}
	last := s.readCounters()
	host, err := watch.Stop()
	if err != nil {
		return run, nil, err
	}
	after := s.border(ctx, arms)

	run.Generator, run.Host = report.Generator, trimHost(host)
	run.WallNanoseconds = host.WallNanoseconds
	if before.originErr == nil && after.originErr == nil {
		run.Origin = after.origin.since(before.origin)
	}
	var results gate.Results
	deltas := map[*liveArm]counters.Delta{}
	for i, l := range arms {
		sample := Sample{
			Arm: l.arm.Name, Start: l.start, Position: pos, Rate: s.rate, Load: report.Targets[i],
			Workers: difference(before.workers[l], after.workers[l]),
		}
		whole := gate.WholeWindowEvidence{Arm: l.arm.Name, Metric: string(s.e.Metric)}
		d, err := since(first[l], last[l])
		if err != nil {
			whole.Error = err.Error()
		} else {
			sample.Cost, deltas[l] = d, d
			sample.Busy = float64(d.CPUNanoseconds) / float64(s.plan.Window) / float64(s.cpus.Proxy.Len())
			whole = wholeWindow(l.arm.Name, d)
		}
		served := s.judgeServed(l, &sample, before, after)
		run.Samples = append(run.Samples, sample)
		judged := append(gate.Results{gate.WholeWindow(s.e.Gates, whole), served}, s.judgeArm(l, sample, report)...)
		if !armOK(judged) {
			run.Failed = append(run.Failed, l.arm.Name)
		}
		results = append(results, judged...)
	}
	results = append(results, s.judgeRig(arms, run, first, last, host, after)...)
	return run, results, nil
}

// armOK reports whether an arm's own gates let its run pass. Whether the
// baseline is busy enough is about the rate, not about the arm.
func armOK(judged gate.Results) bool {
	for _, r := range judged.Failed() {
		if r.Gate != gate.NameBaselineBusy {
			return false
		}
	}
	return true
}

type readingOrError struct {
	reading counters.Reading
	err     error
}

// readCounters reads every arm that is alive, loaded or not, in order.
func (s *session) readCounters() map[*liveArm]readingOrError {
	readings := map[*liveArm]readingOrError{}
	for _, l := range s.live {
		r, err := l.counter.Read()
		readings[l] = readingOrError{r, err}
	}
	return readings
}

func since(first, last readingOrError) (counters.Delta, error) {
	if err := errors.Join(first.err, last.err); err != nil {
		return counters.Delta{}, err
	}
	return last.reading.Since(first.reading)
}

// targetsOf gives the generator's indexes of arms.
func (s *session) targetsOf(arms []*liveArm) []int {
	targets := make([]int, len(arms))
	for i, l := range arms {
		for j, live := range s.live {
			if live == l {
				targets[i] = j
			}
		}
	}
	return targets
}

func wholeWindow(arm string, d counters.Delta) gate.WholeWindowEvidence {
	e := gate.WholeWindowEvidence{Arm: arm, Metric: string(d.Metric)}
	if d.EnabledNanoseconds != nil && d.RunningNanoseconds != nil {
		e.EnabledNanoseconds, e.RunningNanoseconds = *d.EnabledNanoseconds, *d.RunningNanoseconds
	}
	if d.Coverage != nil {
		e.Coverage = *d.Coverage
	}
	if d.CoverageMin != nil && d.CoverageMax != nil {
		e.CoverageMin, e.CoverageMax = *d.CoverageMin, *d.CoverageMax
	}
	return e
}

// judgeArm is the gates of one arm.
func (s *session) judgeArm(l *liveArm, sample Sample, report loadgen.Report) gate.Results {
	t, name, load := s.e.Gates, l.arm.Name, sample.Load
	// The last answer comes after the schedule's end, by design; a generator
	// that sent for longer than that did not hold the rate.
	window := max(report.Window.Duration.Nanoseconds(), report.EndNanoseconds-report.StartNanoseconds-load.Response.Max)
	results := gate.Results{
		l.identity,
		gate.Rate(t, gate.RateEvidence{
			Arm: name, WantPerSecond: s.rate, Completed: load.Completed,
			WindowNanoseconds: window, Sent: load.Sent, Overflow: load.Overflow, GeneratorBusy: report.Generator.BusyShare(),
		}),
		gate.Overflow(t, gate.OverflowEvidence{Arm: name, Scheduled: load.Scheduled, Overflow: load.Overflow, Reason: overflowReason(load)}),
		gate.Failures(t, gate.FailuresEvidence{
			Arm: name, Sent: load.Sent, Completed: load.Completed, Failed: load.Failed, InFlightAtEnd: load.InFlightAtEnd,
			ClosedConnections: load.ConnectionsClosed, Kinds: failureKinds(load),
		}),
		s.judgeSpread(l, sample),
		s.judgePinning(l),
	}
	busy := gate.BusyEvidence{Arm: name, CPUNanoseconds: sample.Cost.CPUNanoseconds, WallNanoseconds: s.plan.Window.Nanoseconds(), CPUs: s.cpus.Proxy.Len()}
	results = append(results, gate.ArmBusy(t, busy))
	if l.arm.index == 0 {
		results = append(results, gate.BaselineBusy(nearBusy(t), busy))
	}
	return results
}

// nearBusy widens the limits of the baseline's busy share for one window: a
// rate that is plainly wrong is refused at once. The limits themselves are held
// against the whole session, by Analyze. To discard single windows by them
// would discard rounds by what the baseline happened to cost, which on a shared
// machine varies more than the limits are apart, and so bend the ratio.
func nearBusy(t gate.Thresholds) gate.Thresholds {
	t = t.WithDefaults()
	t.BaselineBusyMin *= 0.5
	t.BaselineBusyMax = min(1, t.BaselineBusyMax*1.6)
	return t
}

func overflowReason(load loadgen.TargetReport) string {
	switch {
	case load.OverflowBusy > 0:
		return fmt.Sprintf("every connection had a request in flight for %d arrivals: the proxy or the origin is too slow for this rate", load.OverflowBusy)
	case load.OverflowDown > 0:
		return fmt.Sprintf("no connection was open for %d arrivals", load.OverflowDown)
	case load.OverflowLate > 0:
		return fmt.Sprintf("the generator woke too late for %d arrivals: it cannot reach this rate on its CPUs", load.OverflowLate)
	}
	return ""
}

func failureKinds(load loadgen.TargetReport) map[string]int64 {
	kinds := load.FailedBy.ByClass()
	if load.InFlightAtEnd > 0 {
		kinds["in flight at the end"] = load.InFlightAtEnd
	}
	return kinds
}

// judgeServed holds the proxy's own counters to the generator's: served exactly
// what was completed, nothing moved that must not, and the arm's setting is
// seen at work.
func (s *session) judgeServed(l *liveArm, sample *Sample, before, after border) gate.Result {
	e := gate.ServedEvidence{Arm: l.arm.Name, Completed: sample.Load.Completed}
	err := errors.Join(before.proxyErr[l], after.proxyErr[l])
	var w servedWindow
	if err == nil {
		w, err = l.proxy.served(before.proxies[l], after.proxies[l], sample.Load.Completed)
	}
	if err != nil {
		e.Stat = err.Error()
		return gate.Served(s.e.Gates, e)
	}
	e.Served, e.Stat, e.Problems = &w.served, w.stat, w.problems
	sample.Served = w.counters
	return gate.Served(s.e.Gates, e)
}

func (s *session) judgeSpread(l *liveArm, sample Sample) gate.Result {
	e := gate.SpreadEvidence{Arm: l.arm.Name, Want: l.proxy.wantWorkers()}
	for name, ns := range sample.Workers {
		e.Workers = append(e.Workers, gate.WorkerTime{Name: name, RunNanoseconds: ns})
	}
	return gate.Spread(s.e.Gates, e)
}

// difference is after − before for what both have.
func difference(before, after map[string]int64) map[string]int64 {
	d := map[string]int64{}
	for k, v := range after {
		if b, ok := before[k]; ok {
			d[k] = v - b
		}
	}
	return d
}
