package abtest

import (
	"io"
	"time"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/loadgen"
)

// Experiment is one baseline arm, one or more variant arms, one load and one
// primary metric. The zero value of every field but Baseline and Variants is
// the safe default. An experiment marshals to JSON whole, with type tags on
// targets and origin, and is part of the first line of its record.
type Experiment struct {
	// Name names the experiment in records and rows. Default in Run: the
	// name of the test. Measure needs it.
	Name string

	// Baseline is what every variant is compared with.
	Baseline Arm

	// Variants are the arms to be priced. Their rows form one family: they
	// are corrected together.
	Variants []Arm

	// NoPlacebo declines the placebo, an arm equal to the baseline that is
	// measured beside the variants, and says why; rows then have no floor
	// from their own minutes and cannot be findings. Default: a placebo,
	// unless a variant is declared one.
	NoPlacebo string

	// Origin is what the proxies forward to. Default: EmbeddedOrigin with
	// 4,096-byte bodies.
	Origin Origin

	// Load is the load, the same for every arm. Rate is in requests per
	// second for each arm; 0 lets the pilot find it.
	Load loadgen.Spec

	// Metric is what a request is charged in. Default: counters.Cycles. A
	// host without hardware counters refuses it; counters.CPUTime is the
	// weaker metric, chosen by name, and rows say which it was.
	Metric counters.Metric

	// Way is how a round is filled. Default: Duet.
	Way Way

	// Rounds is how many rounds are kept. Default: 12 (Restart) or 24
	// (Duet), rounded up to whole designs.
	Rounds int

	// Blocks is how many times a Duet session restarts its arms in fresh
	// processes, each block with an equal share of the rounds; at least 6,
	// because the interval is computed over blocks. Default: one for each two
	// rounds, at least 6. Restart ignores it.
	Blocks int

	// Window is the measured part of one run, 0.5 s to 5 minutes; rounded up
	// to whole periods of the arms in Restart. Default: 4 s (Restart) or 3 s
	// (Duet).
	Window time.Duration

	// Warmup is the load on a fresh process before its first window.
	// Default: 2 s.
	Warmup time.Duration

	// Redo is how many gate-failed rounds are run again before the
	// experiment is invalid. Default: as many as Rounds, at least 6.
	Redo int

	// ProxyCPUs is how many CPUs the proxies get. Default: by machine, 1 on
	// two CPUs.
	ProxyCPUs int

	// Gates holds the limits of the validity gates, and names those that are
	// switched off, each with its reason, which every row prints. Default:
	// package gate's limits, nothing off.
	Gates gate.Thresholds

	// Equivalence is the bound, in percent, for "no change bigger than X%".
	// Default: 0, the smallest bound that the data supports is reported.
	Equivalence float64

	// Seed makes the plan's random orders and arrivals repeatable. Default:
	// drawn and recorded.
	Seed uint64

	// RecordDir is where the record goes. Default: TARE_RECORD_DIR, else
	// tare-records in the working directory.
	RecordDir string

	// Resume says what to do with an unfinished record of this experiment
	// in RecordDir. Default: ResumeAuto.
	Resume Resume

	// Wait makes a run wait for another experiment on this host to end
	// instead of failing. Default: fail, naming the holder.
	Wait bool

	// Log receives one line per event and round. Run sets it to the test's
	// log. Default: none.
	Log io.Writer `json:"-"`

	smoke bool
}

// Arm is one configuration under test.
type Arm struct {
	// Name is unique in the experiment.
	Name string

	// Target is what is started and charged.
	Target Target

	// Placebo declares that the arm equals the baseline on purpose. Without
	// it such an arm is an error.
	Placebo bool
}

// Target is what is described, started and charged for CPU: an envoy.Proxy or
// an EmbeddedProxy.
type Target interface {
	// Kind is the type tag in records.
	Kind() string
}

// Way is how a round is filled.
type Way string

const (
	// Duet has two arms alive at once on the same CPUs, and each pair of
	// arrivals is split between them in random order: whatever the machine
	// does, it does to both within milliseconds. With more than one other
	// arm, a round is the baseline against each of them in seeded rotation.
	// Arms are restarted in fresh processes at planned borders and the
	// interval is computed over the blocks between them. Arms share caches
	// and each runs at its own busy share, which is a condition of the row.
	Duet Way = "duet"

	// Restart starts a fresh process for each run, one arm alive at a time:
	// A-B-B-A alternating with B-A-A-B for two arms, a Williams design for
	// more. It is the way of published price lists.
	Restart Way = "restart"
)

// Resume says what becomes of an unfinished record of the same experiment.
type Resume string

const (
	// ResumeAuto continues the newest unfinished record when it is of the
	// same experiment, boot, binaries, code and CPU plan and its last line
	// is under ten minutes old; else it begins a new session and says why.
	ResumeAuto Resume = ""

	// ResumeNever always begins a new session.
	ResumeNever Resume = "never"

	// ResumeMust continues, or fails with a *ResumeError that says what
	// changed.
	ResumeMust Resume = "must"
)

// Origin is what the proxies forward to: Nginx or EmbeddedOrigin.
type Origin interface {
	// Kind is the type tag in records.
	Kind() string
}

// Nginx is nginx as a single process, without access log, with keep-alive
// limits far beyond a run.
type Nginx struct {
	// Path is the executable. Default: TARE_NGINX, PATH, /usr/sbin/nginx.
	Path string `json:",omitempty"`

	// BodySize is the size of every answer's body in bytes. Default: 4096.
	BodySize int
}

// Kind returns "nginx".
func (Nginx) Kind() string { return "nginx" }

// EmbeddedOrigin is this binary started again as a small HTTP/1.1 origin.
type EmbeddedOrigin struct {
	// BodySize is the size of every answer's body in bytes. Default: 4096.
	BodySize int
}

// Kind returns "embedded origin".
func (EmbeddedOrigin) Kind() string { return "embedded origin" }

// EmbeddedProxy is this binary started again as a small HTTP/1.1 reverse
// proxy: a real proxy with a real price for its access log, for trying the
// module on a machine that has no other.
type EmbeddedProxy struct {
	// AccessLog is "" (none), "text" or "json": one line per request into
	// access.log in the arm's run directory.
	AccessLog string

	// FlushInterval is how often the log is written out. Default: 1 s, in
	// every arm, whether it logs or not.
	FlushInterval time.Duration

	// Workers is how many threads run Go code. Default: the number of proxy
	// CPUs.
	Workers int
}

// Kind returns "embedded proxy".
func (EmbeddedProxy) Kind() string { return "embedded proxy" }
