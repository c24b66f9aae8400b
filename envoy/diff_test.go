package envoy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       []string
	}{
		{"equal", "a: [1, {b: x}]", `{"a": [1.0, {"b": "x"}]}`, nil},
		{"spelling of a field is no difference", "statPrefix: x", "stat_prefix: x", nil},
		{"spelling of the user's own key is one", "json_format: {fooBar: x}", "json_format: {foo_bar: x}",
			[]string{`json_format.fooBar: "x" -> absent`, `json_format.foo_bar: absent -> "x"`}},
		{"value", "a: 1", "a: 2", []string{`a: 1 -> 2`}},
		{"type", "a: 1", "a: '1'", []string{`a: 1 -> "1"`}},
		{"mapping for a list", "a: []", "a: {}", []string{`a: [] -> {}`}},
		{"null is not absent", "a: null", "b: 1", []string{`a: null -> absent`, `b: absent -> 1`}},
		{"list without names, by index", "a: [1, 2, 3]", "a: [1, 3]", []string{`a[1]: 2 -> 3`, `a[2]: 3 -> absent`}},
		{"list with names, by name", "a: [{name: x, v: 1}, {name: yy}]", "a: [{name: z}, {name: x, v: 2}]",
			[]string{`a[x].v: 1 -> 2`, `a[yy]: {"name":"yy"} -> absent`, `a[z]: absent -> {"name":"z"}`}},
		{"a name twice, by index", "a: [{name: x, v: 1}, {name: x}]", "a: [{name: x, v: 2}, {name: x}]", []string{`a[0].v: 1 -> 2`}},
		{"odd keys", `{"a.b": {"": 1}}`, `{"a.b": {"": 2}}`, []string{`["a.b"][""]: 1 -> 2`}},
		{"order", "a: [{name: x}, {name: yy}, {name: z}]", "a: [{name: yy}, {name: x}]",
			[]string{`a (order): ["x","yy"] -> ["yy","x"]`, `a[z]: {"name":"z"} -> absent`}},
	} {
		a, b := MustParse(c.a), MustParse(c.b)
		var got, back []string
		for _, d := range Diff(a, b) {
			require.Equal(t, InBootstrap, d.Where)
			got = append(got, d.String())
		}
		require.Equal(t, c.want, got, c.name)
		for _, d := range Diff(b, a) {
			back = append(back, d.String())
		}
		require.Len(t, back, len(got), "%s, the other way", c.name)
		require.Nil(t, Diff(a, a))
	}
}
