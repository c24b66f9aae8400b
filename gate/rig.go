package gate

import (
	"fmt"
	"slices"
	"strings"
)

// SpreadEvidence is how the work was spread over the proxy's workers.
type SpreadEvidence struct {
	Arm     string
	Workers []WorkerTime // one for each worker thread
	Want    int          // how many workers the proxy was told to have; 0 is unknown
}

// WorkerTime is the run time of one worker thread in the window.
type WorkerTime struct {
	Name           string
	RunNanoseconds int64
}

// Spread passes when no worker did much more than its even share.
func Spread(t Thresholds, e SpreadEvidence) Result {
	r, decided := t.begin(NameSpread, e.Arm)
	if decided {
		return r
	}
	n := len(e.Workers)
	if n == 0 || e.Want <= 0 {
		return r.cannotTell(fmt.Sprintf("%d workers were seen of %d that should be there", n, e.Want), "give the run time of each worker thread and their number")
	}
	if n != e.Want {
		return r.fail(fmt.Sprintf("%d workers", n), fmt.Sprintf("the proxy was told to have %d workers and has %d", e.Want, n), "check the proxy's concurrency")
	}
	if n == 1 {
		r.Want = "any"
		return r.pass("one worker, nothing to spread")
	}
	var sum int64
	most := e.Workers[0]
	for _, w := range e.Workers {
		if w.RunNanoseconds < 0 {
			return r.cannotTell(fmt.Sprintf("the run time of worker %s is %d ns", w.Name, w.RunNanoseconds), "read the threads again")
		}
		sum += w.RunNanoseconds
		if w.RunNanoseconds > most.RunNanoseconds {
			most = w
		}
	}
	if sum == 0 {
		return r.cannotTell("no worker ran", "look at the gates rate and served")
	}
	limit := t.SpreadFactor / float64(n)
	r.Want = fmt.Sprintf("no worker above %s (%.3g/%d)", percent(limit), t.SpreadFactor, n)
	got := fmt.Sprintf("%s did %s", most.Name, percent(float64(most.RunNanoseconds)/float64(sum)))
	if float64(most.RunNanoseconds) > limit*float64(sum) {
		return r.fail(got, "connections fell unevenly on the workers", "use more connections for each worker, or exact connection balance in all arms")
	}
	return r.pass(got)
}

// WholeWindowEvidence is whether a counter counted all of an arm, always.
type WholeWindowEvidence struct {
	Arm                string
	Metric             string  // "cycles", or "cpu-time" for the process CPU clock
	EnabledNanoseconds int64   // sum over threads
	RunningNanoseconds int64   // sum over threads
	Coverage           float64 // counted time over the process CPU clock; 0 is unknown
	StealShare         float64 // of the CPUs' time in the window; widens the upper limit of coverage
	// CoverageMin and CoverageMax are the bounds that the counter itself works
	// out for this window, from its context switches and stolen time; 0: the
	// thresholds' bounds.
	CoverageMin, CoverageMax float64
	Error                    string // why there is no value; empty when there is one
}

