package counters

import (
	"fmt"
	"math"
)

// PerResponse is a Delta divided by the responses of its window. Fields that
// are pointers are nil where the Delta does not have them: nil is unknown,
// never zero.
type PerResponse struct {
	// Responses is what everything else here was divided by.
	Responses int64  `json:"responses"`
	Metric    Metric `json:"metric"`
	// Value, UserValue and KernelValue are in Metric.Unit() per response.
	Value       float64  `json:"value"`
	UserValue   *float64 `json:"user_value,omitempty"`
	KernelValue *float64 `json:"kernel_value,omitempty"`
	// CPUNanoseconds is of the process CPU clock, per response.
	CPUNanoseconds float64 `json:"cpu_nanoseconds"`
	// Events per response.
	Instructions     *float64 `json:"instructions,omitempty"`
	UserInstructions *float64 `json:"user_instructions,omitempty"`
	ContextSwitches  *float64 `json:"context_switches,omitempty"`
	Migrations       *float64 `json:"migrations,omitempty"`
	PageFaults       *float64 `json:"page_faults,omitempty"`
	// InstructionsPerCycle and UserInstructionsPerCycle are of the whole window;
	// nil without the metric Cycles, or where no cycle was counted.
	InstructionsPerCycle     *float64 `json:"instructions_per_cycle,omitempty"`
	UserInstructionsPerCycle *float64 `json:"user_instructions_per_cycle,omitempty"`
}

// PerResponse divides by the number of responses. A window without responses
// has no cost per response: that is an error.
func (d Delta) PerResponse(responses int64) (PerResponse, error) {
	if responses <= 0 {
		return PerResponse{}, fmt.Errorf("cost per response of %d responses: count at least one in the window", responses)
	}
	n := float64(responses)
	p := PerResponse{
		Responses: responses, Metric: d.Metric,
		Value: d.Value / n, UserValue: quotient(d.UserValue, n), KernelValue: quotient(d.KernelValue, n),
		CPUNanoseconds: float64(d.CPUNanoseconds) / n,
		Instructions:   quotient(d.Instructions, n), UserInstructions: quotient(d.UserInstructions, n),
		ContextSwitches: quotient(d.ContextSwitches, n), Migrations: quotient(d.Migrations, n), PageFaults: quotient(d.PageFaults, n),
	}
	if d.Metric == Cycles {
		p.InstructionsPerCycle = quotient(d.Instructions, d.Value)
		if d.UserValue != nil {
			p.UserInstructionsPerCycle = quotient(d.UserInstructions, *d.UserValue)
		}
	}
	return p, nil
}

// quotient is nil where the number is unknown or the division says nothing.
func quotient[N int64 | float64](v *N, by float64) *float64 {
	if v == nil {
		return nil
	}
	q := float64(*v) / by
	if math.IsNaN(q) || math.IsInf(q, 0) {
		return nil
	}
	return &q
}
