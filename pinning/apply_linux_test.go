package pinning

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

const threadsVariable = "TARE_PINNING_TEST_THREADS"

func TestMain(m *testing.M) {
	if os.Getenv(threadsVariable) != "" {
		beThreads()
		return
	}
	if state := os.Getenv(killedVariable); state != "" {
		beKilled(state)
		return
	}
	os.Exit(m.Run())
}

// beThreads is the child: threads that are there from the start, and one that
// makes short-lived threads all the time, until its input ends.
func beThreads() {
	var ready sync.WaitGroup
	for range 4 {
		ready.Add(1)
		go func() {
			runtime.LockOSThread()
			ready.Done()
			select {}
		}()
	}
	ready.Wait()
	go func() {
		for {
			done := make(chan bool)
			go func() {
				runtime.LockOSThread() // ends the thread with the goroutine
				time.Sleep(2 * time.Millisecond)
				close(done)
			}()
			<-done
		}
	}()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func startThreads(t *testing.T) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), threadsVariable+"=1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return cmd.Process.Pid
}

// book is a ledger that remembers.
type book struct {
	mu      sync.Mutex
	open    map[string]bool
	entries int
	refuse  bool
}

func (b *book) AddCgroup(dir string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse {
		return errors.New("the disk is full")
	}
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s was there before it was entered", dir)
	}
	if b.open == nil {
		b.open = map[string]bool{}
	}
	b.open[dir] = true
	b.entries++
	return nil
}

func (b *book) Forget(dir string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s is still there", dir)
	}
	delete(b.open, dir)
	return nil
}

func hostPlan(t *testing.T) Plan {
	t.Helper()
	topology, err := ReadTopology(FS{})
	require.NoError(t, err)
	p, err := topology.Plan(Wish{})
	need.Skip(t, "cpus", err)
	return p
}

// masks are the affinities of all threads of a process that stay.
func masks(t *testing.T, pid int) map[string]bool {
	t.Helper()
	threads, err := procfs.FS{}.Threads(pid)
	require.NoError(t, err)
	m := map[string]bool{}
	for _, th := range threads {
		m[procfs.FormatCPUList(th.AllowedCPUs)] = true
	}
	return m
}

// cpusets fails or skips unless cpusets can be made here.
func cpusets(t *testing.T, p *Placement) {
	t.Helper()
	var err error
	if p.Method() == MethodAffinity {
		err = errors.New(strings.Join(p.Lost(), "; "))
	}
	need.Skip(t, "cpuset", err)
}

func TestPlaceVerifyAndPutBack(t *testing.T) {
	for _, affinityOnly := range []bool{false, true} {
		t.Run(fmt.Sprintf("affinity only %t", affinityOnly), func(t *testing.T) {
			plan := hostPlan(t)
			pid := startThreads(t)
			before, harness := masks(t, pid), masks(t, os.Getpid())
			b := &book{}
			p, err := Apply(plan, ApplyOptions{AffinityOnly: affinityOnly, Ledger: b})
			require.NoError(t, err)
			defer p.Close()
			if affinityOnly {
				require.Equal(t, MethodAffinity, p.Method())
				require.NotEmpty(t, p.Lost())
				require.Zero(t, b.entries)
			} else {
				cpusets(t, p)
				require.Equal(t, 4, b.entries)
			}
			require.NoError(t, p.VerifyHarness())
			require.Equal(t, map[string]bool{plan.Harness.String(): true}, masks(t, os.Getpid()))

			require.NoError(t, p.Place(RoleProxy, pid))
			for range 20 { // short-lived threads come and go meanwhile
				require.NoError(t, p.Verify(RoleProxy, pid))
				time.Sleep(time.Millisecond)
			}
			require.Equal(t, map[string]bool{plan.Proxy.String(): true}, masks(t, pid))
			var moved *MovedError
			require.ErrorAs(t, p.Verify(RoleGenerator, pid), &moved, "another role's CPUs are not its own")

			require.NoError(t, p.Close())
			require.Equal(t, before, masks(t, pid))
			require.Equal(t, harness, masks(t, os.Getpid()))
			require.Empty(t, b.open, "every cpuset is gone and forgotten")
			require.NoError(t, p.Close(), "again")
			require.ErrorContains(t, p.Place(RoleProxy, pid), "closed")
		})
	}
}

