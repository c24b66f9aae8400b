package counters

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/sys"
)

// The attributes as the kernel gets them, written out from
// include/uapi/linux/perf_event.h: a change of the code must be a change here.
func TestGoldenAttributes(t *testing.T) {
	const (
		disabled      = 1 << 0
		inherit       = 1 << 1
		excludeKernel = 1 << 5
		inheritThread = 1 << 35
		threads       = inherit | inheritThread
	)
	hardware := []string{
		fmt.Sprintf("cycles type=0 config=0 bits=%#x", disabled|threads),
		fmt.Sprintf("cycles:u type=0 config=0 bits=%#x", excludeKernel|threads),
		fmt.Sprintf("instructions type=0 config=1 bits=%#x", threads),
		fmt.Sprintf("instructions:u type=0 config=1 bits=%#x", excludeKernel|threads),
	}
	software := func(leader uint64) []string {
		return []string{
			fmt.Sprintf("task-clock type=1 config=1 bits=%#x", leader|threads),
			fmt.Sprintf("context-switches type=1 config=3 bits=%#x", threads),
			fmt.Sprintf("cpu-migrations type=1 config=4 bits=%#x", threads),
			fmt.Sprintf("page-faults type=1 config=2 bits=%#x", threads),
		}
	}
	for metric, want := range map[Metric][]string{
		Cycles:  append(hardware, software(0)...),
		CPUTime: software(disabled),
	} {
		var got []string
		for _, e := range groupSpec(metric, inheritThreads) {
			a := e.attr
			got = append(got, fmt.Sprintf("%s type=%d config=%d bits=%#x", e.name, a.Type, a.Config, a.Bits))
			require.EqualValues(t, 15, a.Read_format, "group, both times, ids")
			a.Type, a.Config, a.Bits, a.Read_format = 0, 0, 0, 0
			require.Zero(t, a, "nothing else is set")
		}
		require.Equal(t, want, got)
	}
}

// What the kernel may give for a read and no machine here can be made to give.
func TestDecode(t *testing.T) {
	g := &group{pid: 7, ids: []uint64{10, 11}, events: []Event{EventTaskClock, EventContextSwitches}}
	good := sys.PerfGroup{EnabledNanoseconds: 5, RunningNanoseconds: 4, Values: []sys.PerfValue{{Value: 1, ID: 10}, {Value: 2, ID: 11}}}
	out, err := g.decode(good, nil)
	require.NoError(t, err)
	require.Equal(t, &Group{5, 4, []Count{{EventTaskClock, 10, 1}, {EventContextSwitches, 11, 2}}}, out)

	_, err = g.decode(sys.PerfGroup{}, io.EOF)
	require.ErrorAs(t, err, new(*EndOfFileError))
	require.ErrorIs(t, err, ErrRefused)

	for name, c := range map[string]struct {
		raw sys.PerfGroup
		err error
	}{
		"inherited group differs": {err: unix.ECHILD},
		"grown":                   {err: unix.ENOSPC},
		"descriptor of another":   {err: unix.EBADF},
		"bytes":                   {err: sys.ErrPerfFormat},
		"one less":                {raw: sys.PerfGroup{Values: good.Values[:1]}},
		"one more":                {raw: sys.PerfGroup{Values: append(good.Values, sys.PerfValue{ID: 12})}},
		"swapped":                 {raw: sys.PerfGroup{Values: []sys.PerfValue{{ID: 11}, {ID: 10}}}},
	} {
		_, err := g.decode(c.raw, c.err)
		require.ErrorAs(t, err, new(*GroupChangedError), name)
		require.ErrorIs(t, err, ErrRefused, name)
		if c.err != nil {
			require.ErrorIs(t, err, c.err, name)
		}
	}
	other := errors.New("other")
	_, err = g.decode(sys.PerfGroup{}, other)
	require.ErrorIs(t, err, other)
}

// An attempt that fails half way closes what it opened (see also
// TestNoDescriptorLeaks) and names the event.
func TestOpenAllOrNothing(t *testing.T) {
	riders(t)
	events := groupSpec(CPUTime, inheritThreads)
	events[2].attr.Config = 0xffff
	_, err := openEvents(0, events)
	var open *OpenError
	require.ErrorAs(t, err, &open)
	require.Equal(t, EventMigrations, open.Event)
	require.ErrorIs(t, err, unix.ENOENT)

	// A member that does not inherit like its leader is no member.
	events = groupSpec(CPUTime, inheritThreads)
	events[1].attr.Bits = 0
	_, err = openEvents(0, events)
	require.ErrorIs(t, err, unix.EINVAL)
}