// WholeWindow passes when the counter ran whenever it was enabled and covered
// every thread. The process CPU clock cannot be multiplexed and misses no
// thread, so for "cpu-time" no times and no coverage are needed; what is given
// is checked.
func WholeWindow(t Thresholds, e WholeWindowEvidence) Result {
	r, decided := t.begin(NameWholeWindow, e.Arm)
	if decided {
		return r
	}
	r.Want = "counted the whole window"
	if e.Error != "" {
		return r.fail("no value", e.Error, "the run is lost; it is repeated")
	}
	clock := e.Metric == "cpu-time"
	if clock && e.EnabledNanoseconds == 0 && e.RunningNanoseconds == 0 && e.Coverage == 0 {
		return r.pass("process CPU clock")
	}
	if e.Metric == "" || (!clock && (e.EnabledNanoseconds <= 0 || e.Coverage == 0)) || e.RunningNanoseconds < 0 {
		return r.cannotTell(fmt.Sprintf("the evidence is incomplete: metric %q, enabled %d ns, running %d ns, coverage %v",
			e.Metric, e.EnabledNanoseconds, e.RunningNanoseconds, e.Coverage), "report the times of the counter")
	}
	if e.EnabledNanoseconds != e.RunningNanoseconds {
		return r.fail(fmt.Sprintf("ran %d of %d ns", e.RunningNanoseconds, e.EnabledNanoseconds),
			"the counter shared its hardware: another user of perf, the NMI watchdog, or too few counters", "stop other perf users; set kernel.nmi_watchdog=0")
	}
	if e.Coverage != 0 {
		low, high := t.CoverageMin, t.CoverageMax+e.StealShare
		if e.CoverageMin > 0 {
			low = e.CoverageMin
		}
		if e.CoverageMax > 0 {
			high = e.CoverageMax
		}
		got := fmt.Sprintf("covered %s of the process CPU clock", percent(e.Coverage))
		if !(e.Coverage >= low && e.Coverage <= high) {
			r.Want += fmt.Sprintf(", covering %s to %s", percent(low), percent(high))
			return r.fail(got, "threads were missed or counted twice, or stolen and interrupt time is charged differently", "start the proxy under the harness, held at exec")
		}
		return r.pass(got)
	}
	return r.pass("ran whenever enabled")
}

// IdleStatesEvidence is the settings of the CPUs' idle states at both borders.
type IdleStatesEvidence struct {
	Start, End map[string]string // setting to value, at least "driver"; "none" where there is no driver
	Error      string            // why they could not be read
}

// IdleStates passes when the settings at the end are those of the start.
func IdleStates(t Thresholds, e IdleStatesEvidence) Result {
	r, decided := t.begin(NameIdleStates, "")
	if decided {
		return r
	}
	r.Want = "idle-state settings equal at start and end"
	if e.Error != "" || e.Start["driver"] == "" || e.End["driver"] == "" {
		return r.cannotTell(or(e.Error, "the settings were not read at both borders"), "let the harness read /sys/devices/system/cpu")
	}
	var changed []string
	for _, key := range sortedKeys(e.Start) {
		if end, ok := e.End[key]; !ok || end != e.Start[key] {
			changed = append(changed, fmt.Sprintf("%s was %q and is %q", key, e.Start[key], end))
		}
	}
	for _, key := range sortedKeys(e.End) {
		if _, ok := e.Start[key]; !ok {
			changed = append(changed, fmt.Sprintf("%s appeared as %q", key, e.End[key]))
		}
	}
	if len(changed) > 0 {
		return r.fail(fmt.Sprintf("%d settings changed", len(changed)), clipList(changed, 3), "find what manages power on this host (tuned, a latency request on /dev/cpu_dma_latency, another user) and stop it")
	}
	return r.pass(fmt.Sprintf("driver %s, %d settings equal", e.Start["driver"], len(e.Start)))
}

// PinningEvidence is whether every thread may run only where it was put.
type PinningEvidence struct {
	Arm        string
	Checked    int      // processes looked at; 0 is unknown
	Violations []string // each names the thread, where it may run and where it should
	Error      string   // why it could not be looked at
}

// Pinning passes when no thread left its place.
func Pinning(t Thresholds, e PinningEvidence) Result {
	r, decided := t.begin(NamePinning, e.Arm)
	if decided {
		return r
	}
	r.Want = "every thread where the plan put it"
	if len(e.Violations) > 0 {
		return r.fail(fmt.Sprintf("%d violations", len(e.Violations)), clipList(e.Violations, 3), "find who moved it: another tool that sets affinities, or the program itself")
	}
	if e.Error != "" || e.Checked <= 0 {
		return r.cannotTell(or(e.Error, "no process was looked at"), "verify each process of the plan at both borders")
	}
	return r.pass(fmt.Sprintf("%d processes in place", e.Checked))
}

// IdentityEvidence is whether the process under test is the one that was meant.
type IdentityEvidence struct {
	Arm                      string
	WantDigest, GotDigest    string   // SHA-256 of the executable: as found, and of the running process; empty is unknown
	WantBuildType, BuildType string   // such as "RELEASE"; no WantBuildType: the proxy has none
	WantFlags, GotFlags      []string // command line without the executable; nil WantFlags: not asked
	Error                    string   // why it could not be looked at
}

