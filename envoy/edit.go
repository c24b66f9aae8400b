package envoy

import (
	"errors"
	"fmt"
)

// edit performs one step on a tree that nobody else holds.
type edit struct {
	op     Op
	value  any // op.Value as a tree
	change string
	done   int // places where the step was done
}

// applyChange performs all steps of c on root and returns the new root.
func applyChange(root map[string]any, c Change) (map[string]any, error) {
	if c.Name == "" {
		return nil, errors.New("a change without a name: rows need one")
	}
	if len(c.Ops) == 0 {
		return nil, fmt.Errorf("change %q: no steps: it would change nothing", c.Name)
	}
	for _, op := range c.Ops {
		segs, err := parsePath(op.Path)
		if err != nil {
			return nil, fmt.Errorf("change %q: %w", c.Name, err)
		}
		e := edit{op: op, change: c.Name}
		switch op.Do {
		case OpSet, OpAppend, OpInsert:
			if e.value, err = treeOf(op.Value); err != nil {
				return nil, fmt.Errorf("change %q: %s %s: the value is no JSON: %w", c.Name, op.Do, op.Path, err)
			}
		case OpRemove:
		default:
			return nil, fmt.Errorf("change %q: %q is no step: use set, remove, append or insert", c.Name, op.Do)
		}
		if _, err := e.walk(root, segs, ""); err != nil {
			return nil, err
		}
		if e.done == 0 {
			return nil, e.fail("", "no place that matches the path")
		}
	}
	return root, nil
}

func (e *edit) fail(at, found string) error {
	return &PathError{Change: e.change, Do: e.op.Do, Path: e.op.Path, At: at, Found: found}
}

// walk follows segs below node, does the step at the end, and returns what
// stands in node's place afterwards.
func (e *edit) walk(node any, segs []segment, at string) (any, error) {
	if len(segs) == 0 {
		return e.act(node, at)
	}
	seg, rest := segs[0], segs[1:]
	if seg.kind == segmentAll {
		return e.walkAll(node, rest, at)
	}
	switch n := node.(type) {
	case map[string]any:
		return e.walkKey(n, seg, rest, at)
	case []any:
		i, why := findElement(n, seg)
		if why != "" {
			return nil, e.fail(at, describe(node)+", "+why)
		}
		return e.element(n, i, rest, seg.join(at))
	}
	return nil, e.fail(at, fmt.Sprintf("%s, so %s cannot be below it", describe(node), seg.join("")))
}

func (e *edit) walkKey(m map[string]any, seg segment, rest []segment, at string) (any, error) {
	key, ok := lookupKey(m, seg.text)
	below := joinKey(at, key)
	creates := e.op.Do == OpSet || e.op.Do == OpAppend
	if !ok || m[key] == nil { // null is how Envoy's configuration says unset
		switch {
		case !creates, len(rest) > 0 && rest[0].kind != segmentKey && rest[0].kind != segmentQuoted:
			return nil, e.fail(at, fmt.Sprintf("%s, no key %q", describe(m), seg.text))
		case len(rest) > 0:
			made, err := e.walk(map[string]any{}, rest, below)
			if err != nil {
				return nil, err
			}
			m[key] = made
			return m, nil
		}
	}
	if len(rest) == 0 && e.op.Do == OpRemove {
		delete(m, key)
		e.done++
		return m, nil
	}
	if len(rest) == 0 && e.op.Do == OpInsert {
		return nil, e.fail(at, describe(m)+"; insert needs an element of a list at the end of its path")
	}
	made, err := e.walk(m[key], rest, below)
	if err != nil {
		return nil, err
	}
	m[key] = made
	return m, nil
}

// element goes on below element i, or ends there.
func (e *edit) element(l []any, i int, rest []segment, at string) (any, error) {
	if len(rest) == 0 {
		switch e.op.Do {
		case OpRemove:
			e.done++
			return append(l[:i:i], l[i+1:]...), nil
		case OpInsert:
			e.done++
			grown := append(l[:i:i], cloneTree(e.value))
			return append(grown, l[i:]...), nil
		}
	}
	made, err := e.walk(l[i], rest, at)
	if err != nil {
		return nil, err
	}
	l[i] = made
	return l, nil
}

// walkAll goes on below every element. Elements where the rest of the path
// leads nowhere are passed over: not every listener speaks HTTP.
func (e *edit) walkAll(node any, rest []segment, at string) (any, error) {
	l, ok := node.([]any)
	if !ok {
		return nil, e.fail(at, describe(node)+"; [*] needs a list")
	}
	before := e.done
	var first error
	if len(rest) == 0 && e.op.Do == OpRemove {
		e.done += len(l)
		return []any{}, nil
	}
	if len(rest) == 0 && e.op.Do == OpInsert {
		return nil, e.fail(at, describe(node)+"; insert needs one element, not [*]")
	}
	for i := range l {
		where := joinIndex(at, i)
		if name, ok := elementName(l[i]); ok {
			where = joinName(at, name)
		}
		made, err := e.walk(l[i], rest, where)
		var missing *PathError
		switch {
		case errors.As(err, &missing):
			if first == nil {
				first = err
			}
		case err != nil:
			return nil, err
		default:
			l[i] = made
		}
	}
	if e.done == before && first != nil {
		return nil, first
	}
	return l, nil
}

// act does a set or an append at the place itself.
func (e *edit) act(node any, at string) (any, error) {
	switch e.op.Do {
	case OpSet:
		e.done++
		return cloneTree(e.value), nil
	case OpAppend:
		switch n := node.(type) {
		case nil:
			e.done++
			return []any{cloneTree(e.value)}, nil
		case []any:
			e.done++
			return append(n, cloneTree(e.value)), nil
		}
		return nil, e.fail(at, describe(node)+"; append needs a list")
	}
	return nil, e.fail(at, describe(node))
}
