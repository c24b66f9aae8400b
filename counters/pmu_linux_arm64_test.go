package counters

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/pmuloop"
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

// Two events of one group agree to the last instruction.
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
