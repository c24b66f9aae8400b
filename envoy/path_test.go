package envoy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParsePath(t *testing.T) {
	key := func(s string) segment { return segment{kind: segmentKey, text: s} }
	for _, c := range []struct {
		path string
		want []segment
	}{
		{"node", []segment{key("node")}},
		{"node.id", []segment{key("node"), key("id")}},
		{"a[0].b", []segment{key("a"), {kind: segmentIndex, text: "0", index: 0}, key("b")}},
		{"a[in.gress].b", []segment{key("a"), {kind: segmentName, text: "in.gress"}, key("b")}},
		{`a["x.y\"]z"]`, []segment{key("a"), {kind: segmentQuoted, text: `x.y"]z`}}},
		{`a["7"][*]`, []segment{key("a"), {kind: segmentQuoted, text: "7"}, {kind: segmentAll, text: "*"}}},
		{"a.@type", []segment{key("a"), key("@type")}},
		{`["a.b"].c`, []segment{{kind: segmentQuoted, text: "a.b"}, key("c")}},
	} {
		got, err := parsePath(c.path)
		require.NoError(t, err, c.path)
		require.Equal(t, c.want, got, c.path)
	}
	for _, c := range []struct{ path, want string }{
		{"", "empty path"},
		{".a", "empty key"},
		{"a.", "empty key"},
		{"a..b", "at byte 2: empty key"},
		{"a[", "not closed"},
		{"a[]", "empty []"},
		{"a[0]b", "at byte 4: want . or ["},
		{"a]b", "unexpected ]"},
		{`a"b`, `unexpected "`},
		{`a["b]`, "not closed"},
		{`a["b"c]`, "want ] after"},
		{"[0].a", "starts with a key"},
		{"[*]", "starts with a key"},
		{"a[99999999999999999999]", "too large"},
	} {
		_, err := parsePath(c.path)
		require.ErrorContains(t, err, c.want, c.path)
	}
}

func TestJoinedPathsParseBack(t *testing.T) {
	for _, name := range []string{"a", "a.b", "7", "*", "", "x]y", `x"y`, "ä b"} {
		for _, path := range []string{joinKey("top", name), joinName("top", name), joinKey("", name)} {
			segs, err := parsePath(path)
			require.NoError(t, err, path)
			require.Equal(t, name, segs[len(segs)-1].text, path)
		}
	}
}

func TestSnake(t *testing.T) {
	for in, want := range map[string]string{
		"statPrefix": "stat_prefix", "stat_prefix": "stat_prefix", "id": "id", "typedConfig": "typed_config",
		"X-Header": "X-Header", "Upper": "Upper", "a.bC": "a.bC", "": "", "@type": "@type",
	} {
		require.Equal(t, want, snake(in), in)
	}
}

// No path makes the parser panic, and what it accepts means the same again
// after it was written out.
func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"a.b[0]", `a["x"]`, "a[*].b", "a[", `["`, "a[b]]", "..", `a["\u00e4"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		segs, err := parsePath(path)
		if err != nil {
			return
		}
		out := ""
		for _, s := range segs {
			out = s.join(out)
		}
		again, err := parsePath(out)
		if err != nil || len(again) != len(segs) {
			t.Fatalf("%q became %q: %v", path, out, err)
		}
		for i := range segs {
			if again[i].text != segs[i].text {
				t.Fatalf("%q became %q: %v, want %v", path, out, again, segs)
			}
		}
	})
}
