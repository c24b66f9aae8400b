package counters

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/pmuloop"
	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

// The tests TestPMU... run in the machine that scripts/pmu-test emulates. There
// a virtual nanosecond is a cycle and an instruction takes two, so what known
// instructions must count is known: instructions as many, cycles twice that.
// Instructions of all CPUs count on each, which is why everything but what a
// test moves itself runs on CPU 0.
const (
	pmuMachine           = "TARE_PMU_MACHINE" // set to 1 by the machine
	cyclesPerInstruction = 2
	// exact is how far a count may be from what is known: one in a thousand.
	exact = 1e-3
)

func emulated(t testing.TB) {
	t.Helper()
	var err error
	if os.Getenv(pmuMachine) != "1" {
		err = fmt.Errorf("%s is not 1: run scripts/pmu-test", pmuMachine)
	}
	need.Skip(t, "emulated pmu", err)
}

// known is the process that is counted: this test binary again, which does
// what it is told on its standard input.
type known struct{ *counted }

// startKnown starts one, held.
func startKnown(t testing.TB) known {
	t.Helper()
	emulated(t)
	// No signals to threads that run for long: they cost the counted process
	// instructions that nobody knows.
	t.Setenv("GODEBUG", "asyncpreemptoff=1")
	return known{startHeld(t, "known")}
}

// tell has it do something and waits until it says that it did.
func (k known) tell(t testing.TB, command string, args ...any) {
	t.Helper()
	_, err := fmt.Fprintf(k.stdin, command+"\n", args...)
	require.NoError(t, err)
	line, err := k.ready.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "done\n", line)
}

// window measures what do costs.
func window(t testing.TB, c *Counter, do func()) (Delta, error) {
	t.Helper()
	prev := read(t, c)
	do()
	return read(t, c).Since(prev)
}

// measured is window where it must not be refused.
func measured(t testing.TB, c *Counter, do func()) Delta {
	t.Helper()
	d, err := window(t, c, do)
	require.NoError(t, err)
	return d
}

// requireKnown holds a window to what ran in user mode. The kernel's part is
// not known, but bounded: it is timer ticks and the starting of threads.
func requireKnown(t testing.TB, instructions float64, d Delta) {
	t.Helper()
	require.InEpsilon(t, instructions, *d.UserInstructions, exact, "user instructions")
	require.InEpsilon(t, instructions*cyclesPerInstruction, *d.UserValue, exact, "user cycles")
	require.InEpsilon(t, *d.Instructions*cyclesPerInstruction, d.Value, exact, "all cycles")
	require.Greater(t, *d.Instructions, *d.UserInstructions)
	require.Less(t, *d.KernelValue, 0.1*d.Value)
}

// threads is how many there are, dying ones included.
func (k known) threads(t testing.TB) int {
	t.Helper()
	p, _, err := readProcess(procfs.FS{}, k.Pid())
	require.NoError(t, err)
	return p.Threads
}

// threadsGone waits until only n threads are left.
func (k known) threadsGone(t testing.TB, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); k.threads(t) > n; time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "threads do not end")
	}
}

// The process cannot be a mode of TestMain: it must not have started anything
// before it is told to.
func init() {
	if os.Getenv(childMode) != "known" {
		return
	}
	runtime.LockOSThread()
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		args := make([]uint64, 2)
		var err error
		for i, w := range words[1:] {
			if args[i], err = strconv.ParseUint(w, 10, 64); err != nil {
				panic(err)
			}
		}
		if err := obey(words[0], args[0], args[1]); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("done\n")
	}
	os.Exit(0)
}

func obey(command string, a, b uint64) error {
	switch command {
	case "spin": // a rounds
		pmuloop.Spin(a)
	case "syscalls": // a of them
		pmuloop.Syscalls(a)
	case "sleep": // a milliseconds
		time.Sleep(time.Duration(a) * time.Millisecond)
	case "move": // to CPU a
		return sys.SetAffinity(0, []int{int(a)})
	case "process": // spins a rounds in another process
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), childMode+"=known")
		cmd.Stdin = strings.NewReader(fmt.Sprintf("spin %d\n", a))
		return cmd.Run()
	case "threads", "waiters": // a of them with b rounds each
		start := pmuloop.Thread
		if command == "waiters" {
			start = pmuloop.Waiter
		}
		for range a {
			if err := start(b); err != nil {
				return err
			}
		}
	case "chain": // of a threads with b rounds each, one after the other
		return pmuloop.Chain(b, a)
	case "open":
		pmuloop.Open()
	case "close":
		pmuloop.Close()
	case "goroutines": // a threads of Go's own, each new, with b rounds each
		var all sync.WaitGroup
		for range a {
			all.Go(func() {
				runtime.LockOSThread() // and with the goroutine ends its thread
				pmuloop.Spin(b)
			})
		}
		all.Wait()
	default:
		return fmt.Errorf("unknown command %q: %w", command, unix.EINVAL)
	}
	return nil
}
