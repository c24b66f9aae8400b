package abtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/pinning"
)

// driver is what a kind of target knows: what it is, how it differs from its
// baseline, and how to start it.
type driver interface {
	// record says what the target is; it was found and checked.
	record() ArmRecord
	// differences from a baseline of the same kind, one sentence each.
	differences(baseline driver) ([]string, error)
	// start runs it to readiness.
	start(ctx context.Context, o startOptions) (proxy, error)
	// checkEffective compares what runs with what runs in a baseline: the
	// difference must be the declared one. Both are from proxy.effective.
	checkEffective(mine, baseline effective) error
}

// effective is what a running proxy says of its own configuration.
type effective any

// startOptions is what a target is given by the session.
type startOptions struct {
	name   string
	dir    string // its own, empty, its working directory
	origin string // host:port
	ledger *child.Ledger
	// hold is called while the process is stopped at exec, before it has
	// executed anything: it is placed and its counter attached.
	hold func(pid int) error
}

// proxy is a target that runs.
type proxy interface {
	Address() string // host:port it listens on
	Pid() int
	Done() <-chan struct{}
	ExitError() error
	// counts reads the proxy's own counters. It costs the proxy CPU and so
	// happens only outside windows.
	counts(ctx context.Context) (counts, error)
	// served says what the proxy did between two counts, in which the
	// generator completed so many requests.
	served(before, after counts, completed int64) (servedWindow, error)
	// wantWorkers is how many worker threads there should be.
	wantWorkers() int
	// workers is the run time of each worker thread in nanoseconds.
	workers() (map[string]int64, error)
	// effective asks the proxy for its configuration. It costs the proxy CPU
	// and so happens only before its warm-up.
	effective(ctx context.Context) (effective, error)
	// buildType is what the binary should have been built as, and what e says
	// that it was; both empty for a proxy that has no such thing.
	buildType(e effective) (want, got string)
	// problems are log lines that mean the arm is not what it should be.
	problems() []string
	stop(grace time.Duration) error
}

// counts are a proxy's own counters at one moment, in its own form.
type counts any

// servedWindow is what a proxy says of a window.
type servedWindow struct {
	served   int64            // requests that it completed
	stat     string           // which of its counters says so
	problems []string         // counters that moved and must not, or did not and must
	counters map[string]int64 // for the record
}

// mustBe adds a problem if a counter moved by anything else.
func (w *servedWindow) mustBe(name string, got, want int64) {
	if got != want {
		w.problems = append(w.problems, fmt.Sprintf("%s grew by %d, want %d", name, got, want))
	}
}

// arm is an arm that was described: found, checked, ready to start.
type arm struct {
	Arm
	index  int
	driver driver
	record ArmRecord
}

// liveArm is an arm that runs.
type liveArm struct {
	arm     *arm
	proxy   proxy
	counter *counters.Counter
	start   int // ordinal of this start of the arm
	// identity is the gate's answer about this process, given at its start.
	identity gate.Result
}

// describeArms finds and checks every arm's target and compares it with the
// baseline's: a variant that equals the baseline is an error unless it is
// declared a placebo, and the reverse.
func describeArms(ctx context.Context, e Experiment, proxyCPUs int) ([]*arm, error) {
	var arms []*arm
	find := envoyFinder{}
	for i, a := range e.arms() {
		d, err := describeTarget(ctx, a, proxyCPUs, find)
		if err != nil {
			return nil, fmt.Errorf("arm %q: %w", a.Name, err)
		}
		described := &arm{Arm: a, index: i, driver: d, record: d.record()}
		described.record.Name, described.record.Placebo, described.record.Baseline = a.Name, a.Placebo, i == 0
		if i > 0 {
			if a.Target.Kind() != e.Baseline.Target.Kind() {
				return nil, &InputError{fmt.Sprintf("Variants: arm %q", a.Name), "an " + a.Target.Kind(), "compare targets of one kind; the baseline is an " + e.Baseline.Target.Kind()}
			}
			declared, err := d.differences(arms[0].driver)
			if err != nil {
				return nil, fmt.Errorf("arm %q: %w", a.Name, err)
			}
			switch {
			case len(declared) == 0 && !a.Placebo:
				return nil, &InputError{fmt.Sprintf("Variants: arm %q", a.Name), "equal to the baseline", "give it the change that is to be priced, or declare it with Placebo: true"}
			case len(declared) > 0 && a.Placebo:
				return nil, &InputError{fmt.Sprintf("Variants: arm %q", a.Name), fmt.Sprintf("a placebo that differs from the baseline: %v", declared), "a placebo must equal the baseline"}
			}
			described.record.Declared = declared
		}
		arms = append(arms, described)
	}
	return arms, nil
}

