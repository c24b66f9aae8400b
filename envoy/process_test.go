//go:build linux

package envoy_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/procfs"
)

func gone(t testing.TB, pid int) {
	t.Helper()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "pid %d is still there", pid)
}

// startFails starts what cannot start and returns the error; nothing is left.
func startFails(t *testing.T, o envoy.StartOptions) *envoy.StartError {
	t.Helper()
	pid := 0
	o.Hold = func(p int) error { pid = p; return nil }
	o.Dir = t.TempDir()
	_, err := envoy.Start(context.Background(), o)
	var e *envoy.StartError
	require.ErrorAs(t, err, &e)
	require.NotZero(t, pid)
	gone(t, pid)
	return e
}

func TestStartThatDies(t *testing.T) {
	e := startFails(t, envoy.StartOptions{Name: "arm text", Binary: envoy.Binary{Path: fake(t, fakeDies)}, Proxy: envoy.Proxy{Bootstrap: envoy.MustParse("{}")}})
	var exit *child.ExitError
	require.ErrorAs(t, e, &exit)
	require.Equal(t, 3, exit.Code)
	require.ErrorContains(t, e, "arm text did not start: ")
	require.ErrorContains(t, e, "envoy.log: [critical] cannot bind '127.0.0.1:80': Permission denied")
}

func TestStartThatNeverGetsReady(t *testing.T) {
	begin := time.Now()
	e := startFails(t, envoy.StartOptions{Binary: envoy.Binary{Path: fake(t, fakeSilent)}, Proxy: envoy.Proxy{Bootstrap: envoy.MustParse("{}")}, ReadyTimeout: 300 * time.Millisecond})
	require.ErrorIs(t, e, context.DeadlineExceeded)
	require.ErrorContains(t, e, "was not ready")
	require.ErrorContains(t, e, "admin.txt: no such file", "what was waited for")
	require.ErrorContains(t, e, "[info] initializing")
	require.Less(t, time.Since(begin), 20*time.Second)
}

