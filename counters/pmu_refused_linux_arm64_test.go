package counters

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/procfs"
)

// hog takes n hardware counters of what runs on CPU 0 for as long as the test
// runs, before everybody else if pinned.
func hog(t testing.TB, n int, pinned bool, pid int) {
	t.Helper()
	events := groupSpec(Cycles, 0)[:1]
	if pinned {
		events[0].attr.Bits |= unix.PerfBitPinned
	}
	for len(events) < n {
		member := events[0]
		member.attr.Config = unix.PERF_COUNT_HW_INSTRUCTIONS
		member.attr.Bits = 0
		events = append(events, member)
	}
	g, err := openEvents(pid, events)
	require.NoError(t, err)
	t.Cleanup(func() { g.close() })
	require.NoError(t, g.enable())
}

// When others want the same hardware counters the kernel takes turns, and what
// was not counted is not guessed.
func TestPMUMultiplexedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		hogs   int
		pinned bool
		refuse bool
	}{
		"enough for all (iopsystems/rezolus#1092)": {hogs: 2},
		"turns":         {hogs: 5, refuse: true},
		"never running": {hogs: 5, pinned: true, refuse: true},
	} {
		t.Run(name, func(t *testing.T) {
			k, counter := heldKnown(t)
			spin := func() { k.tell(t, "spin %d", 5*rounds) }
			hog(t, c.hogs, c.pinned, k.Pid())
			d, err := window(t, counter, spin)
			if !c.refuse {
				require.NoError(t, err)
				requireKnown(t, 5e8, d)
				return
			}
			require.ErrorIs(t, err, ErrRefused)
			var notWhole *NotWholeError
			require.ErrorAs(t, err, &notWhole)
			t.Log(err)
			share := float64(notWhole.RunningNanoseconds) / float64(notWhole.EnabledNanoseconds)
			require.Equal(t, c.pinned, share < 0.05, "only what other threads ran")
			require.Less(t, share, 0.95)
			require.Zero(t, d)
		})
	}
}

// The probe does not promise what it could not have.
func TestPMUProbeWithoutFreeCounters(t *testing.T) {
	emulated(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	hog(t, 5, true, 0)
	err := Probe(Cycles)
	t.Log(err)
	require.ErrorAs(t, err, new(*NotWholeError))
	require.NotErrorIs(t, err, ErrNotSupported, "others may end")
}

// A pinned group that finds no counters reads as end of file, for good. (The
// groups of a Counter are not pinned.)
func TestPMUPinnedGroupEndsAsEndOfFile(t *testing.T) {
	k, _ := heldKnown(t)
	hog(t, 5, true, k.Pid())
	events := groupSpec(Cycles, 0)[:4]
	events[0].attr.Bits |= unix.PerfBitPinned
	g, err := openEvents(k.Pid(), events)
	require.NoError(t, err)
	defer g.close()
	require.NoError(t, g.enable())
	k.tell(t, "spin %d", rounds)
	_, err = g.read()
	require.ErrorAs(t, err, new(*EndOfFileError))
	require.ErrorIs(t, err, ErrRefused)
	t.Log(err)
}

// A group that no processor state can hold is refused at once, and named.
func TestPMUGroupTooLarge(t *testing.T) {
	emulated(t)
	events := groupSpec(Cycles, 0)[:4]
	for range 6 {
		events = append(events, events[2])
	}
	_, err := openEvents(0, events)
	err = explain(err, procfs.FS{}, Cycles)
	t.Log(err)
	require.ErrorIs(t, err, unix.EINVAL)
	require.ErrorContains(t, err, "too few counters")
}

// An event that this PMU lacks is ENOENT and named.
func TestPMULacksEvent(t *testing.T) {
	emulated(t)
	events := groupSpec(Cycles, 0)
	lacking := events[1]
	lacking.name, lacking.attr.Config, lacking.attr.Bits = "branch-misses", unix.PERF_COUNT_HW_BRANCH_MISSES, 0
	_, err := openEvents(0, append(events[:1:1], lacking))
	var open *OpenError
	require.ErrorAs(t, err, &open)
	require.Equal(t, Event("branch-misses"), open.Event)
	require.ErrorIs(t, err, unix.ENOENT)
}

// Two counters want four hardware counters each, which do not fit at once:
// whoever reads while the other is open is told so.
func TestPMUTwoCountersOfOneProcess(t *testing.T) {
	k := startKnown(t)
	var both [2]*Counter
	for i := range both {
		g, err := OpenHeld(k.Pid(), Options{})
		require.NoError(t, err)
		defer g.Close()
		both[i] = g
	}
	k.release(t)
	prev := read(t, both[0])
	k.tell(t, "spin %d", 5*rounds)
	_, err := read(t, both[0]).Since(prev)
	require.ErrorAs(t, err, new(*NotWholeError))
}
