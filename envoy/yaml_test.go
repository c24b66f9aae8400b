package envoy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The values were read back from Envoy 1.40.0 too: see
// TestScalarsAsEnvoyReadsThem.
var scalarCases = []struct {
	yaml string
	want string // JSON
}{
	{`5`, `5`}, {`-5`, `-5`}, {`+5`, `5`}, {`0`, `0`}, {`0x1F`, `31`}, {`017`, `15`}, {`08`, `"08"`},
	{`2147483647`, `2147483647`}, {`2147483648`, `"2147483648"`}, {`-2147483649`, `"-2147483649"`},
	{`9223372036854775808`, `"9223372036854775808"`},
	{`1_000`, `"1_000"`}, {`0o17`, `"0o17"`}, {`0b11`, `"0b11"`},
	{`0.5`, `"0.5"`}, {`1.0`, `"1.0"`}, {`1e3`, `"1e3"`}, {`.5`, `".5"`}, {`.inf`, `".inf"`}, {`.nan`, `".nan"`},
	{`true`, `true`}, {`True`, `true`}, {`TRUE`, `true`}, {`tRue`, `"tRue"`}, {`yes`, `true`}, {`on`, `true`}, {`y`, `true`}, {`Y`, `true`},
	{`no`, `false`}, {`Off`, `false`}, {`n`, `false`}, {`false`, `false`},
	{`null`, `null`}, {`~`, `null`}, {``, `null`}, {`Null`, `null`}, {`nULL`, `"nULL"`},
	{`"5"`, `"5"`}, {`'true'`, `"true"`}, {`""`, `""`}, {`plain words`, `"plain words"`},
	{`2001-01-01`, `"2001-01-01"`}, {`12:30:45`, `"12:30:45"`}, {`15s`, `"15s"`},
	{`[1, a, "2"]`, `[1,"a","2"]`}, {`{a: 1, b: {}}`, `{"a":1,"b":{}}`},
	{`{a: 1, a: 2}`, `{"a":2}`},
}

func TestScalars(t *testing.T) {
	for _, c := range scalarCases {
		root, err := decodeText([]byte("v: " + c.yaml + "\n"))
		require.NoError(t, err, c.yaml)
		require.Equal(t, c.want, string(compact(root["v"])), "%q", c.yaml)
	}
}

func TestDecodeText(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"anchors and aliases", "a: &x {p: 1}\nb: *x\nc: [*x, *x]\n", `{"a":{"p":1},"b":{"p":1},"c":[{"p":1},{"p":1}]}`},
		{"aliased scalar", "a: &x true\nb: *x\n", `{"a":true,"b":true}`},
		{"an alias as a key", "&k a: 1\nb: {*k : 2}\n", `{"a":1,"b":{"a":2}}`},
		{"of a repeated key the last wins", "a: 1\nb: 2\na: 3\n", `{"a":3,"b":2}`},
		{"only the first document", "a: 1\n---\na: 2\n", `{"a":1}`},
		{"a leading document mark", "---\na: 1\n", `{"a":1}`},
		{"block text", "a: |\n  5\n", `{"a":"5\n"}`},
		{"JSON", `{"a": 1.50, "b": 10000000000, "c": 1e2}`, `{"a":1.5,"b":10000000000,"c":100}`},
		{"JSON, repeated key", `{"a": {"x": 1}, "a": {"y": 2}}`, `{"a":{"y":2}}`},
		{"flow YAML that is no JSON", `{a: 1, b: [x]}`, `{"a":1,"b":["x"]}`},
		{"a number as a key", "1: a\n", `{"1":"a"}`},
		{"camelCase stays as it is", "staticResources: {}\n", `{"staticResources":{}}`},
	} {
		root, err := decodeText([]byte(c.text))
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, string(compact(root)), c.name)
	}
}

func TestDecodeTextRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "empty text"},
		{"only a comment", "# nothing\n", "empty file"},
		{"only white space", " \n\t\n", "empty text"},
		{"merge key", "a: &x {p: 1}\nb:\n  <<: *x\n  q: 2\n", "line 3: merge keys"},
		{"quoted merge key", "a: 1\n\"<<\": 2\n", "line 2: merge keys"},
		{"tab", "a:\n\tb: 1\n", "line 2"},
		{"a list", "- a\n", "a list of 1"},
		{"a word", "hello\n", `the string "hello"`},
		{"null", "null\n", "nothing (null)"},
		{"a mapping as a key", "? {a: b}\n: c\n", "line 1: a key must be plain text"},
		{"an alias inside itself", "a: &x\n  b: *x\n", "inside its own anchor"},
		{"a list inside itself", "a: &x\n- *x\n", "inside its own anchor"},
		{"a variable in a flow", "a: {port: ${ORIGIN_PORT}}\n", `in quotes: "${ORIGIN_PORT}"`},
		{"JSON and more", `{"a": 1} {"b": 2}`, "text after the end"},
		{"YAML and more", "{a: 1}\nb: 2\n", "text after the end"},
		{"unknown alias", "a: *nope\n", "nope"},
	} {
		_, err := decodeText([]byte(c.text))
		require.ErrorContains(t, err, c.want, c.name)
	}
}

// Nested aliases multiply: the text stays small, the tree would not.
func TestAliasesCannotBlowUp(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		n, m := string(rune('0'+i)), string(rune('0'+i-1))
		b.WriteString("a" + n + ": &a" + n + " [" + strings.Repeat("*a"+m+", ", 9) + "*a" + m + "]\n")
	}
	_, err := decodeText([]byte(b.String()))
	require.ErrorContains(t, err, "after aliases are expanded")
	_, err = decodeText([]byte("a: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000)))
	require.ErrorContains(t, err, "nested deeper")
}

// What parses is a mapping that renders to JSON which means the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a: 1\n", "a: &x {b: c}\nd: *x\n", `{"a": [1, 2.5, null, "x"]}`, "a:\n\tb: 1\n", "{a: ${X}}", "<<: {a: 1}\n",
		"a: |\n  text\n", "? [x]\n: y\n", "a: !!binary aGk=\n", "a: &x [*x]\n", "---\n---\n", "a: 1e999\n", "\xff\xfe", "%YAML 1.1\n---\na: b\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := Parse(text)
		if err != nil {
			return
		}
		out, err := b.JSON()
		if err != nil {
			t.Fatalf("parsed, but does not render: %v", err)
		}
		if !json.Valid(out) {
			t.Fatalf("no JSON: %s", out)
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("what it rendered does not parse: %v\n%s", err, out)
		}
		if d := Diff(b, again); d != nil {
			t.Fatalf("rendered and parsed again differs: %v", d)
		}
		b.Render(Vars{OriginAddress: "127.0.0.1", OriginPort: "1"}) // must not panic
	})
}
