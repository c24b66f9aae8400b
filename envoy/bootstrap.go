package envoy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Bootstrap is a configuration that Envoy starts from, as a value: With
// returns a new one and never changes the old. The zero value is empty and
// is refused by everything that would run it.
//
// In JSON it is the whole configuration and the changes that led to it, so
// that a record shows both.
type Bootstrap struct {
	root    map[string]any // never written to once it is here
	changes []Change
	err     error // of a With that did not fit; kept so that calls chain
}

// Parse reads a bootstrap from YAML or JSON text as Envoy reads it: anchors
// and aliases work, of a repeated key the last wins, only the first document
// counts; merge keys (<<), tabs for indentation and an empty text are errors
// that name the line. Whether Envoy knows the fields is for Validate to say.
func Parse[T string | []byte](text T) (Bootstrap, error) {
	root, err := decodeText([]byte(text))
	if err != nil {
		return Bootstrap{}, fmt.Errorf("bootstrap: %w", err)
	}
	return Bootstrap{root: root}, nil
}

// MustParse is Parse for text that is part of the program: it panics on an
// error.
func MustParse[T string | []byte](text T) Bootstrap {
	b, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return b
}

// With returns b with the changes made, in order. An error, of a path that
// does not fit for instance, is kept in the result: Err tells it, and so does
// everything that would use the result.
func (b Bootstrap) With(changes ...Change) Bootstrap {
	if b.err != nil || len(changes) == 0 {
		return b
	}
	if b.root == nil {
		b.err = errors.New("With on an empty bootstrap: Parse one first")
		return b
	}
	root := cloneTree(b.root).(map[string]any)
	for _, c := range changes {
		var err error
		if root, err = applyChange(root, c); err != nil {
			b.err = err
			return b
		}
	}
	// The steps' values are copied through JSON, so that nothing the caller
	// still holds is part of the result.
	kept, err := copyChanges(changes)
	if err != nil {
		b.err = err
		return b
	}
	return Bootstrap{root: root, changes: append(slices.Clip(slices.Clone(b.changes)), kept...)}
}

// Err is the first error of the calls that made b; nil if it can be used.
func (b Bootstrap) Err() error {
	if b.err != nil {
		return b.err
	}
	if b.root == nil {
		return errors.New("empty bootstrap: give one, such as envoy.MustParse(yamlText)")
	}
	return nil
}

// IsZero reports whether b is the zero value.
func (b Bootstrap) IsZero() bool { return b.root == nil && b.err == nil }

// Changes are those that With has made, in order.
func (b Bootstrap) Changes() []Change {
	kept, err := copyChanges(b.changes)
	if err != nil { // they were copied this way before
		return slices.Clone(b.changes)
	}
	return kept
}

func copyChanges(changes []Change) ([]Change, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	var kept []Change
	return kept, json.Unmarshal(text, &kept)
}

// JSON is the configuration as canonical JSON: keys sorted, two spaces of
// indent, variables still in it.
func (b Bootstrap) JSON() ([]byte, error) {
	if err := b.Err(); err != nil {
		return nil, err
	}
	return canonical(b.root)
}

type bootstrapJSON struct {
	Config  json.RawMessage `json:"config,omitempty"`
	Changes []Change        `json:"changes,omitempty"`
}

// MarshalJSON writes the configuration and the changes that led to it.
func (b Bootstrap) MarshalJSON() ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	out := bootstrapJSON{Changes: b.changes}
	if b.root != nil {
		out.Config = compact(b.root)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (b *Bootstrap) UnmarshalJSON(text []byte) error {
	var in bootstrapJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	read := Bootstrap{changes: in.Changes}
	if len(in.Config) > 0 {
		root, err := decodeJSON(in.Config)
		if err != nil {
			return fmt.Errorf("bootstrap: config: %w", err)
		}
		if read.root, err = asMapping(root); err != nil {
			return fmt.Errorf("bootstrap: config: %w", err)
		}
	}
	*b = read
	return nil
}
