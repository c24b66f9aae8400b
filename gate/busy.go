package gate

import (
	"fmt"
	"math"
	"strings"
)

// BusyEvidence is the CPU time that one arm used.
type BusyEvidence struct {
	Arm             string
	CPUNanoseconds  int64 // of the arm's own processes in the window
	WallNanoseconds int64 // length of the window
	CPUs            int   // how many CPUs the proxy has
}

func (e BusyEvidence) share() (float64, bool) {
	if e.CPUNanoseconds <= 0 || e.WallNanoseconds <= 0 || e.CPUs <= 0 {
		return 0, false
	}
	return float64(e.CPUNanoseconds) / float64(e.WallNanoseconds) / float64(e.CPUs), true
}

func (e BusyEvidence) incomplete(r Result) Result {
	return r.cannotTell(fmt.Sprintf("the evidence is incomplete: %d ns of CPU in %d ns on %d CPUs", e.CPUNanoseconds, e.WallNanoseconds, e.CPUs),
		"look at the gate whole window")
}

// BaselineBusy passes when the baseline used a share of the proxy's CPUs that
// is neither so low that wake-ups dominate nor so high that queueing does.
func BaselineBusy(t Thresholds, e BusyEvidence) Result {
	r, decided := t.begin(NameBaselineBusy, e.Arm)
	if decided {
		return r
	}
	r.Want = fmt.Sprintf("%s to %s busy", percent(t.BaselineBusyMin), percent(t.BaselineBusyMax))
	share, ok := e.share()
	switch {
	case !ok:
		return e.incomplete(r)
	case share < t.BaselineBusyMin:
		return r.fail(percent(share)+" busy", "the rate is too low for this proxy on this machine", "raise the rate, or leave it 0 so that a pilot finds it")
	case share > t.BaselineBusyMax:
		return r.fail(percent(share)+" busy", "the rate is too high for this proxy on this machine", "lower the rate, or leave it 0 so that a pilot finds it")
	}
	return r.pass(percent(share) + " busy")
}

// ArmBusy passes when an arm stayed below the share of the proxy's CPUs above
// which cost per request is no longer comparable with the baseline's.
func ArmBusy(t Thresholds, e BusyEvidence) Result {
	r, decided := t.begin(NameArmBusy, e.Arm)
	if decided {
		return r
	}
	r.Want = fmt.Sprintf("at most %s busy", percent(t.ArmBusyMax))
	share, ok := e.share()
	if !ok {
		return e.incomplete(r)
	}
	if share > t.ArmBusyMax {
		return r.fail(percent(share)+" busy", "this arm costs so much that it does not fit at this rate", "lower the rate for all arms")
	}
	return r.pass(percent(share) + " busy")
}

// LiveBusy passes when the arms that were live at once left room on the
// proxy's CPUs. All must tell the same CPUs and window.
func LiveBusy(t Thresholds, arms []BusyEvidence) Result {
	r, decided := t.begin(NameLiveBusy, "")
	if decided {
		return r
	}
	r.Want = fmt.Sprintf("at most %s busy together", percent(t.LiveBusyMax))
	if len(arms) == 0 {
		return r.cannotTell("no arms were given", "give the CPU time of each live arm")
	}
	var sum float64
	var parts []string
	for _, e := range arms {
		share, ok := e.share()
		if !ok {
			res := e.incomplete(r)
			res.Cause = "arm " + e.Arm + ": " + res.Cause
			return res
		}
		sum += share
		parts = append(parts, e.Arm+" "+percent(share))
	}
	got := percent(sum) + " busy: " + strings.Join(parts, ", ")
	if sum > t.LiveBusyMax {
		return r.fail(got, "the live arms together crowd the proxy's CPUs", "lower the rate for all arms, or run one arm at a time")
	}
	return r.pass(got)
}

// HeadroomEvidence is how busy the CPUs of the generator, the origin or a side
// service were, whoever made them busy.
type HeadroomEvidence struct {
	Arm  string
	Part string // "generator", "origin", or the name of a service
	CPUs []int  // that it may use
	Host HostEvidence
}

// Headroom passes when the CPUs of a part of the rig were idle for at least
// the wanted share of the window: a generator or origin without headroom makes
// the load, and with it the cost, something else than what was asked for.
func Headroom(t Thresholds, e HeadroomEvidence) Result {
	r, decided := t.begin(NameHeadroom, e.Arm)
	if decided {
		return r
	}
	part := or(e.Part, "part")
	r.Want = fmt.Sprintf("%s: CPUs idle for at least %s", part, percent(t.HeadroomIdleShare))
	busy, err := e.Host.busyOn(e.CPUs)
	if err != nil {
		return r.cannotTell(part+": "+err.Error(), "give the busy time of every CPU of the "+part)
	}
	all := float64(e.Host.WallNanoseconds) * float64(len(e.CPUs))
	idle := 1 - float64(busy)/all
	doubt := float64(e.Host.ResolutionNanoseconds) * float64(len(e.CPUs)) / all
	got := fmt.Sprintf("%s: CPUs %s idle for %s", part, cpuList(e.CPUs), percent(math.Max(idle, 0)))
	if idle-doubt >= t.HeadroomIdleShare {
		return r.pass(got)
	}
	cause := "the load is too much for these CPUs"
	var foreign, own []Process
	for _, p := range e.Host.Processes {
		if !p.touches(e.CPUs) {
			continue
		}
		if p.Own {
			own = append(own, p)
		} else {
			foreign = append(foreign, p)
		}
	}
	if top := topNames(foreign, e.CPUs, e.Host.WallNanoseconds, 3); top != "" && foreign[0].likelyOn(e.CPUs, e.Host.WallNanoseconds) > busy/20 {
		cause = "not of this rig, and busy there: " + top
	} else if top := topNames(own, e.CPUs, e.Host.WallNanoseconds, 2); top != "" {
		cause = "the load is too much for these CPUs: " + top
	}
	if idle+doubt < t.HeadroomIdleShare {
		return r.fail(got, cause, fmt.Sprintf("keep other work off CPUs %s, lower the rate, or give the %s more CPUs", cpuList(e.CPUs), part))
	}
	r.Got = got
	return r.cannotTell(fmt.Sprintf("busy time from %s is only right to %d ns for each CPU", e.Host.BusySource, e.Host.ResolutionNanoseconds), "use a longer window")
}