// An address file from before names an Envoy that lives: it is not taken for
// the one that was started.
func TestStartTakesNoOtherForItsOwn(t *testing.T) {
	other := start(t, find(t, "1.40.0"), "other", envoy.Proxy{Bootstrap: envoy.MustParse(baseYAML)}, origin(t))
	dir := t.TempDir()
	put(t, filepath.Join(dir, "admin.txt"), []byte(other.Admin().Address()))
	_, err := envoy.Start(context.Background(), envoy.StartOptions{
		Binary: envoy.Binary{Path: fake(t, fakeSilent)}, Dir: dir,
		Proxy: envoy.Proxy{Bootstrap: envoy.MustParse("{}")}, ReadyTimeout: 300 * time.Millisecond,
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// An end with code 0 before readiness is a failure all the same.
func TestStartThatEndsWithoutAnError(t *testing.T) {
	e := startFails(t, envoy.StartOptions{Binary: envoy.Binary{Path: fake(t, fakeOther)}, Proxy: envoy.Proxy{Bootstrap: envoy.MustParse("{}")}})
	require.ErrorContains(t, e, "ended by itself with exit code 0")
	require.ErrorContains(t, e, "envoy.log: (empty)")
}

func TestStartRefusesBeforeAnythingRuns(t *testing.T) {
	bin := envoy.Binary{Path: fake(t, fakeSilent)}
	hold := func(int) error { t.Error("something was started"); return nil }
	base := envoy.MustParse(baseYAML)
	vars := envoy.Vars{envoy.OriginAddress: "127.0.0.1", envoy.OriginPort: "1"}
	for _, c := range []struct {
		o    envoy.StartOptions
		want string
	}{
		{envoy.StartOptions{Proxy: envoy.Proxy{Bootstrap: base}, Vars: vars}, "no Dir"},
		{envoy.StartOptions{Dir: t.TempDir()}, "empty bootstrap"},
		{envoy.StartOptions{Dir: t.TempDir(), Proxy: envoy.Proxy{Bootstrap: base}}, "variable ORIGIN_ADDRESS has no value"},
		{envoy.StartOptions{Dir: t.TempDir(), Vars: vars, Proxy: envoy.Proxy{Bootstrap: base, Flags: map[string]string{"nope": ""}}}, "no such flag"},
		{envoy.StartOptions{Dir: filepath.Join(t.TempDir(), "nope"), Vars: vars, Proxy: envoy.Proxy{Bootstrap: base}}, "no such file"},
	} {
		c.o.Binary, c.o.Hold, c.o.Name = bin, hold, "arm"
		_, err := envoy.Start(context.Background(), c.o)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "start arm: ")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := envoy.Start(ctx, envoy.StartOptions{Binary: bin, Dir: t.TempDir(), Vars: vars, Proxy: envoy.Proxy{Bootstrap: base}, Hold: hold})
	require.ErrorIs(t, err, context.Canceled)
}

// Hold sees a process of one thread that has run nothing; its error ends the
// start and the process.
func TestHold(t *testing.T) {
	bin := find(t, "1.40.0")
	refused := errors.New("no counter here")
	var held procfs.Process
	var at time.Duration
	o := envoy.StartOptions{Binary: bin, Proxy: envoy.Proxy{Bootstrap: envoy.MustParse(baseYAML)}, Vars: origin(t), Dir: t.TempDir(), Hold: func(pid int) error {
		threads, err := procfs.FS{}.Threads(pid)
		if err != nil || len(threads) != 1 {
			return errors.Join(errors.New("want one thread"), err)
		}
		held, err = procfs.FS{}.Process(pid)
		if err != nil {
			return err
		}
		at = time.Duration(threads[0].RunNanoseconds)
		_, err = os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
		return errors.Join(err, refused)
	}}
	_, err := envoy.Start(context.Background(), o)
	require.ErrorIs(t, err, refused)
	require.ErrorContains(t, err, "while it was held (pid "+strconv.Itoa(held.Pid))
	require.Equal(t, 1, held.Threads)
	require.Equal(t, bin.Path, held.Exe)
	gone(t, held.Pid)
	t.Logf("CPU time at the hold: %v", at)
}

// A real Envoy that dies at its start: its own words are in the error.
func TestRealStartErrors(t *testing.T) {
	base := envoy.MustParse(baseYAML)
	for _, release := range []string{"1.40.0", "1.36.2"} {
		bin := find(t, release)
		e := startFails(t, envoy.StartOptions{Binary: bin, Vars: origin(t), Proxy: envoy.Proxy{Bootstrap: base.With(
			envoy.Change{Name: "test", Ops: []envoy.Op{envoy.Set("static_resources.clusters[origin].no_such_field", 1)}})}})
		require.ErrorContains(t, e, "no_such_field")
		var exit *child.ExitError
		require.ErrorAs(t, e, &exit)
		require.Equal(t, 1, exit.Code)
	}
	// A file that was replaced after it was inspected.
	bin := find(t, "1.40.0")
	bin.Version = find(t, "1.36.2").Version
	replaced := startFails(t, envoy.StartOptions{Binary: bin, Vars: origin(t), Proxy: envoy.Proxy{Bootstrap: base}})
	require.ErrorContains(t, replaced, "it was replaced in between")
	// A flag that only a later release has.
	e := startFails(t, envoy.StartOptions{Binary: find(t, "1.36.2"), Vars: origin(t), Proxy: envoy.Proxy{Bootstrap: base, Flags: map[string]string{"file-flush-min-size-kb": "64"}}})
	require.ErrorContains(t, e, "file-flush-min-size-kb")
}

func TestValidate(t *testing.T) {
	const hcm = "static_resources.listeners[ingress].filter_chains[0].filters[envoy.filters.network.http_connection_manager].typed_config."
	base := envoy.MustParse(baseYAML)
	vars := envoy.Vars{envoy.OriginAddress: "127.0.0.1", envoy.OriginPort: "1"}
	ctx := context.Background()
	for _, release := range []string{"1.40.0", "1.36.2"} {
		bin := find(t, release)
		file := filepath.Join(t.TempDir(), "bootstrap.json")
		validate := func(b envoy.Bootstrap) error {
			text, err := b.Render(vars)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, text, 0o600))
			return envoy.Validate(ctx, bin, file)
		}
		require.NoError(t, validate(base))
		require.NoError(t, validate(base.With(envoy.FileAccessLog("a.log"), envoy.JSONAccessLog("b.log", nil))))
		for path, field := range map[string]string{
			"foo":           "foo",
			hcm + "foo":     hcm + "foo",
			hcm + "foo.bar": hcm + "foo",
			hcm + "http_filters[Router].typed_config.foo":     hcm + "http_filters[envoy.filters.http.router].typed_config.foo",
			"static_resources.clusters[origin].foo":           "static_resources.clusters[origin].foo",
			"static_resources.listeners[ingress].address.foo": "static_resources.listeners[ingress].address.foo",
		} {
			err := validate(base.With(envoy.Change{Name: "test", Ops: []envoy.Op{envoy.Set(path, 1)}}))
			var e *envoy.ValidationError
			require.ErrorAs(t, err, &e, path)
			require.True(t, e.Unknown, "%s: %v", path, err)
			require.Equal(t, field, e.Field)
			require.ErrorContains(t, err, "envoy "+release+" has no field "+field)
		}
		err := validate(base.With(envoy.Change{Name: "test", Ops: []envoy.Op{envoy.Set("static_resources.clusters[origin].connect_timeout", "250ms")}}))
		var e *envoy.ValidationError
		require.ErrorAs(t, err, &e)
		require.False(t, e.Unknown)
		require.Equal(t, "static_resources.clusters[origin].connect_timeout", e.Field)
		require.Error(t, validate(base.With(envoy.Change{Name: "test", Ops: []envoy.Op{envoy.Set(hcm+"route_config.virtual_hosts[all].routes[0].route.cluster", "nope")}})))
	}
	require.ErrorIs(t, envoy.Validate(ctx, find(t, "1.40.0"), filepath.Join(t.TempDir(), "nope.json")), os.ErrNotExist)
	// A binary that cannot run is no refusal of the bootstrap.
	err := envoy.Validate(ctx, envoy.Binary{Path: filepath.Join(t.TempDir(), "nope")}, put(t, filepath.Join(t.TempDir(), "b.json"), []byte("{}")))
	require.Error(t, err)
	var e *envoy.ValidationError
	require.False(t, errors.As(err, &e))
}

// The treatment is the only difference, or it is named: on running arms.
func TestEffectiveDifferenceOfRunningArms(t *testing.T) {
	bin := find(t, "1.40.0")
	ctx := context.Background()
	base := envoy.MustParse(baseYAML)
	run := func(p envoy.Proxy, vars envoy.Vars) envoy.Effective {
		proc := start(t, bin, "arm", p, vars)
		e, err := proc.Effective(ctx)
		require.NoError(t, err)
		require.NoError(t, proc.Stop())
		return e
	}
	baseline := envoy.Proxy{Bootstrap: base}
	a := run(baseline, origin(t))
	change := func(path string, value any) envoy.Change {
		return envoy.Change{Name: path, Ops: []envoy.Op{envoy.Set(path, value)}}
	}
	for _, c := range []struct {
		name     string
		run      envoy.Proxy // what runs
		declared envoy.Proxy // what it was said to be
		want     string      // empty: it is as declared
	}{
		{"a placebo at another origin", baseline, baseline, ""},
		{"a setting", envoy.Proxy{Bootstrap: base.With(change("static_resources.clusters[origin].per_connection_buffer_limit_bytes", 4096))},
			envoy.Proxy{Bootstrap: base.With(change("static_resources.clusters[origin].perConnectionBufferLimitBytes", "4096"))}, ""},
		{"a duration in other words", envoy.Proxy{Bootstrap: base.With(change("static_resources.clusters[origin].connect_timeout", "2.000s"))},
			envoy.Proxy{Bootstrap: base.With(change("static_resources.clusters[origin].connect_timeout", "2s"))}, ""},
		{"flags and environment", envoy.Proxy{Bootstrap: base, Concurrency: 2, Flags: map[string]string{"log-level": "info", "drain-time-s": "7"}, Env: map[string]string{"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}},
			envoy.Proxy{Bootstrap: base, Concurrency: 2, Flags: map[string]string{"log-level": "info", "drain-time-s": "7"}, Env: map[string]string{"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}}, ""},
		{"a worker too many", envoy.Proxy{Bootstrap: base, Concurrency: 2}, baseline, "not declared: flag concurrency: 1 -> 2"},
		{"a tunable that nobody declared", envoy.Proxy{Bootstrap: base, Env: map[string]string{"GLIBC_TUNABLES": "x"}}, baseline, "not declared: environment GLIBC_TUNABLES"},
		{"a setting that nobody declared", envoy.Proxy{Bootstrap: base.With(change("static_resources.clusters[origin].alt_stat_name", "x"))}, baseline,
			"not declared: static_resources.clusters[origin].alt_stat_name"},
		{"a default written out", envoy.Proxy{Bootstrap: base.With(change("static_resources.clusters[origin].lb_policy", "ROUND_ROBIN"))},
			envoy.Proxy{Bootstrap: base.With(change("static_resources.clusters[origin].lb_policy", "ROUND_ROBIN"))},
			"declared without effect (a default written out, or overridden): static_resources.clusters[origin].lb_policy"},
	} {
		b := run(c.run, origin(t))
		effective, err := envoy.CompareEffective(a, b)
		require.NoError(t, err)
		declared, err := envoy.DeclaredDifference(baseline, c.declared)
		require.NoError(t, err)
		err = envoy.CheckEffective(declared, effective)
		if c.want == "" {
			require.NoError(t, err, c.name)
		} else {
			require.ErrorContains(t, err, c.want, c.name)
		}
	}
	// Another release is one difference, of the binary, and flags that it has
	// or has not; the bootstrap is the same.
	old, err := start(t, find(t, "1.36.2"), "old", baseline, origin(t)).Effective(ctx)
	require.NoError(t, err)
	effective, err := envoy.CompareEffective(old, a)
	require.NoError(t, err)
	t.Log(effective)
	require.NotEmpty(t, effective)
	for _, d := range effective {
		require.Equal(t, envoy.InBinary, d.Where, "%v", d)
	}
	declared, err := envoy.DeclaredDifference(envoy.Proxy{Bootstrap: base, Version: "1.36.2"}, envoy.Proxy{Bootstrap: base, Version: "1.40.0"})
	require.NoError(t, err)
	require.NoError(t, envoy.CheckEffective(declared, effective))
}

func TestTwoWorkersAndTheLog(t *testing.T) {
	for _, release := range []string{"1.40.0", "1.36.2"} {
		bin := find(t, release)
		b := envoy.MustParse(baseYAML).With(envoy.Change{Name: "traps", Ops: []envoy.Op{
			envoy.Set("layered_runtime.layers", []any{map[string]any{"name": "s", "static_layer": map[string]any{"envoy.reloadable_features.nope": true}}}),
			envoy.Set("static_resources.clusters[origin].http2_protocol_options", map[string]any{}),
		}})
		proc := start(t, bin, "arm", envoy.Proxy{Bootstrap: b, Concurrency: 2}, origin(t))
		workers, err := envoy.WorkerRunNanoseconds(proc.Pid())
		require.NoError(t, err)
		require.Len(t, workers, 2)
		problems, err := proc.LogProblems()
		require.NoError(t, err)
		var kinds []string
		for _, p := range problems {
			kinds = append(kinds, p.Kind)
		}
		slices.Sort(kinds)
		require.Equal(t, []string{"deprecated field", "removed runtime guard"}, kinds, "%v", problems)

		memory, err := proc.Admin().Memory(context.Background())
		require.NoError(t, err)
		require.Positive(t, memory.AllocatedBytes)
		require.Positive(t, memory.PhysicalBytes)
		require.Len(t, proc.Listeners(), 1)
		require.Equal(t, "ingress", proc.Listeners()[0].Name)
	}
}

// Killed in the window: Done closes, the exit is named, Stop is no error.
func TestProcessThatIsKilled(t *testing.T) {
	proc := start(t, find(t, "1.40.0"), "arm", envoy.Proxy{Bootstrap: envoy.MustParse(baseYAML)}, origin(t))
	require.NoError(t, proc.ExitError())
	require.NoError(t, syscall.Kill(proc.Pid(), syscall.SIGKILL))
	<-proc.Done()
	var exit *child.ExitError
	require.ErrorAs(t, proc.ExitError(), &exit)
	require.Equal(t, syscall.SIGKILL, exit.Signal)
	_, err := proc.Admin().Stats(context.Background())
	require.Error(t, err)
	require.NoError(t, proc.Stop())
}

// Fifty starts and stops in one directory, whose address file is stale from
// the second on: no process, no shared memory, no temporary file is left, and
// the run directory has the same four files.
func TestStartsAndStopsLeaveNothing(t *testing.T) {
	bin := find(t, "1.40.0")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	before, err := filepath.Glob("/dev/shm/envoy*")
	require.NoError(t, err)
	dir := t.TempDir()
	p := envoy.Proxy{Bootstrap: envoy.MustParse(baseYAML).With(envoy.FileAccessLog("access.log"))}
	vars := origin(t)
	ledger, err := child.OpenLedger(t.TempDir())
	require.NoError(t, err)
	var took []time.Duration
	for range 50 {
		begin := time.Now()
		proc, err := envoy.Start(context.Background(), envoy.StartOptions{Binary: bin, Proxy: p, Vars: vars, Dir: dir, Ledger: ledger})
		require.NoError(t, err)
		took = append(took, time.Since(begin))
		request(t, proc.Address(), 1)
		require.NoError(t, envoy.Validate(context.Background(), bin, filepath.Join(dir, "bootstrap.json")))
		require.NoError(t, proc.Stop())
		require.NoError(t, proc.Stop(), "again")
		require.NoError(t, proc.ExitError(), "a stop by SIGTERM is exit code 0")
		gone(t, proc.Pid())
	}
	require.NoError(t, ledger.Close())
	after, err := filepath.Glob("/dev/shm/envoy*")
	require.NoError(t, err)
	require.Equal(t, before, after)
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	require.Equal(t, []string{"access.log", "admin.txt", "bootstrap.json", "envoy.log"}, names)
	slices.Sort(took)
	t.Logf("start to ready: median %v, slowest %v", took[25], took[49])
}

// Four at once: each serves at a port of its own, and all of them go.
func TestFourAtOnce(t *testing.T) {
	bin, vars := find(t, "1.40.0"), origin(t)
	var running []*envoy.Process
	addresses := map[string]bool{}
	for i := range 4 {
		p := start(t, bin, "arm "+strconv.Itoa(i), envoy.Proxy{Bootstrap: envoy.MustParse(baseYAML)}, vars)
		running = append(running, p)
		addresses[p.Address()], addresses[p.Admin().Address()] = true, true
	}
	require.Len(t, addresses, 8)
	for _, p := range running {
		request(t, p.Address(), 10)
	}
	for _, p := range running {
		require.NoError(t, p.Stop())
		gone(t, p.Pid())
	}
}

// Start to ready, stop not counted: ready-ms is the median.
func BenchmarkStartToReady(b *testing.B) {
	bin, vars := find(b, "1.40.0"), origin(b)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		p, err := envoy.Start(context.Background(), envoy.StartOptions{
			Binary: bin, Proxy: envoy.Proxy{Bootstrap: envoy.MustParse(baseYAML)}, Vars: vars, Dir: b.TempDir(),
		})
		require.NoError(b, err)
		took = append(took, time.Since(begin))
		b.StopTimer()
		require.NoError(b, p.Stop())
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ready-ms")
}
