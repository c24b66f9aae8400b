package counters

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// pair is a good window of Cycles: one second of wall time, 300 ms of CPU at
// 2.5 GHz, 1.2 instructions per cycle, a third of both in the kernel.
func pair() (prev, this Reading) {
	group := func(enabled, cycles, user, instructions, userInstructions, task, switches, migrations, faults uint64) *Group {
		g := &Group{EnabledNanoseconds: enabled, RunningNanoseconds: enabled}
		for i, e := range []struct {
			name  Event
			value uint64
		}{
			{EventCycles, cycles}, {EventCyclesUser, user},
			{EventInstructions, instructions}, {EventInstructionsUser, userInstructions},
			{EventTaskClock, task}, {EventContextSwitches, switches}, {EventMigrations, migrations}, {EventPageFaults, faults},
		} {
			g.Counts = append(g.Counts, Count{Event: e.name, ID: uint64(100 + i), Value: e.value})
		}
		return g
	}
	prev = Reading{
		Metric: Cycles, Pid: 7, StartTicks: 5000, Program: Program{1, 2, 0x7ffe00000000},
		AtNanoseconds: 10e9, CPUNanoseconds: 40e6,
		Group:   group(40e6, 100e6, 60e6, 110e6, 70e6, 40e6, 10, 1, 500),
		Outside: []Outside{{CPU: 0, ResolutionNanoseconds: 10e6}, {CPU: 1, ResolutionNanoseconds: 10e6}},
	}
	this = prev
	this.AtNanoseconds, this.CPUNanoseconds = 11e9, 340e6
	this.Group = group(340e6, 850e6, 560e6, 1010e6, 670e6, 340e6, 60, 3, 520)
	this.Outside = append([]Outside(nil), prev.Outside...)
	return prev, this
}

// set changes one count of a reading.
func set(r *Reading, e Event, v uint64) {
	for i := range r.Group.Counts {
		if r.Group.Counts[i].Event == e {
			r.Group.Counts[i].Value = v
		}
	}
}

// software turns a reading of Cycles into one of CPUTime.
func software(r *Reading) {
	r.Metric = CPUTime
	r.Group.Counts = r.Group.Counts[4:]
}

func TestSinceGood(t *testing.T) {
	prev, this := pair()
	d, err := this.Since(prev)
	require.NoError(t, err)
	require.Equal(t, 750e6, d.Value)
	require.Equal(t, 500e6, *d.UserValue)
	require.Equal(t, 250e6, *d.KernelValue)
	require.Equal(t, int64(900e6), *d.Instructions)
	require.Equal(t, int64(600e6), *d.UserInstructions)
	require.Equal(t, int64(1e9), d.WallNanoseconds)
	require.Equal(t, int64(300e6), d.CPUNanoseconds)
	require.Equal(t, int64(300e6), *d.TaskClockNanoseconds)
	require.Equal(t, int64(300e6), *d.EnabledNanoseconds)
	require.Equal(t, []int64{50, 2, 20}, []int64{*d.ContextSwitches, *d.Migrations, *d.PageFaults})
	require.Equal(t, 1.0, *d.Coverage)

	software(&prev)
	software(&this)
	d, err = this.Since(prev)
	require.NoError(t, err)
	require.Equal(t, 300e6, d.Value)
	require.Nil(t, d.UserValue)
	require.Nil(t, d.Instructions)
	require.Equal(t, int64(50), *d.ContextSwitches)

	prev.Group, this.Group, this.RidersMissing = nil, nil, "forbidden"
	d, err = this.Since(prev)
	require.NoError(t, err)
	require.Equal(t, 300e6, d.Value)
	require.Nil(t, d.ContextSwitches, "not counted is unknown, not zero")
	require.Nil(t, d.Coverage)
	require.Equal(t, "forbidden", d.RidersMissing)
}

// A process that did not run in the window has a value: nothing.
func TestSinceAtRest(t *testing.T) {
	prev, this := pair()
	this.Group, this.CPUNanoseconds = prev.Group, prev.CPUNanoseconds
	d, err := this.Since(prev)
	require.NoError(t, err)
	require.Zero(t, d.Value)
	require.Nil(t, d.Coverage)
}

func TestSinceRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(prev, this *Reading)
		want   any
		text   string
	}{
		{"multiplexed by 0.03% (rust-lang/rustc-perf#1480)", func(_, r *Reading) { r.Group.RunningNanoseconds -= 90_000 },
			new(*NotWholeError), "ran 299910000 of 300000000 ns (99.97%)"},
		{"never on the hardware (google/cadvisor#2629)", func(p, r *Reading) {
			r.Group.RunningNanoseconds = p.Group.RunningNanoseconds
			set(r, EventCycles, 100e6)
		}, new(*NotWholeError), "ran 0 of 300000000 ns"},
		{"395 instructions in a second, enabled == running (iopsystems/rezolus#1052)", func(_, r *Reading) {
			set(r, EventInstructions, 110e6+395)
			set(r, EventInstructionsUser, 70e6+395)
		}, new(*ImplausibleError), "instructions per cycle"},
		{"no cycles at all", func(p, r *Reading) {
			for _, e := range []Event{EventCycles, EventCyclesUser} {
				v, _ := p.Group.value(e)
				set(r, e, v)
			}
		}, new(*ImplausibleError), "clock rate (Hz) of pid 7 is 0"},
		{"10 GHz", func(_, r *Reading) { set(r, EventCycles, 3100e6) }, new(*ImplausibleError), "clock rate"},
		{"more user than total cycles", func(_, r *Reading) { set(r, EventCyclesUser, 850e6) }, new(*ImplausibleError), "user cycles"},
		{"more user than total instructions", func(_, r *Reading) { set(r, EventInstructionsUser, 1000e6) }, new(*ImplausibleError), "user instructions"},
		{"threads missed (shotover/shotover-proxy#559)", func(_, r *Reading) {
			set(r, EventTaskClock, 40e6+30e6)
			r.Group.EnabledNanoseconds, r.Group.RunningNanoseconds = 70e6, 70e6
		}, new(*CoverageError), "coverage 10.00%"},
		{"just below the lower bound", func(_, r *Reading) { set(r, EventTaskClock, 340e6-9e6-50*5000-1) }, new(*CoverageError), "threads were missed"},
		{"just above the upper bound", func(_, r *Reading) { set(r, EventTaskClock, 340e6+9e6+1) }, new(*CoverageError), "counted twice"},
		{"attached twice", func(_, r *Reading) { set(r, EventTaskClock, 640e6) }, new(*CoverageError), "coverage 200.00%, must be 96.92% to 103.00%"},
		{"counted threads ran, the process did not", func(p, r *Reading) { r.CPUNanoseconds = p.CPUNanoseconds }, new(*CoverageError), ""},
		{"stolen time does not excuse the lower bound", func(p, r *Reading) {
			r.Outside[0].StealNanoseconds = 200e6
			set(r, EventTaskClock, 340e6-20e6)
		}, new(*CoverageError), ""},
		{"too short to check coverage", func(p, r *Reading) { r.CPULagNanoseconds = 30e6 }, new(*UncheckedError), "30000000 ns are uncertain"},
		{"too many switches to check coverage", func(p, r *Reading) { set(r, EventContextSwitches, 6010) }, new(*UncheckedError), "context switches"},
		{"cycles went back", func(_, r *Reading) { set(r, EventCycles, 99e6) }, new(*BackwardsError), "cycles of pid 7 went back from 100000000 to 99000000"},
		{"page faults went back", func(_, r *Reading) { set(r, EventPageFaults, 1) }, new(*BackwardsError), "page-faults"},
		{"time enabled went back", func(_, r *Reading) { r.Group.EnabledNanoseconds = 1 }, new(*BackwardsError), "time enabled"},
		{"time running went back", func(_, r *Reading) { r.Group.RunningNanoseconds = 1 }, new(*BackwardsError), "time running"},
		{"process clock went back", func(_, r *Reading) { r.CPUNanoseconds = 1 }, new(*BackwardsError), "process CPU clock"},
		{"same moment", func(p, r *Reading) { r.AtNanoseconds = p.AtNanoseconds }, new(*BackwardsError), "CLOCK_MONOTONIC"},
		{"steal went back (prometheus/node_exporter#742)", func(p, r *Reading) { p.Outside[1].StealNanoseconds = 10e6 }, new(*BackwardsError), "stolen time of CPU 1"},
		{"another event in its place", func(_, r *Reading) { r.Group.Counts[2].ID = 999 }, new(*GroupChangedError), "999"},
		{"event missing", func(_, r *Reading) { r.Group.Counts = r.Group.Counts[:7] }, new(*GroupChangedError), ""},
		{"no task clock in either", func(p, r *Reading) { p.Group.Counts, r.Group.Counts = p.Group.Counts[:4], r.Group.Counts[:4] }, new(*GroupChangedError), "no task-clock"},
		{"pid recycled", func(_, r *Reading) { r.StartTicks++ }, new(*RecycledError), "tick 5001, was 5000"},
		{"another executable", func(_, r *Reading) { r.Program.Inode = 3 }, new(*ExecError), "inode 3"},
		{"same executable again", func(_, r *Reading) { r.Program.StackStart = 0x7ffd00000000 }, new(*ExecError), "0x7ffd00000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			prev, this := pair()
			c.change(&prev, &this)
			d, err := this.Since(prev)
			require.ErrorAs(t, err, c.want)
			require.ErrorIs(t, err, ErrRefused)
			require.ErrorContains(t, err, c.text)
			require.Zero(t, d, "no value comes with a refusal")
		})
	}
}

