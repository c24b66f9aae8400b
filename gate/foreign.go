package gate

import (
	"fmt"
	"slices"
	"time"
)

// ForeignEvidence is what ran on the proxy's CPUs and what had business there.
type ForeignEvidence struct {
	Arm  string
	CPUs []int        // the proxy's, with the siblings that are left idle
	Host HostEvidence // over the window
	Arms []ArmTime    // everything under test that was alive there; none is a statement too
	// OwnNanoseconds is CPU time of other processes of the harness on these
	// CPUs, if it has business there. Default 0, since they belong elsewhere.
	OwnNanoseconds int64
}

// ArmTime is the CPU time of one live arm, by its own counter.
type ArmTime struct {
	Name           string
	Pids           []int
	CPUNanoseconds int64
}

// lagNanoseconds is by how much, for each CPU and border, the busy time of a
// running CPU may trail the CPU clock of what runs on it: one scheduler tick
// at 100 a second.
const lagNanoseconds = int64(10 * time.Millisecond)

// ForeignBefore passes when the proxy's CPUs were free of other work while
// nothing was asked of the proxy.
func ForeignBefore(t Thresholds, e ForeignEvidence) Result {
	r, decided := t.begin(NameForeignBefore, e.Arm)
	if decided {
		return r
	}
	return foreign(r, e, t.ForeignBefore, 0)
}

// ForeignDuring is ForeignBefore under load, with its own limit. Time of the
// kernel threads bound to these CPUs is not foreign up to KernelDuring, because
// the load itself gives them work (network interrupts, the arm's writes).
func ForeignDuring(t Thresholds, e ForeignEvidence) Result {
	r, decided := t.begin(NameForeignDuring, e.Arm)
	if decided {
		return r
	}
	return foreign(r, e, t.ForeignDuring, t.KernelDuring)
}

func foreign(r Result, e ForeignEvidence, limit, kernelLimit float64) Result {
	r.Want = fmt.Sprintf("at most %s of each of the CPUs %s for other work", percent(limit), cpuList(e.CPUs))
	busy, err := e.Host.busyOn(e.CPUs)
	if err != nil {
		return r.cannotTell(err.Error(), "give the busy time of each of the proxy's CPUs")
	}
	var arms int64
	var armPids []int
	for _, a := range e.Arms {
		if a.CPUNanoseconds < 0 {
			return r.cannotTell(fmt.Sprintf("the CPU time of arm %s is unknown", a.Name), "look at the gate whole window")
		}
		arms += a.CPUNanoseconds
		armPids = append(armPids, a.Pids...)
	}
	var others []Process
	kernel, perCPU := int64(0), map[int]int64{}
	for _, p := range e.Host.Processes {
		if slices.Contains(armPids, p.Pid) || !p.touches(e.CPUs) {
			continue
		}
		others = append(others, p)
		if p.Kernel && p.bound(e.CPUs) {
			kernel += p.inWindow(p.RunNanoseconds, e.Host.WallNanoseconds)
			continue
		}
		for cpu, ns := range p.OnCPU {
			perCPU[cpu] += p.inWindow(ns, e.Host.WallNanoseconds)
		}
	}
	n := float64(len(e.CPUs))
	wall := float64(e.Host.WallNanoseconds)
	excused := min(kernel, int64(kernelLimit*wall*n))
	rest := busy - arms - e.OwnNanoseconds - excused
	doubt := e.Host.ResolutionNanoseconds * int64(len(e.CPUs))

	share := func(ns int64) string { return percent(max(float64(ns), 0) / wall / n) }
	r.Got = fmt.Sprintf("%s of the CPUs: %s busy less %s of the arms", share(rest), share(busy), share(arms))
	if excused > 0 {
		r.Got += " less " + share(excused) + " of bound kernel threads"
	}
	if tolerated := doubt + 2*lagNanoseconds*int64(len(e.CPUs)) + arms/50; rest < -tolerated {
		return r.cannotTell(fmt.Sprintf("the arms were charged %s more than CPUs %s were busy, so they ran elsewhere too or the clocks disagree",
			time.Duration(-rest), cpuList(e.CPUs)), "look at the gates pinning and whole window")
	}

	names := topNames(others, e.CPUs, e.Host.WallNanoseconds, 3)
	if names == "" {
		names = "nothing that can be seen: processes that began and ended within the window, or that are hidden from this user"
	}
	fix := fmt.Sprintf("stop it or keep it off CPUs %s", cpuList(e.CPUs))
	allowance := limit * wall * n
	if float64(rest-doubt) > allowance {
		return r.fail(r.Got, names, fix)
	}
	// With several CPUs the sum can hide one that is loaded: threads tell. A
	// thread may have run elsewhere before it was last seen here, but together
	// they ran here no longer than what is left unexplained.
	for _, cpu := range e.CPUs {
		if here := min(perCPU[cpu], rest); len(e.CPUs) > 1 && float64(here) > limit*wall {
			r.Got += fmt.Sprintf("; CPU %d alone %s", cpu, percent(float64(here)/wall))
			return r.fail(r.Got, topNames(others, []int{cpu}, e.Host.WallNanoseconds, 3), fix)
		}
	}
	if float64(rest+doubt) > allowance {
		return r.cannotTell(fmt.Sprintf("busy time from %s is right to %s for each CPU, too coarse for %s of a window of %s",
			e.Host.BusySource, time.Duration(e.Host.ResolutionNanoseconds), percent(limit), time.Duration(e.Host.WallNanoseconds)),
			fmt.Sprintf("use a window of at least %s", time.Duration(2*float64(e.Host.ResolutionNanoseconds)/limit).Round(100*time.Millisecond)))
	}
	return r.pass(r.Got)
}

// LeftoversEvidence is a search for processes like those under test that are
// not of this rig.
type LeftoversEvidence struct {
	Looked bool      // whether anyone searched
	Error  string    // why the search failed; empty when it did not
	CPUs   []int     // the proxy's
	Twins  []Process // same executable as an arm, not of this rig, wherever it runs
}

// Leftovers passes when no process with an executable under test, left from
// before or started by someone else, may run on the proxy's CPUs. It need not
// be busy to disturb: it may hold a port, a shared-memory id or a file.
func Leftovers(t Thresholds, e LeftoversEvidence) Result {
	r, decided := t.begin(NameLeftovers, "")
	if decided {
		return r
	}
	r.Want = fmt.Sprintf("no other process with an executable under test on CPUs %s", cpuList(e.CPUs))
	if !e.Looked || e.Error != "" || len(e.CPUs) == 0 {
		return r.cannotTell(or(e.Error, "nobody looked for them"), "let the harness read /proc")
	}
	var there []Process
	for _, p := range e.Twins {
		if p.mayRunOn(e.CPUs) {
			there = append(there, p)
		}
	}
	if len(there) == 0 {
		return r.pass("none")
	}
	cause := ""
	for i, p := range there {
		if i > 0 {
			cause += "; "
		}
		cause += fmt.Sprintf("%s may run on CPU %s", p.name(), cpuList(p.AllowedCPUs))
		if p.Exe != "" {
			cause += ", executable " + p.Exe
		}
	}
	return r.fail(fmt.Sprintf("%d", len(there)), cause, fmt.Sprintf("stop it (kill %d) or keep it off CPUs %s", there[0].Pid, cpuList(e.CPUs)))
}
