package counters

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/pmuloop"
	"github.com/tareperf/tare/internal/procfs"
)

// rounds of pmuloop that are a hundred million instructions.
const rounds = 100_000_000 / pmuloop.PerSpin

// heldKnown is a known process with a counter of cycles from its first
// instruction on, released.
func heldKnown(t testing.TB) (known, *Counter) {
	t.Helper()
	k := startKnown(t)
	c, err := OpenHeld(k.Pid(), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	k.release(t)
	k.tell(t, "spin %d", rounds/10) // the Go runtime has settled
	return k, c
}

func show(t testing.TB, what string, d Delta) {
	t.Helper()
	t.Logf("%s: instructions %d (user %d), cycles %.0f (user %.0f), coverage %.4f, %d switches, %d migrations",
		what, *d.Instructions, *d.UserInstructions, d.Value, *d.UserValue, *d.Coverage, *d.ContextSwitches, *d.Migrations)
}

func TestPMUProbe(t *testing.T) {
	emulated(t)
	require.NoError(t, Probe(Cycles))
}

func TestPMUKnownLoop(t *testing.T) {
	k, c := heldKnown(t)
	for _, times := range []int{1, 2, 5} {
		d := measured(t, c, func() { k.tell(t, "spin %d", times*rounds) })
		show(t, "loop", d)
		requireKnown(t, float64(times)*1e8, d)
	}
}

// Sleeping costs wall time and no cycles; computing costs twice as many cycles
// as instructions.
func TestPMUCyclesAreNotInstructionsNorTime(t *testing.T) {
	k, c := heldKnown(t)
	d := measured(t, c, func() {
		k.tell(t, "spin %d", rounds)
		k.tell(t, "sleep 2000")
	})
	show(t, "compute and sleep", d)
	requireKnown(t, 1e8, d)
	require.Less(t, d.Value, 0.2*float64(d.WallNanoseconds))
}

// System calls are the kernel's, the loop that makes them the user's.
func TestPMUUserAndKernel(t *testing.T) {
	k, c := heldKnown(t)
	plain := measured(t, c, func() { k.tell(t, "spin %d", rounds) })
	const calls = 50_000
	d := measured(t, c, func() {
		k.tell(t, "spin %d", rounds)
		k.tell(t, "syscalls %d", calls)
	})
	show(t, "without system calls", plain)
	show(t, "with system calls", d)
	requireKnown(t, 1e8, plain)
	require.InEpsilon(t, 1e8+calls*pmuloop.PerSyscall, *d.UserInstructions, exact)
	require.Equal(t, d.Value, *d.UserValue+*d.KernelValue)
	require.Greater(t, *d.KernelValue-*plain.KernelValue, 100.0*calls*cyclesPerInstruction, "a system call takes a hundred instructions at the least")
}

// Two processes share a CPU, each has its own counter.
func TestPMUTwoTasks(t *testing.T) {
	one, c1 := heldKnown(t)
	two, c2 := heldKnown(t)
	prev1, prev2 := read(t, c1), read(t, c2)
	_, err := one.stdin.WriteString("spin 2000000\n")
	require.NoError(t, err)
	two.tell(t, "spin 6000000")
	line, err := one.ready.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "done\n", line)
	d1, err := read(t, c1).Since(prev1)
	require.NoError(t, err)
	d2, err := read(t, c2).Since(prev2)
	require.NoError(t, err)
	show(t, "one", d1)
	show(t, "two", d2)
	requireKnown(t, 2e8, d1)
	requireKnown(t, 6e8, d2)
	require.Greater(t, *d1.ContextSwitches, int64(5), "they took turns")
}

// Threads that are born and die in the window leave their counts behind.
func TestPMUThreadsComeAndGo(t *testing.T) {
	k, c := heldKnown(t)
	before := k.threads(t)
	d := measured(t, c, func() {
		k.tell(t, "threads 10 %d", rounds/10)
		k.threadsGone(t, before)
	})
	show(t, "plain threads", d)
	requireKnown(t, 1e8, d)

	d = measured(t, c, func() {
		k.tell(t, "chain 100 %d", rounds/100)
		k.threadsGone(t, before)
	})
	show(t, "threads of threads", d)
	requireKnown(t, 1e8, d)

	d = measured(t, c, func() { k.tell(t, "goroutines 10 %d", rounds) })
	show(t, "the Go runtime's threads", d)
	requireKnown(t, 1e9, d)
}

