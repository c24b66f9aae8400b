package abtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tareperf/tare/gate"
)

const (
	pilotStart  = 400.0 // requests per second, low enough for any proxy
	pilotTarget = 0.29  // of the proxy's CPUs: the middle of what the busy gate allows
	pilotNear   = 0.10  // this close to the target the search ends and readings are averaged
	pilotTries  = 10
	// A machine's speed changes within seconds; the baseline is looked at this
	// often at the rate before it is frozen.
	pilotReadings = 6
	pilotMaxRate  = 500000
	// Below the gates' limits for live arms together and for one arm.
	liveTarget = 0.75
	armTarget  = 0.56
)

// PilotError is a pilot that found no rate.
type PilotError struct {
	Steps []PilotStep
	Why   string
}

func (e *PilotError) Error() string {
	text := fmt.Sprintf("the pilot found no rate that keeps the baseline about %.0f%% busy and every gate content: %s; it tried", 100*pilotTarget, e.Why)
	for _, s := range e.Steps {
		text += fmt.Sprintf(" %.0f/s", s.Rate)
	}
	return text + "; set Load.Rate, or change what Why names"
}

// pilot finds the rate at which the baseline is about 29% busy under the
// experiment's own way, and records it. A rate that the experiment gives, or
// that an earlier part of this session found, is kept.
func (s *session) pilot(ctx context.Context) error {
	if s.resumed.Pilot != nil {
		s.rate = s.resumed.Pilot.Rate
		return nil
	}
	p := Pilot{Rate: s.e.Load.Rate, Given: true}
	if p.Rate == 0 {
		var err error
		if p, err = s.search(ctx); err != nil {
			return errors.Join(err, s.stopArms())
		}
		if err := s.stopArms(); err != nil {
			return err
		}
	}
	s.rate = p.Rate
	s.logf("rate %.0f requests a second for each arm%s", p.Rate, pilotRemark(p))
	return s.record.append(Line{Kind: "pilot", Pilot: &p})
}

func pilotRemark(p Pilot) string {
	switch {
	case p.Given:
		return ", as given"
	case p.LoweredFrom > 0:
		return fmt.Sprintf(", lowered from %.0f because %s", p.LoweredFrom, p.LoweredFor)
	}
	return fmt.Sprintf(", found in %d steps", len(p.Steps))
}

// search steps towards the target: the new rate is the old one times target
// over busy, as if cost per request did not depend on the rate, which is nearly
// true near the target.
func (s *session) search(ctx context.Context) (Pilot, error) {
	var p Pilot
	if err := s.pilotArms(ctx, s.pilotTogether(1)...); err != nil {
		return p, err
	}
	rate := pilotStart
	for range pilotTries {
		busy, err := s.pilotStep(ctx, &p, rate)
		if err != nil {
			return p, err
		}
		base := busy[s.arms[0].Name]
		if base <= 0 {
			return p, &PilotError{p.Steps, "the baseline used no CPU; does the load reach it?"}
		}
		if math.Abs(base-pilotTarget) <= pilotNear {
			return s.settleRate(ctx, p, rate, busy)
		}
		// A step of at most four times: cost per request falls with the rate.
		rate = math.Round(rate * min(4, max(0.25, pilotTarget/base)))
		if rate > pilotMaxRate {
			return p, &PilotError{p.Steps, "it stays idle at any rate this generator can send"}
		}
	}
	return p, &PilotError{p.Steps, "its busy share did not settle"}
}

// pilotWindow is how long one reading takes: half of a window, as far as that
// is between half a second and two.
func (p Plan) pilotWindow() time.Duration {
	return min(2*time.Second, max(500*time.Millisecond, p.Window/2))
}

// pilotTime is how long a pilot takes that needs every try, with some readings
// made again.
func (p Plan) pilotTime() time.Duration {
	return (pilotTries + 2*pilotReadings) * (p.pilotWindow() * 4 / 3)
}

