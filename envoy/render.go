package envoy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The variables that a bootstrap may hold, as ${ORIGIN_ADDRESS} and
// ${ORIGIN_PORT}: where the origin listens, known only when it runs.
const (
	OriginAddress = "ORIGIN_ADDRESS"
	OriginPort    = "ORIGIN_PORT"
)

// Vars gives variables their values by name, without ${ and }.
type Vars map[string]string

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// VariableError is a ${ that is left in the bootstrap after all variables
// with a value were put in. Envoy would take it literally.
type VariableError struct {
	Path string // where it stands
	Text string // the whole value
	Name string // the variable; empty when the text is no variable at all
}

func (e *VariableError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s is %q: ${ starts a variable, ${NAME}: Envoy itself replaces none", e.Path, e.Text)
	}
	return fmt.Sprintf("%s is %q: variable %s has no value: use ${%s} and ${%s}, or write the value",
		e.Path, e.Text, e.Name, OriginAddress, OriginPort)
}

// Render gives the configuration that runs, as canonical JSON: made ready as
// below, then variables put in; a value that is one variable and reads as an
// integer becomes a number. What is made ready is the same in every arm:
//
//   - node id and cluster are "abtest" where absent;
//   - admin listens on 127.0.0.1 at a port the kernel chooses;
//   - every listener with a socket address listens on 127.0.0.1 at a port the
//     kernel chooses;
//   - every listener has a name and a stat_prefix ("listener_0" for the first,
//     if it has neither), and every HTTP connection manager a stat_prefix
//     (its listener's): otherwise statistics would be named after the port.
func (b Bootstrap) Render(vars Vars) ([]byte, error) {
	ready, err := b.ready()
	if err != nil {
		return nil, err
	}
	out, err := substitute(ready, vars, "")
	if err != nil {
		return nil, err
	}
	return canonical(out)
}

// ready makes the fillings that Render describes, on a copy.
func (b Bootstrap) ready() (map[string]any, error) {
	if err := b.Err(); err != nil {
		return nil, err
	}
	root := cloneTree(b.root).(map[string]any)
	node, err := submap(root, "node", "")
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"id", "cluster"} {
		if s, _ := node[key].(string); s == "" {
			node[key] = "abtest"
		}
	}
	admin, err := submap(root, "admin", "")
	if err != nil {
		return nil, err
	}
	admin["address"] = map[string]any{"socket_address": loopback(nil)}
	key, ok := lookupKey(root, "static_resources")
	if !ok {
		return root, nil
	}
	static, ok := root[key].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is %s, want a mapping", key, describe(root[key]))
	}
	if static["listeners"] == nil {
		return root, nil
	}
	listeners, ok := static["listeners"].([]any)
	if !ok {
		return nil, fmt.Errorf("%s.listeners is %s, want a list", key, describe(static["listeners"]))
	}
	for i, l := range listeners {
		path := joinIndex(key+".listeners", i)
		listener, ok := l.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is %s, want a mapping", path, describe(l))
		}
		if err := readyListener(listener, i, path); err != nil {
			return nil, err
		}
	}
	return root, nil
}

func readyListener(listener map[string]any, i int, path string) error {
	name, _ := listener["name"].(string)
	prefixKey, _ := lookupKey(listener, "stat_prefix")
	prefix, _ := listener[prefixKey].(string)
	if name == "" {
		name = prefix
	}
	if name == "" {
		name = "listener_" + strconv.Itoa(i)
	}
	if prefix == "" {
		prefix = name
	}
	listener["name"], listener[prefixKey] = name, prefix

	addresses := []any{listener["address"]}
	if key, ok := lookupKey(listener, "additional_addresses"); ok {
		if more, ok := listener[key].([]any); ok {
			for _, a := range more {
				if m, ok := a.(map[string]any); ok {
					addresses = append(addresses, m["address"])
				}
			}
		}
	}
	for _, a := range addresses {
		address, ok := a.(map[string]any)
		if !ok {
			continue // an internal listener
		}
		if key, ok := lookupKey(address, "socket_address"); ok {
			socket, ok := address[key].(map[string]any)
			if !ok {
				return fmt.Errorf("%s.address.%s is %s, want a mapping", path, key, describe(address[key]))
			}
			address[key] = loopback(socket)
		} else if _, ok := address["pipe"]; ok {
			return fmt.Errorf("%s (%s) listens on a pipe: two arms cannot share one; use a socket_address", path, name)
		}
	}
	managers(listener, func(hcm map[string]any) {
		key, _ := lookupKey(hcm, "stat_prefix")
		if s, _ := hcm[key].(string); s == "" {
			hcm[key] = prefix
		}
	})
	return nil
}

// loopback keeps what a socket address says besides where: its protocol.
func loopback(socket map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range socket {
		switch snake(k) {
		case "address", "port_value", "named_port":
		default:
			out[k] = v
		}
	}
	out["address"], out["port_value"] = "127.0.0.1", json.Number("0")
	return out
}

// managers calls f for every HTTP connection manager below v.
func managers(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if url, ok := v["@type"].(string); ok && strings.HasSuffix(url, ".HttpConnectionManager") {
			f(v)
		}
		for _, e := range v {
			managers(e, f)
		}
	case []any:
		for _, e := range v {
			managers(e, f)
		}
	}
}

func submap(m map[string]any, key, path string) (map[string]any, error) {
	key, _ = lookupKey(m, key)
	if m[key] == nil {
		m[key] = map[string]any{}
	}
	sub, ok := m[key].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is %s, want a mapping", joinKey(path, key), describe(m[key]))
	}
	return sub, nil
}

// substitute puts variables into every text of v; v is changed in place.
func substitute(v any, vars Vars, path string) (any, error) {
	var err error
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if strings.Contains(k, "${") {
				return nil, &VariableError{Path: joinKey(path, k), Text: k}
			}
			if v[k], err = substitute(v[k], vars, joinKey(path, k)); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, e := range v {
			where := joinIndex(path, i)
			if name, ok := elementName(e); ok {
				where = joinName(path, name)
			}
			if v[i], err = substitute(e, vars, where); err != nil {
				return nil, err
			}
		}
	case string:
		return substituteText(v, vars, path)
	}
	return v, nil
}

func substituteText(s string, vars Vars, path string) (any, error) {
	if !strings.Contains(s, "${") {
		return s, nil
	}
	rest := variable.ReplaceAllString(s, "") // what no variable explains
	if strings.Contains(rest, "${") {
		return nil, &VariableError{Path: path, Text: s}
	}
	var missing string
	out := variable.ReplaceAllStringFunc(s, func(m string) string {
		name := m[2 : len(m)-1]
		value, ok := vars[name]
		if !ok && missing == "" {
			missing = name
		}
		return value
	})
	if missing != "" {
		return nil, &VariableError{Path: path, Text: s, Name: missing}
	}
	if strings.Contains(out, "${") { // from a value: nothing is replaced twice
		return nil, &VariableError{Path: path, Text: out}
	}
	if whole := variable.FindString(s); whole == s {
		if n, err := strconv.ParseInt(out, 10, 64); err == nil {
			return json.Number(strconv.FormatInt(n, 10)), nil
		}
	}
	return out, nil
}
