package envoy

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
)

const dumpText = `{"configs":[
 {"@type":"type.googleapis.com/envoy.admin.v3.BootstrapConfigDump","last_updated":"2026-01-01T00:00:00Z","bootstrap":{
  "node":{"id":"abtest","cluster":"abtest","user_agent_name":"envoy","user_agent_build_version":{"x":1},"extensions":[{"name":"e"}]},
  "static_resources":{"clusters":[{"name":"origin","port_value":41234,"host":"127.0.0.1:41234","connect_timeout":"2s"}]}}},
 {"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump"}]}`

func TestEffectiveBootstrapIsNormalised(t *testing.T) {
	source := MustParse("staticResources: {clusters: [{name: origin, portValue: '${ORIGIN_PORT}', host: '${ORIGIN_ADDRESS}:${ORIGIN_PORT}', connect_timeout: 2.0s}]}").root
	got, err := effectiveBootstrap(json.RawMessage(dumpText), source)
	require.NoError(t, err)
	require.JSONEq(t, `{"node":{"id":"abtest","cluster":"abtest"},"static_resources":{"clusters":[
		{"name":"origin","port_value":"${ORIGIN_PORT}","host":"${ORIGIN_ADDRESS}:${ORIGIN_PORT}","connect_timeout":"2s"}]}}`, string(got))

	for text, want := range map[string]string{"{}": "no bootstrap section", "[]": "no bootstrap section", `{"configs":[{"@type":"x.BootstrapConfigDump"}]}`: "no bootstrap section", "{": "config dump"} {
		_, err := effectiveBootstrap(json.RawMessage(text), source)
		require.ErrorContains(t, err, want, text)
	}
}

func effective() Effective {
	return Effective{
		Bootstrap:   json.RawMessage(`{"a":{"b":[{"name":"x","v":1}]}}`),
		CommandLine: map[string]json.RawMessage{"concurrency": json.RawMessage("1"), "config_path": json.RawMessage(`"/a"`)},
		Environment: map[string]string{"PATH": "/bin"}, SHA256: "aa", BuildID: "bb", Version: "cc",
	}
}

func TestCompareEffective(t *testing.T) {
	a, b := effective(), effective()
	b.CommandLine = maps.Clone(b.CommandLine)
	b.CommandLine["config_path"] = json.RawMessage(`"/b"`)
	d, err := CompareEffective(a, b)
	require.NoError(t, err)
	require.Nil(t, d, "where the files of a run are is no difference")

	b.CommandLine["concurrency"] = json.RawMessage("2")
	b.Bootstrap = json.RawMessage(`{"a":{"b":[{"name":"x","v":2}]}}`)
	b.Environment = map[string]string{"PATH": "/bin", "X": "1"}
	b.SHA256 = "dd"
	d, err = CompareEffective(a, b)
	require.NoError(t, err)
	var got []string
	for _, x := range d {
		got = append(got, x.String())
	}
	require.Equal(t, []string{"a.b[x].v: 1 -> 2", "flag concurrency: 1 -> 2", `environment X: absent -> "1"`, `binary sha256: "aa" -> "dd"`}, got)

	// An option that only one release has belongs to the binary; one that was
	// given differently is still a flag.
	b = effective()
	b.Version = "dd"
	b.CommandLine = map[string]json.RawMessage{"concurrency": json.RawMessage("2"), "new": json.RawMessage("0")}
	d, err = CompareEffective(a, b)
	require.NoError(t, err)
	got = nil
	for _, x := range d {
		got = append(got, x.String())
	}
	require.Equal(t, []string{"flag concurrency: 1 -> 2", "binary option new: absent -> 0", `binary version: "cc" -> "dd"`}, got)

	// An incomplete reading must not look like "no difference".
	for name, spoil := range map[string]func(*Effective){
		"bootstrap":   func(e *Effective) { e.Bootstrap = nil },
		"flags":       func(e *Effective) { e.CommandLine = nil },
		"environment": func(e *Effective) { e.Environment = nil },
		"digest":      func(e *Effective) { e.SHA256 = "" },
		"version":     func(e *Effective) { e.Version = "" },
		"no mapping":  func(e *Effective) { e.Bootstrap = json.RawMessage("[]") },
		"no JSON":     func(e *Effective) { e.CommandLine = map[string]json.RawMessage{"x": json.RawMessage("{")} },
	} {
		bad := effective()
		spoil(&bad)
		_, err := CompareEffective(effective(), bad)
		require.ErrorContains(t, err, "variant: ", name)
		_, err = CompareEffective(bad, effective())
		require.ErrorContains(t, err, "baseline: ", name)
	}
}

func TestCheckEffective(t *testing.T) {
	at := func(where string, paths ...string) []Difference {
		var list []Difference
		for _, p := range paths {
			list = append(list, Difference{Where: where, Path: p})
		}
		return list
	}
	for _, c := range []struct {
		name                string
		declared, effective []Difference
		undeclared, none    int
	}{
		{"nothing", nil, nil, 0, 0},
		{"the same", at(InBootstrap, "a.b"), at(InBootstrap, "a.b"), 0, 0},
		{"it shows below", at(InBootstrap, "a.b"), at(InBootstrap, "a.b.c", "a.b[x].d"), 0, 0},
		{"it shows above", at(InBootstrap, "a.b.c", "a.b.d"), at(InBootstrap, "a.b"), 0, 0},
		{"a longer word is another path", at(InBootstrap, "a.b"), at(InBootstrap, "a.bc"), 1, 1},
		{"beside it", at(InBootstrap, "a.b"), at(InBootstrap, "a.b", "a.c"), 1, 0},
		{"without effect", at(InBootstrap, "a.b", "a.c"), at(InBootstrap, "a.b"), 0, 1},
		{"an order", at(InBootstrap, "a"+orderSuffix), at(InBootstrap, "a"+orderSuffix), 0, 0},
		{"a flag of the same name", at(InBootstrap, "a"), at(InFlags, "a"), 1, 1},
		{"a flag is taken whole", at(InFlags, "log"), at(InFlags, "log.x"), 1, 1},
		{"a binary, however described", at(InBinary, "version"), at(InBinary, "sha256", "build_id"), 0, 0},
		{"a binary that is the same after all", at(InBinary, "path"), nil, 0, 1},
	} {
		err := CheckEffective(c.declared, c.effective)
		if c.undeclared+c.none == 0 {
			require.NoError(t, err, c.name)
			continue
		}
		var e *EffectiveError
		require.ErrorAs(t, err, &e, c.name)
		require.Len(t, e.Undeclared, c.undeclared, c.name)
		require.Len(t, e.NoEffect, c.none, c.name)
	}
	require.ErrorContains(t, CheckEffective(at(InBootstrap, "x"), at(InFlags, "y")),
		"not declared: flag y: absent -> absent; declared without effect (a default written out, or overridden): x:")
}

func TestParseEnviron(t *testing.T) {
	env, err := parseEnviron([]byte("A=1\x00B=x=y\x00C=\x00"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"A": "1", "B": "x=y", "C": ""}, env)
	_, err = parseEnviron([]byte("A=1\x00B\x00"))
	require.ErrorContains(t, err, `"B" is not NAME=value`)
}
