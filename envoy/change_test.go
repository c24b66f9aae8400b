package envoy

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

const smallYAML = `
static_resources:
  listeners:
  - name: ingress
    filter_chains:
    - filters:
      - name: hcm
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  - name: raw
    filter_chains:
    - filters:
      - name: tcp
        typed_config: {"@type": type.googleapis.com/x.TcpProxy}
  clusters:
  - name: origin
    connectTimeout: 2s
  - name: other
layered_runtime:
  layers: [{name: s, static_layer: {"envoy.features.a": true}}]
`

func TestWith(t *testing.T) {
	base := MustParse(smallYAML)
	for _, c := range []struct {
		name string
		ops  []Op
		want []string
	}{
		{"set a new key", []Op{Set("static_resources.clusters[origin].type", "STATIC")},
			[]string{`static_resources.clusters[origin].type: absent -> "STATIC"`}},
		{"set makes mappings on the way", []Op{Set("static_resources.clusters[0].a.b.c", 1)},
			[]string{`static_resources.clusters[origin].a: absent -> {"b":{"c":1}}`}},
		{"set finds the other spelling", []Op{Set("static_resources.clusters[origin].connect_timeout", "3s")},
			[]string{`static_resources.clusters[origin].connect_timeout: "2s" -> "3s"`}},
		{"set false, zero and null stay", []Op{Set("a", false), Set("b", 0), Set("c", nil)},
			[]string{`a: absent -> false`, `b: absent -> 0`, `c: absent -> null`}},
		{"a key with dots", []Op{Set(`layered_runtime.layers[s].static_layer["envoy.features.a"]`, false)},
			[]string{`layered_runtime.layers[s].static_layer["envoy.features.a"]: true -> false`}},
		{"remove a key", []Op{Remove("layered_runtime")},
			[]string{`layered_runtime: {"layers":[{"name":"s","static_layer":{"envoy.features.a":true}}]} -> absent`}},
		{"remove an element", []Op{Remove("static_resources.clusters[other]")},
			[]string{`static_resources.clusters[other]: {"name":"other"} -> absent`}},
		{"append", []Op{Append("static_resources.clusters", map[string]any{"name": "third"})},
			[]string{`static_resources.clusters[third]: absent -> {"name":"third"}`}},
		{"append makes the list", []Op{Append("static_resources.secrets", map[string]any{"name": "s"})},
			[]string{`static_resources.secrets: absent -> [{"name":"s"}]`}},
		{"insert before, by type", []Op{Insert("static_resources.listeners[ingress].filter_chains[0].filters[HttpConnectionManager].typed_config.http_filters[Router]", map[string]any{"name": "first"})},
			[]string{`static_resources.listeners[ingress].filter_chains[0].filters[hcm].typed_config.http_filters[first]: absent -> {"name":"first"}`}},
		{"everywhere that it fits", []Op{Set("static_resources.listeners[*].filter_chains[*].filters[HttpConnectionManager].typed_config.x", 1)},
			[]string{`static_resources.listeners[ingress].filter_chains[0].filters[hcm].typed_config.x: absent -> 1`}},
		{"every element", []Op{Set("static_resources.clusters[*].y", 1)},
			[]string{`static_resources.clusters[origin].y: absent -> 1`, `static_resources.clusters[other].y: absent -> 1`}},
		{"replace an element", []Op{Set("static_resources.clusters[1]", map[string]any{"name": "new"})},
			[]string{`static_resources.clusters[new]: absent -> {"name":"new"}`, `static_resources.clusters[other]: {"name":"other"} -> absent`}},
		{"steps see the ones before", []Op{Append("l", "a"), Append("l", "b"), Remove("l[0]")},
			[]string{`l: absent -> ["b"]`}},
		{"another order", []Op{Remove("static_resources.clusters[origin]"), Append("static_resources.clusters", map[string]any{"name": "origin", "connectTimeout": "2s"})},
			[]string{`static_resources.clusters (order): ["origin","other"] -> ["other","origin"]`}},
	} {
		changed := base.With(Change{Name: c.name, Ops: c.ops})
		require.NoError(t, changed.Err(), c.name)
		var got []string
		for _, d := range Diff(base, changed) {
			got = append(got, d.String())
		}
		require.Equal(t, c.want, got, c.name)
		require.Nil(t, Diff(base, MustParse(smallYAML)), "%s changed its base", c.name)
		require.Len(t, changed.Changes(), 1)
		require.Empty(t, base.Changes())

		// A record gives back the same.
		text, err := json.Marshal(changed)
		require.NoError(t, err)
		var again Bootstrap
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, changed, again, c.name)
	}
}