func TestAMovedThreadIsNamed(t *testing.T) {
	for _, affinityOnly := range []bool{false, true} {
		t.Run(fmt.Sprintf("affinity only %t", affinityOnly), func(t *testing.T) {
			plan := hostPlan(t)
			pid := startThreads(t)
			p, err := Apply(plan, ApplyOptions{AffinityOnly: affinityOnly})
			require.NoError(t, err)
			defer p.Close()
			require.NoError(t, p.Place(RoleProxy, pid))
			tid := victim(t, pid)
			away := plan.Generator.CPUs()
			if !affinityOnly {
				cpusets(t, p)
				// A cpuset holds the thread until it is taken out of it.
				require.Error(t, sys.SetAffinity(tid, away))
				require.NoError(t, p.Verify(RoleProxy, pid))
				dir := p.sets[RoleProxy]
				if p.Method() != MethodCPUSetV1 {
					t.Skip("v2 moves whole processes")
				}
				require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(dir), "tasks"), []byte(fmt.Sprint(tid)), 0o644))
			}
			require.NoError(t, sys.SetAffinity(tid, away))
			err = p.Verify(RoleProxy, pid)
			var moved *MovedError
			require.ErrorAs(t, err, &moved)
			require.Len(t, moved.Threads, 1)
			require.Equal(t, tid, moved.Threads[0].Tid)
			require.ErrorContains(t, err, fmt.Sprintf("thread %d %q of the proxy (pid %d) may run on CPUs %s, not on %s", tid, moved.Threads[0].Comm, pid, plan.Generator, plan.Proxy))
			require.NoError(t, p.Place(RoleProxy, pid), "placing again brings it back")
			require.NoError(t, p.Close())
			require.Empty(t, leftDirs(t))
		})
	}
}

// victim is a thread of the child that makes no others: not the main thread,
// and one that was there early.
func victim(t *testing.T, pid int) int {
	t.Helper()
	threads, err := procfs.FS{}.Threads(pid)
	require.NoError(t, err)
	time.Sleep(20 * time.Millisecond)
	later, err := procfs.FS{}.Threads(pid)
	require.NoError(t, err)
	stays := map[int]int64{}
	for _, th := range threads {
		stays[th.Tid] = th.RunNanoseconds
	}
	for _, th := range later {
		// The four that block never run again.
		if ran, ok := stays[th.Tid]; ok && ran == th.RunNanoseconds && th.Tid != pid {
			return th.Tid
		}
	}
	t.Fatal("the child has no thread at rest")
	return 0
}

func leftDirs(t *testing.T) []string {
	t.Helper()
	p := &Placement{}
	h, err := p.findHierarchy()
	need.Skip(t, "cpuset", err)
	dirs, err := filepath.Glob(filepath.Join(h.parent, fmt.Sprintf("tare-%d-*", os.Getpid())))
	require.NoError(t, err)
	return dirs
}

func TestCloseTakesProcessesOutOfTheCpusets(t *testing.T) {
	plan := hostPlan(t)
	pid := startThreads(t)
	p, err := Apply(plan, ApplyOptions{LeaveHarness: true})
	require.NoError(t, err)
	cpusets(t, p)
	// Put there behind the placement's back, as a child of a placed process is.
	require.NoError(t, writeFile(p.sets[RoleOrigin]+"/cgroup.procs", fmt.Sprint(pid)))
	require.NoError(t, p.Close())
	require.Empty(t, leftDirs(t))
	_, err = procfs.FS{}.Process(pid)
	require.NoError(t, err, "it lives on")
}

func TestApplyThatFailsLeavesNothing(t *testing.T) {
	plan := hostPlan(t)
	harness := masks(t, os.Getpid())
	// A ledger that cannot write means no cpusets, not cpusets without a record.
	p, err := Apply(plan, ApplyOptions{Ledger: &book{refuse: true}})
	require.NoError(t, err)
	require.Equal(t, MethodAffinity, p.Method())
	require.NoError(t, p.Close())
	require.Empty(t, leftDirs(t))

	bad := plan
	bad.Harness = NewCPUSet(4999) // no such CPU
	_, err = Apply(bad, ApplyOptions{})
	require.ErrorContains(t, err, "4999")
	require.Equal(t, harness, masks(t, os.Getpid()))
	require.Empty(t, leftDirs(t))
	_, err = Apply(Plan{}, ApplyOptions{})
	require.ErrorContains(t, err, "make one with Topology.Plan")
}

func TestPlaceRefuses(t *testing.T) {
	p, err := Apply(hostPlan(t), ApplyOptions{})
	require.NoError(t, err)
	defer p.Close()
	require.ErrorContains(t, p.Place("cook", 1), `no CPUs for role "cook"`)
	require.ErrorContains(t, p.Place(RoleProxy, os.Getpid()), "the harness itself")
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	require.ErrorIs(t, p.Place(RoleProxy, cmd.Process.Pid), fs.ErrNotExist)
	require.ErrorIs(t, p.Verify(RoleProxy, cmd.Process.Pid), fs.ErrNotExist)
}

func TestReadHost(t *testing.T) {
	h, err := ReadHost(FS{})
	require.NoError(t, err)
	require.NotEmpty(t, h.CPUModel)
	require.NotEmpty(t, h.Kernel)
	require.NotEmpty(t, h.BootID)
	require.NotEmpty(t, h.IdleDriver)
	require.NotEmpty(t, h.CgroupLayout)
	require.NotEmpty(t, h.Virtualisation)
	require.Positive(t, h.MemoryBytes)
	t.Logf("%+v", h)
}
