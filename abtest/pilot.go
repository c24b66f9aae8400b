package abtest

import (
	"context"
	"fmt"
	"math"
	"time"
)

const (
	pilotStart   = 400.0 // requests per second, low enough for any proxy
	pilotTarget  = 0.29  // of the proxy's CPUs: the middle of what the busy gate allows
	pilotNear    = 0.015 // a rate this close to the target is taken
	pilotTries   = 10
	pilotWindow  = 1200 * time.Millisecond
	pilotMaxRate = 500000
	liveTarget   = 0.74 // of the proxy's CPUs for the live arms together
)

// PilotError is a pilot that found no rate.
type PilotError struct {
	Steps []PilotStep
	Why   string
}

func (e *PilotError) Error() string {
	return fmt.Sprintf("the pilot found no rate that keeps the baseline about %.0f%% busy: %s (tried %v); set Load.Rate", 100*pilotTarget, e.Why, e.Steps)
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
		return fmt.Sprintf(", lowered from %.0f because the live arms together would be too busy", p.LoweredFrom)
	}
	return fmt.Sprintf(", found in %d steps", len(p.Steps))
}

// search starts the arms once and steps towards the target: the new rate is
// the old one times target over busy, as if cost per request did not depend on
// the rate, which is nearly true near the target.
func (s *session) search(ctx context.Context) (Pilot, error) {
	var p Pilot
	if err := s.startPilotArms(ctx); err != nil {
		return p, err
	}
	defer s.stopArms()
	rate := pilotStart
	for range pilotTries {
		step, err := s.pilotStep(ctx, rate, s.pilotTargets(1))
		if err != nil {
			return p, err
		}
		p.Steps = append(p.Steps, step)
		busy := step.Busy[s.arms[0].Name]
		switch {
		case busy <= 0:
			return p, &PilotError{p.Steps, "the baseline used no CPU; does the load reach it?"}
		case math.Abs(busy-pilotTarget) <= pilotNear:
			p.Rate = math.Round(rate)
			return s.underLimit(ctx, p)
		}
		// A step of at most four times: cost per request falls with the rate.
		rate = math.Round(rate * min(4, max(0.25, pilotTarget/busy)))
		if rate > pilotMaxRate {
			return p, &PilotError{p.Steps, "it stays idle at any rate this generator can send"}
		}
	}
	return p, &PilotError{p.Steps, "its busy share did not settle"}
}

// startPilotArms starts what will be alive together in a window.
func (s *session) startPilotArms(ctx context.Context) error {
	arms := s.arms
	if s.plan.Way == Restart {
		arms = arms[:1]
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

func (s *session) pilotTargets(other int) []int {
	if s.plan.Way == Restart {
		return []int{0}
	}
	return []int{0, other}
}

func (s *session) pilotStep(ctx context.Context, rate float64, targets []int) (PilotStep, error) {
	step := PilotStep{Rate: rate, Busy: map[string]float64{}}
	// A moment at the new rate first: pools grow, caches warm.
	if _, err := s.gen.run(ctx, targets, rate, pilotWindow/3, s.plan.Seed, s.plan.Drain); err != nil {
		return step, err
	}
	before := make(map[int]int64)
	for _, t := range targets {
		r, err := s.live[t].counter.Read()
		if err != nil {
			return step, err
		}
		before[t] = r.CPUNanoseconds
	}
	if _, err := s.gen.run(ctx, targets, rate, pilotWindow, s.plan.Seed+1, s.plan.Drain); err != nil {
		return step, err
	}
	for _, t := range targets {
		r, err := s.live[t].counter.Read()
		if err != nil {
			return step, err
		}
		step.Busy[s.live[t].arm.Name] = float64(r.CPUNanoseconds-before[t]) / float64(pilotWindow) / float64(s.cpus.Proxy.Len())
	}
	return step, nil
}

// underLimit tries every other arm beside the baseline and lowers the rate if
// they are too busy together.
func (s *session) underLimit(ctx context.Context, p Pilot) (Pilot, error) {
	if s.plan.Way == Restart {
		return p, nil
	}
	worst := 0.0
	for other := 1; other < len(s.live); other++ {
		step, err := s.pilotStep(ctx, p.Rate, []int{0, other})
		if err != nil {
			return p, err
		}
		p.Steps = append(p.Steps, step)
		sum := 0.0
		for _, busy := range step.Busy {
			sum += busy
		}
		worst = max(worst, sum)
	}
	if worst > liveTarget {
		p.LoweredFrom = p.Rate
		p.Rate = math.Round(p.Rate * liveTarget / worst)
	}
	return p, nil
}
