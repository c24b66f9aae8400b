package envoy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFlagsHaveDefaults(t *testing.T) {
	flags, err := Proxy{}.flags()
	require.NoError(t, err)
	require.Equal(t, "--concurrency 1 --disable-hot-restart --file-flush-interval-msec 1000 --log-level warning", strings.Join(arguments(flags), " "))

	flags, err = Proxy{Concurrency: 4, Flags: map[string]string{
		"log-level": "info", "drain-time-s": "5", "enable-mutex-tracing": "", "allow-unknown-fields": "true", "log-format-escaped": "false",
	}}.flags()
	require.NoError(t, err)
	require.Equal(t, "--allow-unknown-fields --concurrency 4 --disable-hot-restart --drain-time-s 5 --enable-mutex-tracing --file-flush-interval-msec 1000 --log-level info",
		strings.Join(arguments(flags), " "))
}

func TestFlagsRefuse(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"concurency", "2", "have no such flag; known are allow-unknown-fields, "},
		{"concurrency", "2", "use Proxy.Concurrency"},
		{"--log-level", "info", "without dashes"},
		{"l", "info", "the long name"},
		{"log-level", "off", "LogProblems needs warnings"},
		{"config-yaml", "{}", "use Proxy.Bootstrap"},
		{"base-id", "1", "hot restart is off"},
		{"drain-time-s", "5s", "whole number"},
		{"drain-time-s", "-5", "whole number"},
		{"enable-mutex-tracing", "yes", `"true" or "false"`},
		{"service-node", "", "want a value"},
		{"mode", "validate", "use Validate"},
	} {
		_, err := Proxy{Flags: map[string]string{c.flag: c.value}}.flags()
		var e *FlagError
		require.ErrorAs(t, err, &e, c.flag)
		require.Equal(t, c.flag, e.Flag)
		require.ErrorContains(t, err, c.want)
	}
	_, err := Proxy{Concurrency: -1}.flags()
	require.ErrorContains(t, err, "1 or more")
}

func TestProxyCheck(t *testing.T) {
	base := MustParse(smallYAML)
	require.NoError(t, Proxy{Bootstrap: base}.Check())
	for _, c := range []struct {
		p    Proxy
		want string
	}{
		{Proxy{}, "empty bootstrap"},
		{Proxy{Bootstrap: base.With(Change{Name: "x", Ops: []Op{Remove("nope")}})}, `no key "nope"`},
		{Proxy{Bootstrap: base, Flags: map[string]string{"x": ""}}, "no such flag"},
		{Proxy{Bootstrap: base, Env: map[string]string{"A=B": "1"}}, "A=B"},
		{Proxy{Bootstrap: base, Env: map[string]string{"": "1"}}, "not empty"},
		{Proxy{Bootstrap: MustParse("static_resources: {listeners: 1}")}, "want a list"},
	} {
		require.ErrorContains(t, c.p.Check(), c.want)
	}
}

func TestPeriodFollowsTheFlag(t *testing.T) {
	base := MustParse(smallYAML)
	require.Zero(t, Proxy{Bootstrap: base}.Period())
	logged := Proxy{Bootstrap: base.With(FileAccessLog("a.log"))}
	require.Equal(t, time.Second, logged.Period())
	logged.Flags = map[string]string{"file-flush-interval-msec": "2500"}
	require.Equal(t, 2500*time.Millisecond, logged.Period())
	logged.Bootstrap = logged.Bootstrap.With(Change{Name: "export", Ops: []Op{Set("x", 1)}, Period: 5 * time.Second})
	require.Equal(t, 5*time.Second, logged.Period())
}

func TestProxyJSON(t *testing.T) {
	p := Proxy{
		Bootstrap: MustParse(smallYAML).With(JSONAccessLog("a.log", nil)), Concurrency: 2, Version: "1.40.0",
		Flags: map[string]string{"log-level": "info"}, Env: map[string]string{"GLIBC_TUNABLES": "glibc.pthread.rseq=0"},
	}
	text, err := json.Marshal(p)
	require.NoError(t, err)
	var again Proxy
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, p, again)
	require.Equal(t, "envoy", p.Kind())
	require.Len(t, JSONAccessLogFields(), 15)
}

func TestDeclaredDifference(t *testing.T) {
	base := MustParse(smallYAML)
	a := Proxy{Bootstrap: base}
	for _, c := range []struct {
		name string
		b    Proxy
		want []string
	}{
		{"same", Proxy{Bootstrap: base, Concurrency: 1, Flags: map[string]string{"log-level": "warning"}}, nil},
		{"flags", Proxy{Bootstrap: base, Concurrency: 2, Flags: map[string]string{"file-flush-interval-msec": "10", "enable-mutex-tracing": ""}},
			[]string{`flag concurrency: "1" -> "2"`, `flag enable_mutex_tracing: absent -> "true"`, `flag file_flush_interval: "1000" -> "10"`}},
		{"environment", Proxy{Bootstrap: base, Env: map[string]string{"GLIBC_TUNABLES": "x", "LANG": "de"}},
			[]string{`environment GLIBC_TUNABLES: absent -> "x"`, `environment LANG: "C" -> "de"`}},
		{"binary", Proxy{Bootstrap: base, Version: "1.36.2"}, []string{`binary version: absent -> "1.36.2"`}},
		{"bootstrap", Proxy{Bootstrap: base.With(Change{Name: "x", Ops: []Op{Set("static_resources.clusters[other].x", 1)}})},
			[]string{`static_resources.clusters[other].x: absent -> 1`}},
		{"a fill-in that was written out", Proxy{Bootstrap: base.With(Change{Name: "x", Ops: []Op{Set("node.id", "abtest")}})}, nil},
	} {
		d, err := DeclaredDifference(a, c.b)
		require.NoError(t, err)
		var got []string
		for _, x := range d {
			got = append(got, x.String())
		}
		require.Equal(t, c.want, got, c.name)
	}
	_, err := DeclaredDifference(a, Proxy{})
	require.ErrorContains(t, err, "variant: empty bootstrap")
}
