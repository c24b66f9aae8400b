package envoy

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Proxy describes an Envoy to run. It is plain data and marshals to JSON.
type Proxy struct {
	// Binary is the executable. Default: what Find finds.
	Binary string `json:"binary,omitempty"`
	// Version asks Find for one release, such as "1.36.2". Default: the first
	// that is found.
	Version string `json:"version,omitempty"`
	// Bootstrap is the configuration. Required.
	Bootstrap Bootstrap `json:"bootstrap"`
	// Concurrency is the number of workers. Default: 1. It is always given to
	// Envoy, whose own default is the number of CPUs.
	Concurrency int `json:"concurrency,omitempty"`
	// Flags are further command-line flags, by name without dashes; switches
	// have the value "true". Defaults: log-level warning,
	// file-flush-interval-msec 1000 (see FileFlushInterval). A flag that is
	// unknown or belongs to this package is an error.
	Flags map[string]string `json:"flags,omitempty"`
	// Env are environment variables beside PATH and LANG, which are the same
	// in all arms; nothing is inherited. Default: none.
	Env map[string]string `json:"env,omitempty"`
}

// Kind is the type tag of this target in a record.
func (p Proxy) Kind() string { return "envoy" }

// Check says what is wrong with p without an Envoy at hand: its bootstrap,
// paths of changes, flags, environment.
func (p Proxy) Check() error {
	if err := p.Bootstrap.Err(); err != nil {
		return err
	}
	if _, err := p.Bootstrap.ready(); err != nil {
		return err
	}
	if _, err := p.flags(); err != nil {
		return err
	}
	_, err := p.environment()
	return err
}

// Find finds the binary that p asks for.
func (p Proxy) Find() (Binary, error) {
	return Find(FindOptions{Path: p.Binary, Version: p.Version})
}

// Period is the longest period of the changes in p's bootstrap, under p's
// flags: windows are a whole number of it. Zero: none has one. Arms that are
// compared share the longest of theirs.
func (p Proxy) Period() time.Duration {
	var longest time.Duration
	for _, c := range p.Bootstrap.changes {
		period := c.Period
		if c.PeriodFlag != "" {
			if ms, err := strconv.ParseUint(p.Flags[c.PeriodFlag], 10, 32); err == nil {
				period = time.Duration(ms) * time.Millisecond
			}
		}
		longest = max(longest, period)
	}
	return longest
}

// environment is the whole environment, sorted.
func (p Proxy) environment() ([]string, error) {
	env := map[string]string{"PATH": "/usr/bin:/bin", "LANG": "C"}
	for _, name := range sortedNames(p.Env) {
		value := p.Env[name]
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("environment variable %q (value %q): a name is not empty and has no =, and neither has a zero byte", name, value)
		}
		env[name] = value
	}
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	sort.Strings(list)
	return list, nil
}

// DeclaredDifference says what differs between two descriptions: bootstraps
// as they would be rendered (variables not put in), flags, environment, and
// which binary they ask for. It is nil when they are the same.
func DeclaredDifference(baseline, variant Proxy) ([]Difference, error) {
	a, err := baseline.described()
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	b, err := variant.described()
	if err != nil {
		return nil, fmt.Errorf("variant: %w", err)
	}
	found := diffTrees(a.root, b.root)
	found = append(found, diffFlat(InFlags, a.options, b.options)...)
	found = append(found, diffFlat(InEnvironment, a.env, b.env)...)
	return append(found, diffFlat(InBinary, a.binary, b.binary)...), nil
}

type description struct {
	root                 map[string]any
	options, env, binary map[string]any
}

func (p Proxy) described() (description, error) {
	d := description{options: map[string]any{}, env: map[string]any{}, binary: map[string]any{}}
	var err error
	if d.root, err = p.Bootstrap.ready(); err != nil {
		return d, err
	}
	flags, err := p.flags()
	if err != nil {
		return d, err
	}
	for name, value := range flags {
		d.options[optionOf(name)] = value
	}
	env, err := p.environment()
	if err != nil {
		return d, err
	}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		d.env[name] = value
	}
	if p.Binary != "" {
		d.binary["path"] = p.Binary
	}
	if p.Version != "" {
		d.binary["version"] = p.Version
	}
	return d, nil
}

// diffFlat compares two mappings whose values are taken whole.
func diffFlat(where string, a, b map[string]any) []Difference {
	var found []Difference
	for _, k := range sortedKeys(a) {
		v := a[k]
		w, ok := b[k]
		switch {
		case !ok:
			found = append(found, Difference{Where: where, Path: k, A: compact(v)})
		case !equalTrees(v, w):
			found = append(found, Difference{Where: where, Path: k, A: compact(v), B: compact(w)})
		}
	}
	for _, k := range sortedKeys(b) {
		if _, ok := a[k]; !ok {
			found = append(found, Difference{Where: where, Path: k, B: compact(b[k])})
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Path < found[j].Path })
	return found
}
