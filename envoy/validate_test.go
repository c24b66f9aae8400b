package envoy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Texts of Envoy 1.40.0 and 1.36.2, with the random spaces that they had.
func TestParseRefusal(t *testing.T) {
	config := []byte(`{"static_resources":{"listeners":[{"name":"ingress","filter_chains":[{"filters":[{"name":"hcm","typed_config":{"http_filters":[{"name":"r"}]}}]}]}],"clusters":[{"name":"origin"}]}}`)
	const head = "[2026-11-30 20:36:07.726][10919][critical][main] [source/server/config_validation/server.cc:76] error initializing configuration 'u.json': "
	for _, c := range []struct {
		name, out string
		unknown   bool
		field     string
		reason    string
	}{
		{"at the top", head + "Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: invalid JSON  in envoy.config.bootstrap.v3.Bootstrap, near 109:8   (offset 2167):   no such field: 'foo') has unknown fields\n",
			true, "foo", "no such field: 'foo'"},
		{"in a listener", head + "Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: invalid JSON in envoy.config.bootstrap.v3.Bootstrap  @  static_resources.listeners[0]: message envoy.config.listener.v3.Listener,  near 69:11 (offset 1478): no such  field:  'bar') has unknown fields",
			true, "static_resources.listeners[ingress].bar", ""},
		{"in a filter of a filter", head + "Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: invalid JSON in   envoy.config.bootstrap.v3.Bootstrap @   static_resources.listeners[0].filter_chains[0].filters[0].typed_config.<any>.http_filters[0].typed_config.<any>: message envoy.extensions.filters.http.router.v3.Router,   near 39:20  (offset   936):   no such field:  'quux') has unknown fields",
			true, "static_resources.listeners[ingress].filter_chains[0].filters[hcm].typed_config.http_filters[r].typed_config.quux", ""},
		{"a wrong value", head + "Unable to parse JSON as proto (INVALID_ARGUMENT: invalid JSON  in envoy.config.bootstrap.v3.Bootstrap @ static_resources.clusters[0].connect_timeout:   message google.protobuf.Duration, near 75:24 (offset   1565): unexpected character: '2'; expected '\"'): {\n \"node\": {\n  \"id\": \"x\"",
			false, "static_resources.clusters[origin].connect_timeout", "unexpected character: '2'; expected '\"')"},
		{"a wrong word", head + "Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: unknown enum value: 'NOPE') has unknown fields",
			false, "", "unknown enum value: 'NOPE'"},
		{"a constraint", head + "goo.gle/debugstr   \nroute_config {\n  name: \"local\"\n}\n: Proto constraint validation failed (HttpConnectionManagerValidationError.StatPrefix: value length must be at least 1 characters)",
			false, "", "StatPrefix: value length must be at least 1 characters"},
		{"an unknown cluster", head + "route: unknown cluster 'nocluster'", false, "", "route: unknown cluster 'nocluster'"},
		{"an index that is not there", "invalid JSON in x.Y @ static_resources.listeners[7].a: message x, near 1:1 (offset 1): no such field: 'b'", true, "static_resources.listeners[7].a.b", ""},
		{"nothing", "", false, "", "it says nothing"},
	} {
		e := parseRefusal(c.out, config)
		require.Equal(t, c.unknown, e.Unknown, c.name)
		require.Equal(t, c.field, e.Field, c.name)
		require.Contains(t, e.Reason, c.reason, c.name)
		require.NotContains(t, e.Reason, "  ", c.name)
		parseRefusal(c.out, nil) // a file that cannot be read again
	}
}

func FuzzParseRefusal(f *testing.F) {
	f.Add("invalid JSON in x.Y @ a[0].b: message x: no such field: 'c'", `{"a":[{"name":"n"}]}`)
	f.Add("goo.gle/x ): {", "{")
	f.Fuzz(func(t *testing.T, out, config string) { parseRefusal(out, []byte(config)) })
}
