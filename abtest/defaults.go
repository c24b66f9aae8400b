package abtest

import (
	"fmt"
	"os"
	"time"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/loadgen"
)

// InputError is an experiment that cannot be run as it is written. Nothing was
// started.
type InputError struct {
	Field string // of Experiment, with the arm's name where it is about one
	Value string
	Want  string // what to write instead
}

func (e *InputError) Error() string {
	return fmt.Sprintf("experiment field %s is %s; %s", e.Field, e.Value, e.Want)
}

const (
	minWindow = 500 * time.Millisecond
	maxWindow = 5 * time.Minute
	minRounds = 2
	maxRounds = 10000
	// More rows than this cannot survive their family's correction.
	maxVariants = 100
)

// withDefaults returns e with every open field filled in, or an *InputError.
func (e Experiment) withDefaults() (Experiment, error) {
	if e.Name == "" {
		return e, &InputError{"Name", `""`, "give the experiment a name"}
	}
	if e.Metric == "" {
		e.Metric = counters.Cycles
	}
	if e.Way == "" {
		e.Way = Duet
	}
	if e.Way != Duet && e.Way != Restart {
		return e, &InputError{"Way", fmt.Sprintf("%q", e.Way), "use abtest.Duet or abtest.Restart"}
	}
	if e.Origin == nil {
		e.Origin = EmbeddedOrigin{}
	}
	switch o := e.Origin.(type) {
	case Nginx:
		o.BodySize, e.Origin = bodySize(o.BodySize), nil
		e.Origin = o
	case EmbeddedOrigin:
		o.BodySize = bodySize(o.BodySize)
		e.Origin = o
	default:
		return e, &InputError{"Origin", fmt.Sprintf("a %T", e.Origin), "use abtest.Nginx or abtest.EmbeddedOrigin"}
	}
	if e.Rounds == 0 {
		e.Rounds = map[Way]int{Duet: 24, Restart: 12}[e.Way]
	}
	if e.Window == 0 {
		e.Window = map[Way]time.Duration{Duet: 3 * time.Second, Restart: 4 * time.Second}[e.Way]
	}
	if e.Warmup == 0 {
		e.Warmup = 2 * time.Second
	}
	if e.smoke {
		// Half a second is short for every gate, and nothing is priced.
		e.Rounds, e.Blocks, e.Redo = minRounds, 0, 20
		e.Window, e.Warmup = minWindow, minWindow
	}
	if e.RecordDir == "" {
		e.RecordDir = os.Getenv("TARE_RECORD_DIR")
	}
	if e.RecordDir == "" {
		e.RecordDir = "tare-records"
	}
	if e.Load.Arrival == "" {
		e.Load.Arrival = loadgen.Jitter
	}
	if e.Load.Host == "" {
		// The same bytes to every arm, whatever port it listens on.
		e.Load.Host = "tare.test"
	}
	return e, e.check()
}

func bodySize(n int) int {
	if n == 0 {
		return 4096
	}
	return n
}

func (e Experiment) check() error {
	if err := e.Load.Validate(); err != nil {
		return fmt.Errorf("experiment %s: %w", e.Name, err)
	}
	if size := e.bodySize(); size < 0 || size > 64<<20 {
		return &InputError{"Origin.BodySize", fmt.Sprint(size), "use 0 to 67108864 bytes"}
	}
	for _, d := range []struct {
		field  string
		value  time.Duration
		lo, hi time.Duration
	}{{"Window", e.Window, minWindow, maxWindow}, {"Warmup", e.Warmup, 100 * time.Millisecond, maxWindow}} {
		if d.value < d.lo || d.value > d.hi {
			return &InputError{d.field, d.value.String(), fmt.Sprintf("use %v to %v, or 0 for the default", d.lo, d.hi)}
		}
	}
	for _, n := range []struct {
		field  string
		value  int
		lo, hi int
	}{
		{"Rounds", e.Rounds, minRounds, maxRounds}, {"Blocks", e.Blocks, 0, e.Rounds},
		{"Redo", e.Redo, 0, maxRounds}, {"ProxyCPUs", e.ProxyCPUs, 0, 1 << 16},
	} {
		if n.value < n.lo || n.value > n.hi {
			return &InputError{n.field, fmt.Sprint(n.value), fmt.Sprintf("use %d to %d, or 0 for the default", n.lo, n.hi)}
		}
	}
	if e.Way == Duet && e.Rounds < minBlocks && !e.smoke {
		return &InputError{"Rounds", fmt.Sprint(e.Rounds), fmt.Sprintf("use at least %d in a duet: the interval is computed over that many blocks", minBlocks)}
	}
	if e.Blocks != 0 && e.Blocks < minBlocks && !e.smoke {
		return &InputError{"Blocks", fmt.Sprint(e.Blocks), fmt.Sprintf("use at least %d: the interval is computed over blocks", minBlocks)}
	}
	if e.Equivalence < 0 || e.Equivalence != e.Equivalence || e.Equivalence > 100 {
		return &InputError{"Equivalence", fmt.Sprint(e.Equivalence), "use a bound in percent, 0 to 100"}
	}
	if e.Resume != ResumeAuto && e.Resume != ResumeNever && e.Resume != ResumeMust {
		return &InputError{"Resume", fmt.Sprintf("%q", e.Resume), "use abtest.ResumeAuto, ResumeNever or ResumeMust"}
	}
	if err := e.Gates.Validate(); err != nil {
		return fmt.Errorf("experiment %s: %w", e.Name, err)
	}
	return e.checkArms()
}

func (e Experiment) checkArms() error {
	if n := len(e.Variants); n > maxVariants {
		return &InputError{"Variants", fmt.Sprintf("%d arms", n), fmt.Sprintf("give at most %d", maxVariants)}
	}
	if len(e.Variants) == 0 {
		return &InputError{"Variants", "empty", "give at least one arm to compare with the baseline"}
	}
	seen, placebo := map[string]bool{}, ""
	for i, a := range e.arms() {
		field := "Baseline"
		if i > 0 {
			field = fmt.Sprintf("Variants[%d]", i-1)
		}
		switch {
		case a.Name == "":
			return &InputError{field + ".Name", `""`, "name the arm"}
		case seen[a.Name]:
			return &InputError{field + ".Name", fmt.Sprintf("%q, a second time", a.Name), "give every arm its own name"}
		case a.Target == nil:
			return &InputError{field + ".Target", "nil", "give the arm a target, for example envoy.Proxy"}
		case a.Placebo && placebo != "":
			return &InputError{field + ".Placebo", "true, as of " + placebo, "declare one placebo"}
		case i == 0 && a.Placebo:
			return &InputError{field + ".Placebo", "true", "only a variant can be a placebo"}
		}
		seen[a.Name] = true
		if a.Placebo {
			placebo = a.Name
		}
	}
	return nil
}

func (e Experiment) bodySize() int {
	switch o := e.Origin.(type) {
	case Nginx:
		return o.BodySize
	case EmbeddedOrigin:
		return o.BodySize
	}
	return 0
}