func TestWithRefuses(t *testing.T) {
	base := MustParse(smallYAML)
	for _, c := range []struct {
		name string
		op   Op
		want string
	}{
		{"no such element", Set("static_resources.clusters[nope].x", 1),
			`change "test": set static_resources.clusters[nope].x: at static_resources.clusters there is a list of 2 with elements origin, other, no element "nope"`},
		{"no such index", Set("static_resources.clusters[2].x", 1), "no element 2"},
		{"no such key", Remove("static_resources.nope"), `at static_resources there is a mapping with keys clusters, listeners, no key "nope"`},
		{"no such list", Set("static_resources.nope[0].x", 1), `no key "nope"`},
		{"below a text", Set("static_resources.clusters[origin].connectTimeout.x", 1), `the string "2s"`},
		{"append to a mapping", Append("static_resources", 1), "append needs a list"},
		{"insert before a key", Insert("static_resources", 1), "insert needs an element"},
		{"insert before all", Insert("static_resources.clusters[*]", 1), "insert needs one element"},
		{"a dot into a list", Set("static_resources.clusters.origin.x", 1), "[origin], not .origin"},
		{"all of a mapping", Set("static_resources[*].x", 1), "[*] needs a list"},
		{"nowhere at all", Set("static_resources.listeners[*].filter_chains[*].filters[Nope].x", 1), `no element "Nope"`},
		{"a bad path", Set("a[", 1), "not closed"},
		{"no JSON", Set("a", func() {}), "no JSON"},
		{"no such step", Op{Do: "sett", Path: "a"}, `"sett" is no step`},
	} {
		changed := base.With(Change{Name: "test", Ops: []Op{c.op}})
		require.ErrorContains(t, changed.Err(), c.want, c.name)
		require.NoError(t, base.Err())
		// The error stays, whatever comes after, and stops everything.
		require.Equal(t, changed.Err(), changed.With(FileAccessLog("x")).Err())
		_, err := changed.Render(nil)
		require.Equal(t, changed.Err(), err)
		_, err = json.Marshal(changed)
		require.ErrorIs(t, err, changed.Err())
		require.Nil(t, Diff(base, MustParse(smallYAML)), "%s changed its base", c.name)
	}
	require.ErrorContains(t, base.With(Change{Ops: []Op{Set("a", 1)}}).Err(), "without a name")
	require.ErrorContains(t, base.With(Change{Name: "x"}).Err(), "no steps")
	require.ErrorContains(t, Bootstrap{}.With(FileAccessLog("x")).Err(), "Parse one first")
	require.ErrorContains(t, Bootstrap{}.Err(), "empty bootstrap")
	require.True(t, Bootstrap{}.IsZero())

	var path *PathError
	require.ErrorAs(t, base.With(Change{Name: "test", Ops: []Op{Set("static_resources.clusters[nope].x", 1)}}).Err(), &path)
	require.Equal(t, "static_resources.clusters", path.At)
}

func TestTwoOfOneNameNeedAnIndex(t *testing.T) {
	base := MustParse("l: [{name: a}, {name: a}, {'@type': t/x.B}, {typed_config: {'@type': t/y.B}}]")
	set := func(path string) error { return base.With(Change{Name: "test", Ops: []Op{Set(path, 1)}}).Err() }
	require.ErrorContains(t, set("l[a].x"), `2 elements "a", at indices 0 1: use an index`)
	require.ErrorContains(t, set("l[B].x"), `2 elements "B"`)
	require.NoError(t, set("l[y.B].x"))
	require.NoError(t, set("l[1].x"))
	require.ErrorContains(t, set(`l["B"].x`), `no element "B"`, "quotes mean a name, not a type")
}

// Values are copied: the caller may go on writing to what it passed, and to
// what it gets back.
func TestWithKeepsNothingOfTheCaller(t *testing.T) {
	value := map[string]any{"a": []any{"x"}}
	ops := []Op{Set("v", value), Set("w", value)}
	b := MustParse("k: 1").With(Change{Name: "test", Ops: ops})
	want, err := b.JSON()
	require.NoError(t, err)
	record, err := json.Marshal(b)
	require.NoError(t, err)

	value["a"].([]any)[0] = "changed"
	ops[0].Path = "changed"
	b.Changes()[0].Ops[0].Path = "changed"
	b.With(Change{Name: "more", Ops: []Op{Set("v.a[0]", "changed"), Append("w.a", "changed")}})

	got, err := b.JSON()
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	again, err := json.Marshal(b)
	require.NoError(t, err)
	require.JSONEq(t, string(record), string(again))
}

func TestOpJSONKeepsNothings(t *testing.T) {
	for _, op := range []Op{Set("a", false), Set("a", nil), Append("a", json.Number("0")), Remove("a"), Set("a", json.Number("12345678901234567890"))} {
		text, err := json.Marshal(op)
		require.NoError(t, err)
		var again Op
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, op, again, string(text))
	}
	var op Op
	require.ErrorContains(t, json.Unmarshal([]byte(`{"do":"set","pth":"a"}`), &op), "pth")
}