func describeTarget(ctx context.Context, a Arm, proxyCPUs int, find envoyFinder) (driver, error) {
	switch t := a.Target.(type) {
	case envoy.Proxy:
		return describeEnvoy(ctx, t, proxyCPUs, find)
	case EmbeddedProxy:
		return describeEmbedded(t, proxyCPUs)
	}
	return nil, &InputError{"Target", fmt.Sprintf("a %T", a.Target), "use envoy.Proxy or abtest.EmbeddedProxy"}
}

func longestPeriod(arms []*arm) time.Duration {
	var longest time.Duration
	for _, a := range arms {
		longest = max(longest, a.record.Period)
	}
	return longest
}

// startArm runs an arm in a fresh process with its counter attached before it
// executes anything, and checks that it runs what was declared.
func (s *session) startArm(ctx context.Context, a *arm) (*liveArm, error) {
	s.starts[a.index]++
	l := &liveArm{arm: a, start: s.starts[a.index]}
	dir, err := s.armDir(a, l.start)
	if err != nil {
		return nil, err
	}
	l.proxy, err = a.driver.start(ctx, startOptions{
		name: "proxy " + a.Name, dir: dir, origin: s.origin.address, ledger: s.ledger,
		hold: func(pid int) error {
			if err := s.placed.Place(pinning.RoleProxy, pid); err != nil {
				return err
			}
			l.counter, err = counters.OpenHeld(pid, counters.Options{Metric: s.e.Metric})
			return err
		},
	})
	if err != nil {
		if l.counter != nil {
			l.counter.Close()
		}
		return nil, fmt.Errorf("start arm %q: %w", a.Name, err)
	}
	if err := s.checkStarted(ctx, l); err != nil {
		return nil, errors.Join(err, l.stop())
	}
	return l, nil
}

// checkStarted compares what the arm really runs with what the baseline was
// seen to run, and scans its log.
func (s *session) checkStarted(ctx context.Context, l *liveArm) error {
	mine, err := l.proxy.effective(ctx)
	if err != nil {
		return fmt.Errorf("arm %q: read its effective configuration: %w", l.arm.Name, err)
	}
	l.identity = s.judgeIdentity(l, mine)
	if s.baseline == nil && l.arm.index == 0 {
		s.baseline = mine
	}
	if s.baseline != nil {
		if err := l.arm.driver.checkEffective(mine, s.baseline); err != nil {
			return fmt.Errorf("arm %q does not run what was declared: %w", l.arm.Name, err)
		}
	}
	if p := l.proxy.problems(); len(p) > 0 {
		return fmt.Errorf("arm %q says in its log: %s; it does not run what it was told to", l.arm.Name, p[0])
	}
	return nil
}

// learnBaseline starts the baseline once, so that every later start, in
// whatever order, has something to be compared with.
func (s *session) learnBaseline(ctx context.Context) error {
	l, err := s.startArm(ctx, s.arms[0])
	if err != nil {
		return err
	}
	s.starts[0]-- // it never sees load and is no start of a round
	return l.stop()
}

// armDir makes the working directory of one start of an arm.
func (s *session) armDir(a *arm, start int) (string, error) {
	dir := filepath.Join(s.dir, fmt.Sprintf("%s-%d-%d", fileStem(a.Name), a.index, start))
	// Left by a start that failed, or by learnBaseline.
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

func (l *liveArm) stop() error {
	return errors.Join(l.proxy.stop(proxyGrace), l.counter.Close())
}

const proxyGrace = 5 * time.Second
