package gate

import (
	"fmt"
	"slices"
	"strings"
)

// Thresholds are the limits of the gates. Zero means the default; a limit
// cannot be zero, a gate that is not wanted is switched off by name in Off.
type Thresholds struct {
	RateTolerance     float64 `json:"rate_tolerance,omitempty"`      // share of the wanted rate, either way; default 0.01; gate rate
	HeadroomIdleShare float64 `json:"headroom_idle_share,omitempty"` // idle share of the generator's and the origin's CPUs, at least; default 0.25; gate headroom
	BaselineBusyMin   float64 `json:"baseline_busy_min,omitempty"`   // busy share of the proxy's CPUs; default 0.25; gate baseline busy
	BaselineBusyMax   float64 `json:"baseline_busy_max,omitempty"`   // default 0.33; gate baseline busy
	ArmBusyMax        float64 `json:"arm_busy_max,omitempty"`        // default 0.60; gate arm busy
	LiveBusyMax       float64 `json:"live_busy_max,omitempty"`       // all live arms together; default 0.80; gate live busy
	ForeignBefore     float64 `json:"foreign_before,omitempty"`      // share of one CPU, before the load; default 0.005; gate foreign work before
	ForeignDuring     float64 `json:"foreign_during,omitempty"`      // share of one CPU, under load; default 0.01; gate foreign work during
	KernelDuring      float64 `json:"kernel_during,omitempty"`       // share of one CPU for the kernel threads bound to it, under load; default 0.05; gate foreign work during
	SpreadFactor      float64 `json:"spread_factor,omitempty"`       // largest worker's share is at most this over the number of workers; default 1.3; gate spread
	CoverageMin       float64 `json:"coverage_min,omitempty"`        // counted time over the process CPU clock; default 0.97; gate whole window
	CoverageMax       float64 `json:"coverage_max,omitempty"`        // default 1.03, plus the share of stolen time; gate whole window

	// Off switches gates off: name of the gate to the reason, which is printed
	// beside every number that was measured without it. An unknown name or an
	// empty reason is an error.
	Off map[string]string `json:"off,omitempty"`
}

// WithDefaults gives the limits in force: zeros replaced by the defaults.
func (t Thresholds) WithDefaults() Thresholds {
	for _, f := range t.fields() {
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	return t
}

type limit struct {
	name     string
	value    *float64
	standard float64
	atMost   float64
}

func (t *Thresholds) fields() []limit {
	return []limit{
		{"RateTolerance", &t.RateTolerance, 0.01, 1},
		{"HeadroomIdleShare", &t.HeadroomIdleShare, 0.25, 1},
		{"BaselineBusyMin", &t.BaselineBusyMin, 0.25, 1},
		{"BaselineBusyMax", &t.BaselineBusyMax, 0.33, 1},
		{"ArmBusyMax", &t.ArmBusyMax, 0.60, 1},
		{"LiveBusyMax", &t.LiveBusyMax, 0.80, 1},
		{"ForeignBefore", &t.ForeignBefore, 0.005, 1},
		{"ForeignDuring", &t.ForeignDuring, 0.01, 1},
		{"KernelDuring", &t.KernelDuring, 0.05, 1},
		{"SpreadFactor", &t.SpreadFactor, 1.3, 1e6},
		{"CoverageMin", &t.CoverageMin, 0.97, 1},
		{"CoverageMax", &t.CoverageMax, 1.03, 10},
	}
}

// Validate refuses limits that mean nothing and gates switched off without a
// reason. Every gate answers "cannot tell" under thresholds that it refuses.
func (t Thresholds) Validate() error {
	t = t.WithDefaults()
	for _, f := range t.fields() {
		if !(*f.value > 0 && *f.value <= f.atMost) { // also refuses NaN
			return fmt.Errorf("gate: threshold %s is %v, want above 0 and at most %v; 0 takes the default %v", f.name, *f.value, f.atMost, f.standard)
		}
	}
	if t.BaselineBusyMin >= t.BaselineBusyMax {
		return fmt.Errorf("gate: BaselineBusyMin %v is not below BaselineBusyMax %v", t.BaselineBusyMin, t.BaselineBusyMax)
	}
	if t.CoverageMin >= t.CoverageMax {
		return fmt.Errorf("gate: CoverageMin %v is not below CoverageMax %v", t.CoverageMin, t.CoverageMax)
	}
	for _, name := range sortedKeys(t.Off) {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("gate: there is no gate %q to switch off; the gates are: %s", name, strings.Join(Names(), ", "))
		}
		if strings.TrimSpace(t.Off[name]) == "" {
			return fmt.Errorf("gate: gate %q is switched off without a reason; write the reason as its value in Off", name)
		}
	}
	return nil
}

// begin starts the result of a gate and reports whether it is already decided,
// because the gate is off or the thresholds are not valid.
func (t *Thresholds) begin(name, arm string) (r Result, decided bool) {
	r = Result{Gate: name, Arm: arm}
	if err := t.Validate(); err != nil {
		return r.cannotTell(err.Error(), "correct the thresholds"), true
	}
	*t = t.WithDefaults()
	if reason, off := t.Off[name]; off {
		r.Status, r.Cause = StatusOff, reason
		return r, true
	}
	return r, false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