func TestSinceMismatch(t *testing.T) {
	for name, change := range map[string]func(*Reading){
		"metric":        software,
		"pid":           func(r *Reading) { r.Pid = 8 },
		"counter group": func(r *Reading) { r.Group = nil },
	} {
		prev, this := pair()
		change(&this)
		_, err := this.Since(prev)
		var mismatch *MismatchError
		require.ErrorAs(t, err, &mismatch, name)
		require.NotErrorIs(t, err, ErrRefused, name)
	}
	_, err := Reading{}.Since(Reading{})
	require.ErrorContains(t, err, "unknown metric")
}

func TestCoverageAllowances(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(prev, this *Reading)
	}{
		{"stolen time raises the upper bound", func(_, r *Reading) {
			r.Outside[0].StealNanoseconds = 30e6
			set(r, EventTaskClock, 340e6+9e6+30e6)
		}},
		{"interrupt time does where it is apart", func(_, r *Reading) {
			r.Outside[1].InterruptNanoseconds = 30e6
			set(r, EventTaskClock, 340e6+9e6+30e6)
		}},
		{"context switches lower the lower bound", func(_, r *Reading) { set(r, EventTaskClock, 340e6-9e6-50*5000) }},
		{"the lag of the process clock widens both", func(_, r *Reading) {
			r.CPULagNanoseconds = 8e6
			set(r, EventTaskClock, 340e6-9e6-8e6)
		}},
		{"skew widens both", func(p, _ *Reading) { p.CPUSkewNanoseconds = 1e6 }},
	} {
		prev, this := pair()
		c.change(&prev, &this)
		d, err := this.Since(prev)
		require.NoError(t, err, c.name)
		require.LessOrEqual(t, *d.Coverage, *d.CoverageMax, c.name)
		require.GreaterOrEqual(t, *d.Coverage, *d.CoverageMin, c.name)
	}

	// The riders of CPUTime may miss more in switches, but never half.
	prev, this := pair()
	software(&prev)
	software(&this)
	set(&this, EventContextSwitches, 1e6)
	set(&this, EventTaskClock, 40e6+151e6)
	_, err := this.Since(prev)
	require.NoError(t, err)
	set(&this, EventTaskClock, 40e6+149e6)
	_, err = this.Since(prev)
	require.ErrorAs(t, err, new(*CoverageError))
}

func TestJSON(t *testing.T) {
	prev, this := pair()
	d, err := this.Since(prev)
	require.NoError(t, err)
	b, err := json.Marshal(d)
	require.NoError(t, err)
	var again Delta
	require.NoError(t, json.Unmarshal(b, &again))
	require.Equal(t, d, again)

	// A reading from a file gives the same answer.
	b, err = json.Marshal([]Reading{prev, this})
	require.NoError(t, err)
	var readings []Reading
	require.NoError(t, json.Unmarshal(b, &readings))
	again, err = readings[1].Since(readings[0])
	require.NoError(t, err)
	require.Equal(t, d, again)

	b, err = json.Marshal(Options{Metric: CPUTime})
	require.NoError(t, err)
	require.JSONEq(t, `{"metric":"cpu-time"}`, string(b))
}

func TestOptions(t *testing.T) {
	m, err := Options{}.metric()
	require.NoError(t, err)
	require.Equal(t, Cycles, m, "the default is the strongest")
	_, err = OpenHeld(1, Options{Metric: "time"})
	require.ErrorContains(t, err, `unknown metric "time"`)
	require.Error(t, Probe(""))
	require.Equal(t, "ns", CPUTime.Unit())
	require.Equal(t, "cycles", Cycles.Unit())
}