// A process that the counted one starts has its own cost.
func TestPMUChildProcessIsNotCounted(t *testing.T) {
	k, c := heldKnown(t)
	d := measured(t, c, func() {
		k.tell(t, "spin %d", 5*rounds)
		k.tell(t, "process %d", 5*rounds)
	})
	show(t, "with a child", d)
	require.InEpsilon(t, 5e8, *d.UserInstructions, 0.01, "what starting it takes is the process's own")
	require.False(t, d.ChildrenCounted)
}

// The counts go along when the kernel moves a process.
func TestPMUMigration(t *testing.T) {
	k, c := heldKnown(t)
	d := measured(t, c, func() {
		for i := range 6 {
			k.tell(t, "move %d", i%2)
			k.tell(t, "spin %d", 2*rounds)
		}
	})
	show(t, "moved", d)
	// While it is on CPU 1 it is charged with what else runs on CPU 0: see
	// cyclesPerInstruction.
	require.InEpsilon(t, 12e8, *d.UserInstructions, 0.01)
	require.InEpsilon(t, *d.Instructions*cyclesPerInstruction, d.Value, exact)
	require.GreaterOrEqual(t, *d.Migrations, int64(5))
	k.tell(t, "move 0")
}

// Two events of one group agree to the last instruction, and two counters of
// one process with each other.
func TestPMUGroupAgrees(t *testing.T) {
	k := startKnown(t)
	events := groupSpec(Cycles, inheritThreads)
	twin := events[3] // instructions:u
	g, err := openEvents(k.Pid(), append(events[:4:4], twin))
	require.NoError(t, err)
	defer g.close()
	require.NoError(t, g.enable())
	k.release(t)
	k.tell(t, "spin %d", rounds)
	k.tell(t, "goroutines 3 %d", rounds)
	counts, err := g.read()
	require.NoError(t, err)
	t.Log(counts.Counts)
	require.Equal(t, EventInstructionsUser, counts.Counts[3].Event)
	require.Positive(t, counts.Counts[3].Value)
	require.Equal(t, counts.Counts[3].Value, counts.Counts[4].Value)
	require.EqualValues(t, cyclesPerInstruction*counts.Counts[3].Value, counts.Counts[1].Value)
}

func TestPMUTwoCountersOfOneProcess(t *testing.T) {
	k := startKnown(t)
	var both [2]*Counter
	for i := range both {
		g, err := OpenHeld(k.Pid(), Options{})
		require.NoError(t, err)
		defer g.Close()
		both[i] = g
	}
	// Four hardware counters each do not fit at once.
	k.release(t)
	prev := read(t, both[0])
	k.tell(t, "spin %d", 5*rounds)
	_, err := read(t, both[0]).Since(prev)
	require.ErrorAs(t, err, new(*NotWholeError))
}

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

// 64 threads at a time, most of them living for under a millisecond.
func TestPMUHeld64Threads(t *testing.T) {
	k, c := heldKnown(t)
	before := k.threads(t)
	worst := 0.0
	for i := range repeats() {
		d := measured(t, c, func() { k.many(t, before) })
		requireKnown(t, manyInstructions, d)
		worst = max(worst, abs(float64(*d.UserInstructions)/manyInstructions-1))
		if i == 0 {
			show(t, "first", d)
		}
	}
	t.Logf("%d repeats, the worst is %.4f%% from the known sum", repeats(), 100*worst)
}

// many has k run 64 threads: 32 that are all alive at once, and 32 that live
// for about a tenth of a millisecond each.
func (k known) many(t testing.TB, before int) {
	t.Helper()
	k.tell(t, "close")
	k.tell(t, "waiters 32 %d", manyLong)
	k.tell(t, "threads 32 %d", manyShort)
	k.tell(t, "open")
	k.threadsGone(t, before)
}

const (
	manyLong         = 90_000 // 18 ms
	manyShort        = 500    // 0.1 ms
	manyInstructions = 32 * (manyLong + manyShort) * pmuloop.PerSpin
)

func abs(x float64) float64 { return max(x, -x) }

func repeats() int {
	if testing.Short() {
		return 3
	}
	return 100
}
