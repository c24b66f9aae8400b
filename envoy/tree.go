package envoy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// A bootstrap is held as what encoding/json makes of a document: map[string]any,
// []any, string, bool, nil and json.Number. Trees are never changed in place
// once a Bootstrap holds them.

// maxDepth bounds nesting. Envoy itself stops at 100.
const maxDepth = 500

func cloneTree(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = cloneTree(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = cloneTree(e)
		}
		return l
	}
	return v
}

// treeOf turns any Go value that marshals to JSON into a tree of its own.
func treeOf(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decodeJSON(text)
}

// decodeJSON reads exactly one JSON value, numbers kept exact.
func decodeJSON(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if rest := bytes.TrimSpace(text[dec.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("text after the end of the JSON value, at byte %d", dec.InputOffset())
	}
	return normaliseNumbers(v, 0)
}

// normaliseNumbers gives equal numbers equal text, so that 1, 1.0 and 1e0
// are no difference between two configurations.
func normaliseNumbers(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	var err error
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if v[k], err = normaliseNumbers(e, depth+1); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, e := range v {
			if v[i], err = normaliseNumbers(e, depth+1); err != nil {
				return nil, err
			}
		}
	case json.Number:
		return normaliseNumber(v), nil
	}
	return v, nil
}

func normaliseNumber(n json.Number) json.Number {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return json.Number(strconv.FormatInt(i, 10))
	}
	if u, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return json.Number(strconv.FormatUint(u, 10))
	}
	f, err := n.Float64()
	if err != nil {
		return n // out of range: Envoy will refuse it by name
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// canonical writes a tree as JSON with sorted keys and two spaces of indent.
func canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// compact writes a tree as JSON on one line; it cannot fail on a tree.
func compact(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage(strconv.Quote("unprintable: " + err.Error()))
	}
	return json.RawMessage(bytes.TrimRight(b.Bytes(), "\n"))
}

// describe says in a few words what stands at a place, for error messages.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing (null)"
	case map[string]any:
		return "a mapping with " + listed("key", sortedKeys(v))
	case []any:
		if names := elementNames(v); len(names) > 0 {
			return fmt.Sprintf("a list of %d with %s", len(v), listed("element", names))
		}
		return fmt.Sprintf("a list of %d without names", len(v))
	case string:
		return "the string " + strconv.Quote(clip(v, 60))
	}
	return string(compact(v))
}

func listed(what string, names []string) string {
	if len(names) == 0 {
		return "no " + what + "s"
	}
	const most = 12
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	if len(names) > 1 || more != "" {
		what += "s"
	}
	return what + " " + strings.Join(names, ", ") + more
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func elementNames(l []any) []string {
	var names []string
	for _, e := range l {
		if name, ok := elementName(e); ok {
			names = append(names, name)
		}
	}
	return names
}

// elementName is the name by which paths and differences call a list element.
func elementName(e any) (string, bool) {
	m, ok := e.(map[string]any)
	if !ok {
		return "", false
	}
	name, ok := m["name"].(string)
	return name, ok && name != ""
}

// elementType is the last part of an element's type: "Router" for
// type.googleapis.com/envoy.extensions.filters.http.router.v3.Router.
func elementType(e any) (full, last string, ok bool) {
	m, isMap := e.(map[string]any)
	if !isMap {
		return "", "", false
	}
	holder := m
	for _, key := range []string{"typed_config", "typedConfig"} {
		if inner, isMap := m[key].(map[string]any); isMap {
			holder = inner
			break
		}
	}
	url, ok := holder["@type"].(string)
	if !ok {
		return "", "", false
	}
	full = url[strings.LastIndexByte(url, '/')+1:]
	return full, full[strings.LastIndexByte(full, '.')+1:], true
}

// findElement gives the index of the element that sel means. What it says
// when there is none, or more than one, ends an error message.
func findElement(l []any, sel segment) (int, string) {
	switch sel.kind {
	case segmentIndex:
		if sel.index < len(l) {
			return sel.index, ""
		}
		return -1, fmt.Sprintf("no element %d", sel.index)
	case segmentKey:
		return -1, fmt.Sprintf("an element of a list is addressed by [%s], not .%s", sel.text, sel.text)
	}
	var byName, byType []int
	for i, e := range l {
		if name, ok := elementName(e); ok && name == sel.text {
			byName = append(byName, i)
		}
		if full, last, ok := elementType(e); ok && sel.kind == segmentName && (last == sel.text || full == sel.text) {
			byType = append(byType, i)
		}
	}
	for _, found := range [][]int{byName, byType} {
		switch len(found) {
		case 0:
		case 1:
			return found[0], ""
		default:
			return -1, fmt.Sprintf("%d elements %q, at indices %s: use an index", len(found), sel.text,
				strings.Trim(fmt.Sprint(found), "[]"))
		}
	}
	return -1, fmt.Sprintf("no element %q", sel.text)
}

// lookupKey finds key in m, also under the other spelling that Envoy accepts
// (snake_case for camelCase and the reverse), and returns the spelling used.
func lookupKey(m map[string]any, key string) (string, bool) {
	if _, ok := m[key]; ok {
		return key, true
	}
	want := snake(key)
	for _, k := range sortedKeys(m) {
		if snake(k) == want {
			return k, true
		}
	}
	return key, false
}

func equalTrees(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !equalTrees(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalTrees)
	}
	return a == b
}