// Identity passes when the running executable, its build type and its command
// line are those that were meant.
func Identity(t Thresholds, e IdentityEvidence) Result {
	r, decided := t.begin(NameIdentity, e.Arm)
	if decided {
		return r
	}
	r.Want = "executable " + short(e.WantDigest)
	if e.WantBuildType != "" {
		r.Want += ", build type " + e.WantBuildType
	}
	if e.Error != "" || e.WantDigest == "" || e.GotDigest == "" {
		return r.cannotTell(or(e.Error, "the digest of the executable is unknown"), "let the harness read /proc/PID/exe")
	}
	if e.GotDigest != e.WantDigest {
		return r.fail("executable "+short(e.GotDigest), "another executable than the one that was described is running: it was replaced between start and look", "do not install or rebuild while measuring")
	}
	if e.WantBuildType != "" {
		switch e.BuildType {
		case e.WantBuildType:
		case "":
			return r.cannotTell("the proxy does not say its build type", "ask its admin interface for server_info")
		default:
			return r.fail("build type "+e.BuildType, "the executable was not built for production", "measure a release build")
		}
	}
	if e.WantFlags != nil && !slices.Equal(e.WantFlags, e.GotFlags) {
		return r.fail("flags "+strings.Join(e.GotFlags, " "), "the command line is not the planned one: "+strings.Join(e.WantFlags, " "), "check wrappers and flags of this arm")
	}
	got := "executable " + short(e.GotDigest)
	if e.BuildType != "" {
		got += ", build type " + e.BuildType
	}
	return r.pass(got)
}

// OriginEvidence is whether the origin is alive and answers.
type OriginEvidence struct {
	Name     string
	Pid      int
	Comm     string
	State    string // letter of /proc/PID/stat; empty with Gone or Error
	LastCPU  int
	Gone     bool // no such process any more
	Answered bool // whether it answered a request at this border
	// Closed is connections to the origin that ended in the window, by whomever;
	// a proxy that has to connect again pays for something else than what is
	// priced. Nil: the origin does not count them, and nothing is said.
	Closed *int64
	Error  string // why it did not answer, or could not be looked at
}

// Origin passes when the origin's process runs and answered.
func Origin(t Thresholds, e OriginEvidence) Result {
	r, decided := t.begin(NameOrigin, "")
	if decided {
		return r
	}
	r.Want = "origin alive and answering"
	who := fmt.Sprintf("%s %q (pid %d)", or(e.Name, "origin"), e.Comm, e.Pid)
	on := fmt.Sprintf(" on CPU %d", e.LastCPU)
	switch {
	case e.Gone:
		return r.fail("no process", fmt.Sprintf("%s is gone", who), "look at the origin's log")
	case e.State == "T" || e.State == "t":
		return r.fail("stopped", fmt.Sprintf("%s%s is stopped by a signal or a tracer", who, on), fmt.Sprintf("kill -CONT %d, and find who stopped it", e.Pid))
	case e.State == "Z" || e.State == "X":
		return r.fail("dead", fmt.Sprintf("%s%s is dead", who, on), "look at the origin's log")
	case e.State == "":
		return r.cannotTell(or(e.Error, "nobody looked at the origin"), "let the harness read /proc")
	case !e.Answered:
		return r.fail("no answer", fmt.Sprintf("%s%s did not answer: %s", who, on, or(e.Error, "no reason given")), "send it one request by hand; look at its log")
	}
	if e.Closed != nil && *e.Closed != 0 {
		return r.fail(fmt.Sprintf("%d connections to it ended in the window", *e.Closed), who+": connections between proxy and origin did not last",
			"raise keep-alive limits and idle time-outs of the origin and of the proxy's pool")
	}
	return r.pass("answering, state " + e.State)
}

func short(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	return digest
}

func clipList(list []string, n int) string {
	if len(list) > n {
		return strings.Join(list[:n], "; ") + fmt.Sprintf("; and %d more", len(list)-n)
	}
	return strings.Join(list, "; ")
}