// settleRate looks at every other arm at the rate, several times, and sets the
// rate by what the baseline was busy on average; lower if an arm, or two
// together, would on average be too busy. A single reading decides nothing: the
// speed of a shared machine changes within seconds.
func (s *session) settleRate(ctx context.Context, p Pilot, rate float64, first map[string]float64) (Pilot, error) {
	base := readings{first[s.arms[0].Name]}
	var limits []pilotLimit
	others := len(s.arms) - 1
	if s.plan.Way == Restart { // the baseline is alone, as in the search
		for len(base) < pilotReadings {
			busy, err := s.pilotStep(ctx, &p, rate)
			if err != nil {
				return p, err
			}
			base = append(base, busy[s.arms[0].Name])
		}
	}
	for other := 1; other <= others; other++ {
		if other > 1 || s.plan.Way == Restart { // else alive from the search
			if err := s.pilotArms(ctx, s.pilotTogether(other)...); err != nil {
				return p, err
			}
		}
		var arm, together readings
		for range max(2, pilotReadings/others) {
			busy, err := s.pilotStep(ctx, &p, rate)
			if err != nil {
				return p, err
			}
			if b, ok := busy[s.arms[0].Name]; ok {
				base = append(base, b)
			}
			arm = append(arm, busy[s.arms[other].Name])
			together = append(together, busy[s.arms[0].Name]+busy[s.arms[other].Name])
		}
		limits = append(limits,
			pilotLimit{armTarget / arm.mean(), fmt.Sprintf("arm %q would be %.0f%% busy", s.arms[other].Name, 100*arm.mean())},
			pilotLimit{liveTarget / together.mean(), fmt.Sprintf("%q and the baseline together would be %.0f%% busy", s.arms[other].Name, 100*together.mean())})
	}
	p.Rate = math.Round(rate * min(1.5, max(0.6, pilotTarget/base.mean())))
	for _, l := range limits {
		if lowest := math.Round(rate * l.factor); lowest < p.Rate {
			if p.LoweredFrom == 0 {
				p.LoweredFrom = p.Rate
			}
			p.Rate, p.LoweredFor = lowest, l.why
		}
	}
	t := s.e.Gates.WithDefaults()
	_, off := t.Off[gate.NameBaselineBusy]
	if expected := base.mean() * p.Rate / rate; p.LoweredFrom > 0 && expected < t.BaselineBusyMin && !off {
		return p, &PilotError{p.Steps, fmt.Sprintf("%s, and at a rate that fits the baseline is %.0f%% busy; price that arm alone in a restart, or switch the gate %q off with a reason",
			p.LoweredFor, 100*expected, gate.NameBaselineBusy)}
	}
	return p, nil
}

// pilotLimit is what the rate may be multiplied with, and why not with more.
type pilotLimit struct {
	factor float64
	why    string
}

// readings are busy shares at one rate.
type readings []float64

func (r readings) mean() float64 {
	sum := 0.0
	for _, b := range r {
		sum += b
	}
	return sum / float64(len(r))
}

// pilotTogether is the arms that are alive together in a window with the other
// one: both in a duet, the other alone in a restart, but for the search itself,
// which is about the baseline.
func (s *session) pilotTogether(other int) []*arm {
	if s.plan.Way == Duet {
		return []*arm{s.arms[0], s.arms[other]}
	}
	if s.live == nil {
		return s.arms[:1]
	}
	return s.arms[other : other+1]
}

// pilotArms has just these arms running, with a generator connected.
func (s *session) pilotArms(ctx context.Context, arms ...*arm) error {
	if err := s.stopArms(); err != nil {
		return err
	}
	for _, a := range arms {
		l, err := s.startArm(ctx, a)
		if err != nil {
			return err
		}
		s.live = append(s.live, l)
	}
	return s.gen.open(ctx, s.e.Load, s.live)
}

// pilotStep loads the live arms at a rate and gives their busy shares. A step
// in which the proxy's CPUs had other work is made again.
func (s *session) pilotStep(ctx context.Context, p *Pilot, rate float64) (map[string]float64, error) {
	for try := 1; ; try++ {
		step, disturbed, err := s.tryPilotStep(ctx, rate)
		if err != nil {
			return nil, err
		}
		p.Steps = append(p.Steps, step)
		if disturbed.Status == gate.StatusPass || disturbed.Status == gate.StatusOff {
			return step.Busy, nil
		}
		if try == 3 {
			return nil, &PilotError{p.Steps, disturbed.String()}
		}
		if err := s.waitQuiet(ctx); err != nil {
			return nil, err
		}
	}
}

func (s *session) tryPilotStep(ctx context.Context, rate float64) (PilotStep, gate.Result, error) {
	step := PilotStep{Rate: rate, Busy: map[string]float64{}}
	fail := func(err error) (PilotStep, gate.Result, error) { return step, gate.Result{}, err }
	targets := s.targetsOf(s.live)
	// A moment at the new rate first: pools grow, caches warm.
	if _, err := s.gen.run(ctx, targets, rate, s.plan.pilotWindow()/3, s.plan.Seed, s.plan.Drain); err != nil {
		return fail(fmt.Errorf("pilot: %w", err))
	}
	watch, err := gate.StartWatch(s.fs, s.watchOptions())
	if err != nil {
		return fail(err)
	}
	first := s.readCounters()
	report, err := s.gen.run(ctx, targets, rate, s.plan.pilotWindow(), s.plan.Seed+1, s.plan.Drain)
	if err != nil {
		return fail(fmt.Errorf("pilot: %w", err))
	}
	last := s.readCounters()
	host, err := watch.Stop()
	if err != nil {
		return fail(err)
	}
	for _, l := range s.live {
		d, err := since(first[l], last[l])
		if err != nil {
			return fail(fmt.Errorf("pilot: arm %q: %w", l.arm.Name, err))
		}
		step.Busy[l.arm.Name] = float64(d.CPUNanoseconds) / float64(s.plan.pilotWindow()) / float64(s.cpus.Proxy.Len())
	}
	if total := report.Total(); total.Completed < total.Planned*9/10 {
		return fail(&PilotError{[]PilotStep{step}, fmt.Sprintf("at %.0f/s only %d of %d requests were answered: %v", rate, total.Completed, total.Planned, total.FailedBy)})
	}
	return step, gate.ForeignDuring(s.e.Gates, gate.ForeignEvidence{CPUs: s.proxyCPUs(), Host: host, Arms: s.armTimes(s.live, first, last)}), nil
}
