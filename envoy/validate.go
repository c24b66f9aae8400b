package envoy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tareperf/tare/internal/child"
)

// ValidationError is a bootstrap that Envoy refuses.
type ValidationError struct {
	File string // the file that was checked
	// Field is the path of the field that is unknown or wrong, list elements
	// by name where they have one; empty if Envoy does not say where.
	Field string
	// Unknown says that this release of Envoy has no such field.
	Unknown bool
	Reason  string // Envoy's own words, white space made single
	Release string // of the binary that refused it
}

func (e *ValidationError) Error() string {
	switch {
	case e.Unknown:
		return fmt.Sprintf("envoy %s has no field %s (%s): correct the name, or use a release that has it", e.Release, e.Field, e.File)
	case e.Field != "":
		return fmt.Sprintf("envoy %s refuses %s (%s): %s", e.Release, e.Field, e.File, e.Reason)
	}
	return fmt.Sprintf("envoy %s refuses %s: %s", e.Release, e.File, e.Reason)
}

// Validate lets the binary that will run a rendered bootstrap check it
// (--mode validate, about 0.15 s). The file's directory is the working
// directory, as it is for Start. It sees unknown fields, wrong values and
// missing certificates, but binds no port and talks to no one: that it starts
// is for Start to say. The error is a *ValidationError if Envoy refused it.
func Validate(ctx context.Context, bin Binary, file string) error {
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(abs)
	if err != nil {
		return fmt.Errorf("validate: %w", err)
	}
	out, err := runTool(ctx, tool{
		name: "envoy --mode validate", path: bin.Path, dir: filepath.Dir(abs),
		args: []string{"--mode", "validate", "--disable-hot-restart", "--log-level", "error", "--concurrency", "1", "--config-path", filepath.Base(abs)},
		env:  []string{"PATH=/usr/bin:/bin", "LANG=C"},
	})
	if err == nil {
		return nil
	}
	var exit *child.ExitError
	if !errors.As(err, &exit) || exit.Signal != 0 {
		return fmt.Errorf("validate %s with %s: %w%s", file, bin.Path, err, toolHint(out))
	}
	e := parseRefusal(out, text)
	e.File, e.Release = file, bin.Release
	return e
}

var (
	spaces       = regexp.MustCompile(`\s+`)
	refusalHead  = regexp.MustCompile(`^.*?error initializing configuration '[^']*': `)
	noSuchField  = regexp.MustCompile(`no such field: '([^']*)'`)
	refusalPlace = regexp.MustCompile(`invalid JSON in \S+ @ ([^\s:]+): `)
	debugPrefix  = regexp.MustCompile(`goo\.gle/\S+\s*`)
)

// parseRefusal reads what Envoy writes when it refuses a configuration. The
// protobuf library strews spaces and debug prefixes at random, so that all
// matching is on text with single spaces.
func parseRefusal(out string, config []byte) *ValidationError {
	text := spaces.ReplaceAllString(debugPrefix.ReplaceAllString(out, ""), " ")
	text = strings.TrimSpace(refusalHead.ReplaceAllString(text, ""))
	e := &ValidationError{Reason: text}
	// What follows "): {" is the whole configuration again.
	if i := strings.Index(text, "): {"); i > 0 {
		e.Reason = text[:i+1]
	}
	e.Reason = clip(e.Reason, 1000)
	if e.Reason == "" {
		e.Reason = "it says nothing"
	}
	if m := refusalPlace.FindStringSubmatch(e.Reason); m != nil {
		e.Field = strings.ReplaceAll(m[1], ".<any>", "")
	}
	if m := noSuchField.FindStringSubmatch(e.Reason); m != nil {
		e.Unknown = true
		e.Field = joinKey(e.Field, m[1])
	}
	e.Field = namedPath(e.Field, config)
	return e
}

// namedPath writes a path with indices with the names of the elements, as
// far as the configuration has them.
func namedPath(path string, config []byte) string {
	segs, err := parsePath(path)
	if err != nil {
		return path
	}
	var node any
	if json.Valid(config) {
		node, _ = decodeJSON(config)
	}
	out := ""
	for _, seg := range segs {
		switch n := node.(type) {
		case map[string]any:
			key, _ := lookupKey(n, seg.text)
			node, out = n[key], seg.join(out)
			continue
		case []any:
			if seg.kind == segmentIndex && seg.index < len(n) {
				node = n[seg.index]
				if name, ok := elementName(node); ok {
					out = joinName(out, name)
					continue
				}
				out = seg.join(out)
				continue
			}
		}
		node, out = nil, seg.join(out)
	}
	return out
}
