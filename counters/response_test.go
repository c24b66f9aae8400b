package counters

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPerResponse(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	i := func(v int64) *int64 { return &v }
	d := Delta{
		Metric: Cycles, Value: 4000, UserValue: f(3000), KernelValue: f(1000), CPUNanoseconds: 2000,
		Instructions: i(6000), UserInstructions: i(1500), ContextSwitches: i(5), Migrations: i(0),
	}
	p, err := d.PerResponse(10)
	require.NoError(t, err)
	require.Equal(t, PerResponse{
		Responses: 10, Metric: Cycles, Value: 400, UserValue: f(300), KernelValue: f(100), CPUNanoseconds: 200,
		Instructions: f(600), UserInstructions: f(150), ContextSwitches: f(0.5), Migrations: f(0),
		InstructionsPerCycle: f(1.5), UserInstructionsPerCycle: f(0.5),
	}, p, "page faults were not counted and stay unknown")

	// Cycles that were not counted in user mode give no rate for it.
	d.UserValue = f(0)
	p, err = d.PerResponse(10)
	require.NoError(t, err)
	require.Nil(t, p.UserInstructionsPerCycle)

	// Nanoseconds are no cycles.
	d.Metric = CPUTime
	p, err = d.PerResponse(10)
	require.NoError(t, err)
	require.Nil(t, p.InstructionsPerCycle)

	for _, none := range []int64{0, -1} {
		_, err = d.PerResponse(none)
		require.Error(t, err)
	}
}
