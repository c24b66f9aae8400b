package envoy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const hcmType = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

func rendered(t *testing.T, text string, vars Vars) string {
	t.Helper()
	out, err := MustParse(text).Render(vars)
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal(out, &v))
	return string(compact(v))
}

func TestRenderFillsIn(t *testing.T) {
	require.Equal(t, `{"admin":{"address":{"socket_address":{"address":"127.0.0.1","port_value":0}}},"node":{"cluster":"abtest","id":"abtest"}}`,
		rendered(t, "{}", nil))
	require.Equal(t, `{"admin":{"access_log":[],"address":{"socket_address":{"address":"127.0.0.1","port_value":0}}},"node":{"cluster":"mine","id":"abtest"}}`,
		rendered(t, "{node: {cluster: mine}, admin: {access_log: [], address: {pipe: {path: /x}}}}", nil))

	got := rendered(t, `
staticResources:
  listeners:
  - address: {socket_address: {address: 0.0.0.0, port_value: 443, protocol: UDP}}
    filter_chains: [{filters: [{name: x, typed_config: {"@type": `+hcmType+`}}]}]
  - name: second
    address: {socketAddress: {address: "::", portValue: 80}}
    additional_addresses: [{address: {socket_address: {address: 0.0.0.0, named_port: http}}}]
    filter_chains: [{filters: [{name: x, typed_config: {"@type": `+hcmType+`, statPrefix: mine}}]}]
  - stat_prefix: third
    internal_listener: {}
`, nil)
	for _, want := range []string{
		`{"address":{"socket_address":{"address":"127.0.0.1","port_value":0,"protocol":"UDP"}}`,
		`"stat_prefix":"listener_0"}}]}],"name":"listener_0","stat_prefix":"listener_0"`,
		`{"additional_addresses":[{"address":{"socket_address":{"address":"127.0.0.1","port_value":0}}}],"address":{"socketAddress":{"address":"127.0.0.1","port_value":0}}`,
		`"statPrefix":"mine"}}]}],"name":"second","stat_prefix":"second"`,
		`{"internal_listener":{},"name":"third","stat_prefix":"third"}`,
	} {
		require.Contains(t, got, want)
	}
}

func TestRenderRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"node: 1":                            "node is 1, want a mapping",
		"static_resources: {listeners: {}}":  "want a list",
		"static_resources: []":               "want a mapping",
		"static_resources: {listeners: [1]}": "static_resources.listeners[0] is 1",
		"static_resources: {listeners: [{address: {pipe: {path: /x}}}]}":          "listens on a pipe",
		"static_resources: {listeners: [{address: {socket_address: 127.0.0.1}}]}": "want a mapping",
	} {
		_, err := MustParse(text).Render(nil)
		require.ErrorContains(t, err, want, text)
	}
}

func TestVariables(t *testing.T) {
	vars := Vars{OriginAddress: "127.0.0.1", OriginPort: "8080"}
	require.Contains(t, rendered(t, `{x: ["${ORIGIN_PORT}", "${ORIGIN_ADDRESS}", "${ORIGIN_ADDRESS}:${ORIGIN_PORT}"], y: "$x {y} $"}`, vars),
		`"x":[8080,"127.0.0.1","127.0.0.1:8080"],"y":"$x {y} $"`)
	for _, c := range []struct{ text, path, name string }{
		{"a: {b: [{name: nn, c: '${POD_NAME}'}]}", "a.b[nn].c", "POD_NAME"},
		{"a: ['x', 'y ${HOME} z']", "a[1]", "HOME"},
		{"a: '${ORIGIN_PORT'", "a", ""},
		{"a: '${}'", "a", ""},
		{"a: '${A-B}'", "a", ""},
		{"a: {'${ORIGIN_PORT}': 1}", `a.${ORIGIN_PORT}`, ""},
	} {
		_, err := MustParse(c.text).Render(vars)
		var e *VariableError
		require.ErrorAs(t, err, &e, c.text)
		require.Equal(t, c.path, e.Path, c.text)
		require.Equal(t, c.name, e.Name, c.text)
	}
	_, err := MustParse("a: '${ORIGIN_PORT}'").Render(Vars{OriginPort: "${ORIGIN_PORT}"})
	require.ErrorContains(t, err, "starts a variable", "a value is not replaced again, nor passed on")
	require.Contains(t, rendered(t, "a: '${ORIGIN_PORT}'", Vars{OriginPort: "x1"}), `"a":"x1"`)
	// The template keeps its variables.
	b := MustParse("a: '${ORIGIN_PORT}'")
	_, err = b.Render(vars)
	require.NoError(t, err)
	text, err := b.JSON()
	require.NoError(t, err)
	require.Contains(t, string(text), "${ORIGIN_PORT}")
}

func manyRoutes(n int) string {
	var b strings.Builder
	b.WriteString("static_resources:\n  listeners:\n  - name: ingress\n    address: {socket_address: {address: 0.0.0.0, port_value: 1}}\n    filter_chains:\n    - filters:\n      - name: hcm\n        typed_config:\n          \"@type\": " + hcmType + "\n          route_config:\n            virtual_hosts:\n            - name: all\n              domains: [\"*\"]\n              routes:\n")
	for i := range n {
		fmt.Fprintf(&b, "              - name: route_%d\n                match: {prefix: \"/service/%d/%s\"}\n                route: {cluster: origin, timeout: 15s, retry_policy: {retry_on: \"5xx,reset,connect-failure\", num_retries: 2}}\n                metadata: {filter_metadata: {a: {description: \"%s\"}}}\n", i, i, strings.Repeat("x", 60), strings.Repeat("d", 200))
	}
	return b.String()
}

// A bootstrap of 5 MB is changed and rendered in a bounded time; the
// benchmark says how long it takes.
func TestLargeBootstrap(t *testing.T) {
	text := manyRoutes(10000)
	require.Greater(t, len(text), 5_000_000)
	begin := time.Now()
	base := MustParse(text)
	parsed := time.Since(begin)
	begin = time.Now()
	changed := base.With(FileAccessLog("access.log"))
	_, err := changed.Render(nil)
	require.NoError(t, err)
	t.Logf("%d bytes: parsed in %v, changed and rendered in %v", len(text), parsed, time.Since(begin))
	require.Len(t, Diff(base, changed), 1)
}

func BenchmarkWithAndRender10000Routes(b *testing.B) {
	base := MustParse(manyRoutes(10000))
	for b.Loop() {
		if _, err := base.With(FileAccessLog("access.log")).Render(nil); err != nil {
			b.Fatal(err)
		}
	}
}
