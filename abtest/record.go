package abtest

import (
	"encoding/json"
	"time"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/loadgen"
	"github.com/tareperf/tare/pinning"
)

// SchemaVersion is written in every line of a record. Readers refuse lines of
// a version they do not know.
const SchemaVersion = 1

// Record is one session of one experiment as read from its file: JSON lines,
// each a [Line] with exactly one of its parts set. Lines are appended and
// synced one by one, so a file whose writer was killed is readable up to its
// last whole line.
//
// The first line holds the session (experiment, host, plan, binaries, code),
// then follow pilot, block, round and note lines in the order in which they
// happened, and last, if the session ended by itself, an end line.
type Record struct {
	Path    string
	Session Session
	Pilot   *Pilot
	Blocks  []Block
	Rounds  []RoundRecord
	Notes   []Note
	End     *End

	// Torn reports that the last line is not whole: its writer was killed
	// or the disk was full. The line is ignored.
	Torn bool

	// Last is when the last whole line was written.
	Last time.Time

	size int64 // bytes up to the end of the last whole line
}

// Line is one line of a record. Kind says which part is set.
type Line struct {
	V       int          `json:"v"`
	Kind    string       `json:"kind"`
	Time    time.Time    `json:"time"`
	Session *Session     `json:"session,omitempty"`
	Pilot   *Pilot       `json:"pilot,omitempty"`
	Block   *Block       `json:"block,omitempty"`
	Round   *RoundRecord `json:"round,omitempty"`
	Note    *Note        `json:"note,omitempty"`
	End     *End         `json:"end,omitempty"`
}

// Session is the first line of a record: all that was fixed before the first
// round.
type Session struct {
	ID         string // host boot, pid and time: unique
	Name       string // of the experiment
	Experiment json.RawMessage
	// Fingerprint identifies the experiment with its defaults filled in;
	// Question what is asked, whatever the effort and the gates. Records with
	// equal questions are attempts at the same answer.
	Fingerprint string
	Question    string
	// Code identifies what answers: this binary and the arms' binaries.
	Code        string
	Arms        []ArmRecord
	Plan        Plan
	CPUs        pinning.Plan
	Placement   string // "cpuset v1", "cpuset v2" or "affinity"
	Host        pinning.Host
	BootID      string
	Metric      counters.Metric
	Origin      string
	Smoke       bool
	Gates       gate.Thresholds // in force
	Equivalence float64         // bound in percent that was declared, 0 for none
	Attempt     int             // 1 + earlier records of the same question in the directory
	Unreadable  int             // files of this experiment's name in the directory that are no readable record
	Conditions  []string
}

// ArmRecord says what an arm is.
type ArmRecord struct {
	Name     string
	Placebo  bool
	Baseline bool
	Target   string // kind
	Binary   string // path
	SHA256   string
	Version  string
	Build    string        // where the binary is from, as far as known
	Flags    []string      // of its command line
	Declared []string      // differences from the baseline, one sentence each
	Period   time.Duration // longest period that the arm declares, 0 for none
}

// Pilot is what the pilot found. Its rate is frozen for the whole record.
type Pilot struct {
	Rate        float64 // requests per second for each arm
	Given       bool    // true if the experiment named the rate
	Steps       []PilotStep
	LoweredFrom float64 `json:",omitempty"` // rate before arms were brought under their busy limits
	LoweredFor  string  `json:",omitempty"` // which arm, or the arms together
}

// PilotStep is one try of the pilot.
type PilotStep struct {
	Rate float64            // requests per second for each live arm
	Busy map[string]float64 // share of the proxy's CPUs, by arm
}

// Block is a stretch between two starts of the arms' processes. Restart has
// no blocks: each run is a start.
type Block struct {
	Index  int
	Starts []string // names of arms in the order in which they were started
}

// RoundRecord is one round, kept or not.
type RoundRecord struct {
	Index   int  // of the round in the plan
	Block   int  // index of the block it ran in
	Attempt int  // 1 for the first try
	Kept    bool // all gates passed
	// Interrupted says why the round ended early; such a round is not kept.
	Interrupted string `json:",omitempty"`
	Runs        []RunRecord
	Gates       gate.Results // every gate that did not pass
	Passed      int          // how many gate results passed
}

// RunRecord is one window: one arm under load in Restart, two in Duet.
type RunRecord struct {
	Samples         []Sample // of the live arms, baseline first in Duet
	Generator       loadgen.GeneratorReport
	Host            gate.HostEvidence
	WallNanoseconds int64         // from the first counter reading to the last
	Failed          []string      // arms whose own gates did not pass in this run
	Origin          *OriginCounts // what the origin did in the window, by its own count; nil if it could not say
}

// Sample is what one arm did in one window.
type Sample struct {
	Arm      string
	Start    int     // ordinal of this process start of the arm in the session
	Position int     // of the run in its round
	Rate     float64 // requests per second asked
	Load     loadgen.TargetReport
	Cost     counters.Delta
	// Busy is CPU time over the load's duration and the proxy's CPUs.
	Busy float64
	// Served is what the proxy itself says, by its own names.
	Served map[string]int64
	// Workers is the run time of each worker thread in nanoseconds.
	Workers map[string]int64
}

// PerRequest is the cost of one completed request in the metric's unit:
// nanoseconds or cycles.
func (s Sample) PerRequest() float64 { return s.Cost.Value / float64(s.Load.Completed) }

// Note is something that happened and is no round.
type Note struct {
	Text string
	// Resumed marks the place where a later process took the record up.
	Resumed bool `json:",omitempty"`
}

// End closes a record whose session ended by itself.
type End struct {
	// Complete is true if every planned round was kept.
	Complete bool
	Reason   string `json:",omitempty"`
}
