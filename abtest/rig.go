package abtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/pinning"
)

// NotQuietError is a host whose proxy CPUs did not come to rest before the
// start.
type NotQuietError struct {
	Waited  time.Duration
	Results gate.Results
}

func (e *NotQuietError) Error() string {
	text := fmt.Sprintf("the host did not get quiet in %v", e.Waited.Round(time.Second))
	for _, r := range e.Results {
		text += "\n  " + r.String()
	}
	return text
}

const (
	quietWait    = 30 * time.Second
	quietLookLen = time.Second
)

// watchOptions says what to look at and what is the rig's own.
func (s *session) watchOptions() gate.WatchOptions {
	own := []int{os.Getpid()}
	if s.gen != nil {
		own = append(own, s.gen.Pid())
	}
	if s.origin != nil {
		own = append(own, s.origin.process.Pid())
	}
	for _, l := range s.live {
		own = append(own, l.proxy.Pid())
	}
	var twins []string
	for _, a := range s.arms {
		twins = append(twins, a.record.Binary)
	}
	return gate.WatchOptions{Own: own, Twins: twins}
}

// proxyCPUs are those that must be free of other work: the proxy's and the
// siblings that are left idle.
func (s *session) proxyCPUs() []int {
	return append(s.cpus.Proxy.CPUs(), s.cpus.IdleSiblings.CPUs()...)
}

// waitQuiet waits until nothing else runs on the proxy's CPUs.
func (s *session) waitQuiet(ctx context.Context) error {
	began := time.Now()
	told := 0
	for {
		results, err := s.look(ctx, quietLookLen)
		if err != nil {
			return err
		}
		if results.OK() {
			return nil
		}
		leftover := results.Failed()[0].Gate == gate.NameLeftovers // will not go away by waiting
		if leftover || time.Since(began) > quietWait {
			return &NotQuietError{time.Since(began), results.Failed()}
		}
		if told == 0 || time.Since(began) > time.Duration(told)*10*time.Second {
			told++
			s.logf("waiting up to %v for quiet: %s", quietWait, results.Failed()[0].Cause)
		}
	}
}

// before looks at the host before a round, with no load.
func (s *session) before(ctx context.Context) (gate.Results, error) {
	return s.look(ctx, quietLook)
}

// look watches the proxy's CPUs while nothing is asked of the proxies.
func (s *session) look(ctx context.Context, d time.Duration) (gate.Results, error) {
	watch, err := gate.StartWatch(s.fs, s.watchOptions())
	if err != nil {
		return nil, err
	}
	first := s.readCounters()
	if err := sleep(ctx, d); err != nil {
		return nil, err
	}
	last := s.readCounters()
	host, err := watch.Stop()
	if err != nil {
		return nil, err
	}
	return gate.Results{
		gate.Leftovers(s.e.Gates, s.leftovers(host)),
		gate.ForeignBefore(s.e.Gates, gate.ForeignEvidence{CPUs: s.proxyCPUs(), Host: host, Arms: s.armTimes(s.live, first, last)}),
	}, nil
}

// leftovers is what else runs an arm's executable. Of an executable that is
// this very program only helpers count: a second test of this program that
// waits for its turn is no proxy.
func (s *session) leftovers(host gate.HostEvidence) gate.LeftoversEvidence {
	e := gate.LeftoversEvidence{Looked: true, Error: host.TwinsError, CPUs: s.proxyCPUs()}
	_, embedded := s.e.Baseline.Target.(EmbeddedProxy)
	for _, twin := range host.Twins {
		if embedded {
			environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", twin.Pid))
			if err == nil && !strings.Contains("\x00"+string(environment), "\x00"+helperEnv+"=") {
				continue
			}
		}
		e.Twins = append(e.Twins, twin)
	}
	return e
}

// armTimes is the CPU time of arms.
func (s *session) armTimes(arms []*liveArm, first, last map[*liveArm]readingOrError) []gate.ArmTime {
	var times []gate.ArmTime
	for _, l := range arms {
		t := gate.ArmTime{Name: l.arm.Name, Pids: []int{l.proxy.Pid()}, CPUNanoseconds: -1}
		if errors.Join(first[l].err, last[l].err) == nil {
			t.CPUNanoseconds = last[l].reading.CPUNanoseconds - first[l].reading.CPUNanoseconds
		}
		times = append(times, t)
	}
	return times
}

