package envoy

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// Where a Difference is.
const (
	InBootstrap   = "bootstrap"
	InFlags       = "flag"
	InEnvironment = "environment"
	InBinary      = "binary"
)

// Difference is one thing that is not the same in two arms.
type Difference struct {
	// Where is InBootstrap, InFlags, InEnvironment or InBinary.
	Where string `json:"where"`
	// Path is a path in the bootstrap, or the name of the flag, the variable
	// or the property of the binary. A path that ends in "(order)" is a list
	// with the same elements in another order.
	Path string `json:"path"`
	// A and B are the two values as JSON; empty where there is none.
	A json.RawMessage `json:"a,omitempty"`
	B json.RawMessage `json:"b,omitempty"`
}

// String is one line: what, from, to.
func (d Difference) String() string {
	show := func(v json.RawMessage) string {
		if v == nil {
			return "absent"
		}
		return clip(string(v), 200)
	}
	where := d.Where + " "
	if d.Where == InBootstrap {
		where = ""
	}
	return fmt.Sprintf("%s%s: %s -> %s", where, d.Path, show(d.A), show(d.B))
}

// orderSuffix marks a list whose elements are the same in another order.
const orderSuffix = " (order)"

// Diff says what differs between two bootstraps, in the order of the paths.
// Elements of lists are matched by their name where all have one and no two
// share it, otherwise by index. Variables are compared as they are written.
// It is nil for equal ones; it says nothing of a bootstrap with an error,
// which has to be asked for it first (Err).
func Diff(a, b Bootstrap) []Difference {
	return diffTrees(a.root, b.root)
}

func diffTrees(a, b map[string]any) []Difference {
	if a == nil {
		a = map[string]any{}
	}
	if b == nil {
		b = map[string]any{}
	}
	var d differ
	d.values(a, b, "")
	sort.SliceStable(d.found, func(i, j int) bool { return d.found[i].Path < d.found[j].Path })
	return d.found
}

type differ struct {
	found []Difference
	free  int // depth inside free-form fields
}

func (d *differ) add(path string, a, b json.RawMessage) {
	d.found = append(d.found, Difference{Where: InBootstrap, Path: path, A: a, B: b})
}

func (d *differ) values(a, b any, path string) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			d.mappings(a, b, path)
			return
		}
	case []any:
		if b, ok := b.([]any); ok {
			d.lists(a, b, path)
			return
		}
	}
	if !equalTrees(a, b) {
		d.add(path, compact(a), compact(b))
	}
}

func (d *differ) mappings(a, b map[string]any, path string) {
	spell := snake
	if d.free > 0 {
		spell = func(key string) string { return key }
	}
	bySpelling := make(map[string]any, len(b))
	for _, k := range sortedKeys(b) {
		bySpelling[spell(k)] = b[k]
	}
	inA := make(map[string]bool, len(a))
	for _, k := range sortedKeys(a) {
		key := spell(k)
		inA[key] = true
		if freeForm[key] {
			d.free++
		}
		if other, ok := bySpelling[key]; ok {
			d.values(a[k], other, joinKey(path, key))
		} else {
			d.add(joinKey(path, key), compact(a[k]), nil)
		}
		if freeForm[key] {
			d.free--
		}
	}
	for _, k := range sortedKeys(b) {
		if key := spell(k); !inA[key] {
			d.add(joinKey(path, key), nil, compact(b[k]))
		}
	}
}

// freeForm are fields whose keys are the user's own words: there fooBar and
// foo_bar are two keys, where elsewhere they are two spellings of one field.
var freeForm = map[string]bool{
	"json_format": true, "static_layer": true, "metadata": true, "filter_metadata": true, "struct": true, "value": true,
}

func (d *differ) lists(a, b []any, path string) {
	namesA, okA := uniqueNames(a)
	namesB, okB := uniqueNames(b)
	if !okA || !okB {
		for i := 0; i < len(a) || i < len(b); i++ {
			at := joinIndex(path, i)
			switch {
			case i >= len(a):
				d.add(at, nil, compact(b[i]))
			case i >= len(b):
				d.add(at, compact(a[i]), nil)
			default:
				d.values(a[i], b[i], at)
			}
		}
		return
	}
	inB := make(map[string]any, len(b))
	for i, name := range namesB {
		inB[name] = b[i]
	}
	inA := make(map[string]bool, len(a))
	var shared []string
	for i, name := range namesA {
		inA[name] = true
		at := joinName(path, name)
		if other, ok := inB[name]; ok {
			shared = append(shared, name)
			d.values(a[i], other, at)
		} else {
			d.add(at, compact(a[i]), nil)
		}
	}
	var sharedB []string
	for i, name := range namesB {
		if inA[name] {
			sharedB = append(sharedB, name)
		} else {
			d.add(joinName(path, name), nil, compact(b[i]))
		}
	}
	if strings.Join(shared, "\x00") != strings.Join(sharedB, "\x00") {
		d.add(path+orderSuffix, compact(shared), compact(sharedB))
	}
}

// uniqueNames gives the names of a list's elements if they identify them.
func uniqueNames(l []any) ([]string, bool) {
	names := elementNames(l)
	if len(names) != len(l) {
		return nil, false
	}
	seen := make(map[string]bool, len(names))
	for _, n := range names {
		if seen[n] {
			return nil, false
		}
		seen[n] = true
	}
	return names, true
}
