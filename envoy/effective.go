package envoy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Effective is what a running Envoy really runs, as far as it and the kernel
// can tell, without what differs from start to start (ports, times, process
// ids) and without the list of built-in extensions, which the binary implies.
type Effective struct {
	// Bootstrap is the bootstrap section of /config_dump: defaults that were
	// written out are gone, spellings and durations are Envoy's own.
	Bootstrap json.RawMessage `json:"bootstrap"`
	// CommandLine is /server_info's command_line_options.
	CommandLine map[string]json.RawMessage `json:"command_line"`
	// Environment is the process's, from /proc.
	Environment map[string]string `json:"environment"`
	// SHA256, BuildID and Version identify the executable.
	SHA256  string `json:"sha256"`
	BuildID string `json:"build_id"`
	Version string `json:"version"` // whole string
}

// effectiveBootstrap takes the bootstrap out of a config dump and normalises
// it. source is the rendered-but-for-variables bootstrap: where it has a
// variable, so has the result, whatever value this run had.
func effectiveBootstrap(dump json.RawMessage, source map[string]any) (json.RawMessage, error) {
	tree, err := decodeJSON(dump)
	if err != nil {
		return nil, fmt.Errorf("config dump: %w", err)
	}
	var root map[string]any
	top, _ := tree.(map[string]any)
	configs, _ := top["configs"].([]any)
	for _, c := range configs {
		if m, ok := c.(map[string]any); ok {
			if t, _ := m["@type"].(string); strings.HasSuffix(t, ".BootstrapConfigDump") {
				root, _ = m["bootstrap"].(map[string]any)
			}
		}
	}
	if root == nil {
		return nil, errors.New("config dump: no bootstrap section in it")
	}
	if node, ok := root["node"].(map[string]any); ok {
		for _, key := range []string{"extensions", "user_agent_build_version", "user_agent_name", "user_agent_version", "hidden_envoy_deprecated_build_version"} {
			delete(node, key)
		}
	}
	restoreVariables(root, source)
	return compact(root), nil
}

// restoreVariables walks dump and source together and puts the source's text
// back wherever that holds a variable.
func restoreVariables(dump, source any) any {
	switch s := source.(type) {
	case map[string]any:
		d, ok := dump.(map[string]any)
		if !ok {
			return dump
		}
		for k, v := range s {
			if key, ok := lookupKey(d, k); ok {
				d[key] = restoreVariables(d[key], v)
			}
		}
	case []any:
		d, ok := dump.([]any)
		if !ok || len(d) != len(s) {
			return dump
		}
		for i := range d {
			d[i] = restoreVariables(d[i], s[i])
		}
	case string:
		switch dump.(type) {
		case string, json.Number:
			if variable.MatchString(s) {
				return s
			}
		}
	}
	return dump
}

// perRun are command-line options that say where a run's files are.
var perRun = map[string]bool{"config_path": true, "admin_address_path": true}

// CompareEffective says what differs between two running Envoys. It is nil
// when nothing does; an Effective that is not complete is an error. Between
// two releases, an option that only one of them has belongs to the binary.
func CompareEffective(baseline, variant Effective) ([]Difference, error) {
	a, err := baseline.trees()
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	b, err := variant.trees()
	if err != nil {
		return nil, fmt.Errorf("variant: %w", err)
	}
	found := diffTrees(a.root, b.root)
	for _, d := range diffFlat(InFlags, a.options, b.options) {
		if baseline.Version != variant.Version && (d.A == nil || d.B == nil) {
			d.Where, d.Path = InBinary, "option "+d.Path
		}
		found = append(found, d)
	}
	found = append(found, diffFlat(InEnvironment, a.env, b.env)...)
	return append(found, diffFlat(InBinary, a.binary, b.binary)...), nil
}

func (e Effective) trees() (description, error) {
	d := description{options: map[string]any{}, env: map[string]any{}}
	if len(e.Bootstrap) == 0 || len(e.CommandLine) == 0 || len(e.Environment) == 0 || e.SHA256 == "" || e.Version == "" {
		return d, errors.New("the effective configuration is not complete: read it from a running process with Process.Effective")
	}
	root, err := decodeJSON(e.Bootstrap)
	if err != nil {
		return d, fmt.Errorf("effective bootstrap: %w", err)
	}
	if d.root, err = asMapping(root); err != nil {
		return d, fmt.Errorf("effective bootstrap: %w", err)
	}
	for name, text := range e.CommandLine {
		if perRun[name] {
			continue
		}
		if d.options[name], err = decodeJSON(text); err != nil {
			return d, fmt.Errorf("effective command line, %s: %w", name, err)
		}
	}
	for name, value := range e.Environment {
		d.env[name] = value
	}
	d.binary = map[string]any{"sha256": e.SHA256, "build_id": e.BuildID, "version": e.Version}
	return d, nil
}

// EffectiveError is an effective difference that is not the declared one.
type EffectiveError struct {
	Undeclared []Difference // between the running processes, declared by nobody
	NoEffect   []Difference // declared, but not to be seen in the running processes
}

func (e *EffectiveError) Error() string {
	var parts []string
	for _, d := range e.Undeclared {
		parts = append(parts, "not declared: "+d.String())
	}
	for _, d := range e.NoEffect {
		parts = append(parts, "declared without effect (a default written out, or overridden): "+d.String())
	}
	return "the running arms do not differ as declared: " + strings.Join(parts, "; ")
}

// CheckEffective holds what differs between two running processes
// (CompareEffective) against what was declared (DeclaredDifference): each
// difference must lie at, below or above a declared one, and each declared
// one must show. It is nil if they agree, also on no difference at all; that
// an arm equal to its baseline is a mistake is for the caller to say. The
// error is an *EffectiveError.
func CheckEffective(declared, effective []Difference) error {
	var e EffectiveError
	for _, d := range effective {
		if !anyCovers(declared, d) {
			e.Undeclared = append(e.Undeclared, d)
		}
	}
	for _, d := range declared {
		if !anyCovers(effective, d) {
			e.NoEffect = append(e.NoEffect, d)
		}
	}
	if len(e.Undeclared)+len(e.NoEffect) > 0 {
		return &e
	}
	return nil
}

func anyCovers(list []Difference, d Difference) bool {
	for _, other := range list {
		if other.Where != d.Where {
			continue
		}
		switch d.Where {
		case InBinary: // one thing, described in several ways
			return true
		case InBootstrap:
			if related(other.Path, d.Path) {
				return true
			}
		default:
			if other.Path == d.Path {
				return true
			}
		}
	}
	return false
}

// related reports whether one path is the other or leads to it.
func related(a, b string) bool {
	a, b = strings.TrimSuffix(a, orderSuffix), strings.TrimSuffix(b, orderSuffix)
	if len(a) > len(b) {
		a, b = b, a
	}
	rest, ok := strings.CutPrefix(b, a)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// parseEnviron reads the content of /proc/PID/environ.
func parseEnviron(text []byte) (map[string]string, error) {
	env := map[string]string{}
	for _, kv := range strings.Split(strings.TrimRight(string(text), "\x00"), "\x00") {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, fmt.Errorf("environment: %s is not NAME=value", strconv.Quote(clip(kv, 60)))
		}
		env[name] = value
	}
	return env, nil
}
