package abtest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/pinning"
)

// describe fills the record's first line: what is asked, what answers, and the
// conditions that will stand beside every number.
func (s *session) describe() error {
	var err error
	h := &s.header
	h.Name, h.Plan, h.CPUs, h.Metric = s.e.Name, s.plan, s.cpus, s.e.Metric
	h.Smoke, h.Equivalence, h.Gates = s.e.smoke, s.e.Equivalence, s.e.Gates.WithDefaults()
	if h.Fingerprint, h.Question, h.Experiment, err = fingerprints(s.e); err != nil {
		return err
	}
	if h.BootID, err = s.fs.BootID(); err != nil {
		return err
	}
	if h.Host, err = pinning.ReadHost(s.fs); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	code, err := fileSHA256(self)
	if err != nil {
		return err
	}
	parts := []string{code}
	for _, a := range s.arms {
		h.Arms = append(h.Arms, a.record)
		parts = append(parts, a.record.SHA256)
	}
	if s.nginx.Path != "" {
		sum, err := fileSHA256(s.nginx.Path)
		if err != nil {
			return err
		}
		parts = append(parts, sum)
	}
	h.Code = strings.Join(parts, " ")
	h.Origin = s.originText()
	h.Conditions = s.conditions()
	return nil
}

func (s *session) originText() string {
	switch t := s.e.Origin.(type) {
	case Nginx:
		return fmt.Sprintf("nginx %s, %d-byte bodies", s.nginx.Version, t.BodySize)
	case EmbeddedOrigin:
		return fmt.Sprintf("embedded origin, %d-byte bodies", t.BodySize)
	}
	return ""
}

// conditions are sentences, each complete without the others.
func (s *session) conditions() []string {
	var c []string
	add := func(format string, args ...any) { c = append(c, fmt.Sprintf(format, args...)) }
	h := s.header.Host
	add("host: %s", hostText(h))
	add("metric: %s", metricText(s.e.Metric))
	add("way: %s", s.wayText())
	add("CPUs: proxy %s, generator %s, origin %s", s.cpus.Proxy, s.cpus.Generator, s.cpus.Origin)
	for _, g := range s.cpus.GaveUp {
		add("given up: %s", g)
	}
	spec := s.e.Load
	add("load: open loop, %s arrivals, %d connections to each arm over loopback, %s",
		spec.Arrival, spec.Connections, s.header.Origin)
	for _, a := range s.arms {
		c = append(c, armText(a.record, s.arms[0].record))
	}
	if p := longestPeriod(s.arms); p > 0 {
		add("what an arm puts off is charged to the window that caused it: each window ends %v after its last answer, in every arm", s.plan.Settle)
	}
	for _, name := range gate.Names() {
		if reason, off := s.e.Gates.Off[name]; off {
			add("gate %q off: %s", name, reason)
		}
	}
	limits := s.e.Gates
	limits.Off = nil
	if text, err := json.Marshal(limits); err == nil && string(text) != "{}" {
		add("gate limits changed from their defaults: %s", text)
	}
	return c
}

// armText says what an arm is; of the others only what is not as in the
// baseline.
func armText(a, baseline ArmRecord) string {
	var parts []string
	if a.Baseline || a.SHA256 != baseline.SHA256 {
		parts = append(parts, a.Target, a.Version, a.Build, "SHA-256 "+a.SHA256)
	}
	if len(a.Flags) > 0 && (a.Baseline || !slices.Equal(a.Flags, baseline.Flags)) {
		parts = append(parts, strings.Join(a.Flags, " "))
	}
	switch {
	case a.Baseline:
		parts = append(parts, "the baseline")
	case a.Placebo:
		parts = append(parts, "equal to the baseline")
	default:
		for _, d := range a.Declared {
			parts = append(parts, "differs in "+clip(d, 300))
		}
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return fmt.Sprintf("arm %q: %s", a.Name, strings.Join(parts, "; "))
}

// hostText is the host in one line: what decides what a request costs.
func hostText(h pinning.Host) string {
	parts := []string{h.CPUModel, h.Architecture, fmt.Sprintf("%d CPUs online", h.OnlineCPUs.Len()), "Linux " + h.Kernel}
	for _, p := range []struct{ name, value string }{
		{"virtualisation", h.Virtualisation}, {"SMT", h.SMT}, {"frequency driver", h.FrequencyDriver},
		{"governor", strings.Join(h.Governors, ",")}, {"turbo", h.Turbo}, {"idle driver", h.IdleDriver},
		{"idle states", strings.Join(h.IdleStates, ",")}, {"microcode", h.Microcode},
	} {
		if p.value == "" {
			p.value = "unknown"
		}
		parts = append(parts, p.name+" "+p.value)
	}
	return strings.Join(parts, ", ")
}

func metricText(m counters.Metric) string {
	if m == counters.CPUTime {
		return "CPU time of the whole proxy process, user and kernel, by the process CPU clock (not cycles: chosen by name)"
	}
	return string(m) + " of the whole proxy process, user and kernel"
}

func (s *session) wayText() string {
	p := s.plan
	if p.Way == Restart {
		return fmt.Sprintf("restart: a fresh process for each run, one at a time; %d rounds, %v windows after %v of warm-up", p.Rounds, p.Window, p.Warmup)
	}
	return fmt.Sprintf("duet: baseline and one other arm alive at once on the same CPUs, arrivals split in random order; %d rounds of %v windows in %d blocks of fresh processes", p.Rounds, p.Window, len(p.Blocks))
}

// result reads the record back and computes everything from it, and writes the
// rows beside it.
func (s *session) result() (Result, error) {
	r, err := ReadRecord(s.record.path)
	if err != nil {
		return Result{RecordPath: s.record.path}, err
	}
	result, err := Analyze(r)
	if err != nil {
		return result, err
	}
	result.Took = time.Since(s.began)
	result.RowsPath = strings.TrimSuffix(s.record.path, ".jsonl") + ".txt"
	if err := os.WriteFile(result.RowsPath, []byte(result.Text()), 0o644); err != nil {
		return result, &RecordError{Path: result.RowsPath, Err: err}
	}
	return result, nil
}

// typed is how a target or an origin stands in a record: with its kind.
type typed struct {
	Kind  string `json:"kind"`
	Value any    `json:"value"`
}

// MarshalJSON writes the arm with its target's kind as a type tag.
func (a Arm) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name    string
		Target  typed
		Placebo bool `json:",omitempty"`
	}{a.Name, typed{a.Target.Kind(), a.Target}, a.Placebo})
}

// MarshalJSON writes the experiment with its origin's kind as a type tag.
func (e Experiment) MarshalJSON() ([]byte, error) {
	type plain Experiment
	return json.Marshal(struct {
		plain
		Origin typed
	}{plain(e), typed{e.Origin.Kind(), e.Origin}})
}