// judgeRig is the gates that are about the machine and not about one arm.
func (s *session) judgeRig(arms []*liveArm, run RunRecord, first, last map[*liveArm]readingOrError, host gate.HostEvidence, after border) gate.Results {
	t := s.e.Gates
	// The settling time after the load is idle by design: it must not count as
	// headroom, nor make room for foreign work. Everything that ran is charged
	// to the load's own time.
	loaded := host
	loaded.WallNanoseconds = min(host.WallNanoseconds, s.plan.Window.Nanoseconds())
	var live []gate.BusyEvidence
	for _, sample := range run.Samples {
		live = append(live, gate.BusyEvidence{
			Arm: sample.Arm, CPUNanoseconds: sample.Cost.CPUNanoseconds, WallNanoseconds: s.plan.Window.Nanoseconds(), CPUs: s.cpus.Proxy.Len(),
		})
	}
	return gate.Results{
		gate.Leftovers(t, s.leftovers(host)),
		// Arms that are alive and not under load are foreign work too: what
		// they do now is not theirs to do.
		gate.ForeignDuring(t, gate.ForeignEvidence{CPUs: s.proxyCPUs(), Host: loaded, Arms: s.armTimes(arms, first, last)}),
		gate.Headroom(t, gate.HeadroomEvidence{Part: "generator", CPUs: s.cpus.Generator.CPUs(), Host: loaded}),
		gate.Headroom(t, gate.HeadroomEvidence{Part: "origin", CPUs: s.cpus.Origin.CPUs(), Host: loaded}),
		gate.LiveBusy(t, live),
		gate.IdleStates(t, host.IdleStatesEvidence()),
		s.judgeOrigin(run, after),
		s.judgeHarnessPinning(),
	}
}

func (s *session) judgeOrigin(run RunRecord, after border) gate.Result {
	e := gate.LookAtOrigin(s.fs, s.origin.kind, s.origin.process.Pid())
	e.Answered = after.originErr == nil
	switch {
	case run.Origin != nil:
		e.Closed = &run.Origin.Closed
	case e.Answered:
		e.Answered, e.Error = false, "its counts of this window are not known"
	}
	if after.originErr != nil {
		e.Error = after.originErr.Error()
	}
	return gate.Origin(s.e.Gates, e)
}

// judgeIdentity holds the executable that runs to the one that was described.
func (s *session) judgeIdentity(l *liveArm, mine effective) gate.Result {
	e := gate.IdentityEvidence{Arm: l.arm.Name, WantDigest: l.arm.record.SHA256}
	e.WantBuildType, e.BuildType = l.proxy.buildType(mine)
	digest, err := runningDigest(l.proxy.Pid(), s.digests)
	if err != nil {
		e.Error = err.Error()
	}
	e.GotDigest = digest
	return gate.Identity(s.e.Gates, e)
}

func (s *session) judgePinning(l *liveArm) gate.Result {
	return gate.Pinning(s.e.Gates, s.pinningEvidence(l.arm.Name, pinning.RoleProxy, l.proxy.Pid()))
}

// judgeHarnessPinning looks at the generator, the origin and this process.
func (s *session) judgeHarnessPinning() gate.Result {
	e := s.pinningEvidence("", pinning.RoleGenerator, s.gen.Pid())
	o := s.pinningEvidence("", pinning.RoleOrigin, s.origin.process.Pid())
	e.Checked += o.Checked
	e.Violations = append(e.Violations, o.Violations...)
	if err := s.placed.VerifyHarness(); err != nil {
		e.Violations = append(e.Violations, err.Error())
	}
	if e.Error == "" {
		e.Error = o.Error
	}
	return gate.Pinning(s.e.Gates, e)
}

func (s *session) pinningEvidence(arm string, role pinning.Role, pid int) gate.PinningEvidence {
	e := gate.PinningEvidence{Arm: arm, Checked: 1}
	err := s.placed.Verify(role, pid)
	var moved *pinning.MovedError
	switch {
	case errors.As(err, &moved):
		e.Violations = moved.Violations()
	case err != nil:
		e.Checked, e.Error = 0, err.Error()
	}
	return e
}

// trimHost keeps of a window's evidence what a reader of the record needs:
// the loudest few processes instead of all.
func trimHost(h gate.HostEvidence) gate.HostEvidence {
	if len(h.Processes) > 6 {
		h.Processes = h.Processes[:6]
	}
	if maps.Equal(h.IdleStart, h.IdleEnd) {
		h.IdleEnd = nil
	}
	return h
}
