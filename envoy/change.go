package envoy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Change is one setting that an arm has and its baseline has not: what to do
// to the bootstrap, how to see that the running proxy really does it, and
// what it asks of the measurement. A Change is plain data and marshals to
// JSON; write your own for a setting that the catalogue lacks.
type Change struct {
	// Name says the setting in a row, such as "file access log (text)".
	Name string `json:"name"`
	// Ops are applied in order, each to what the one before it left.
	Ops []Op `json:"ops"`
	// Proof must hold over every window of an arm with this change; see
	// CheckProof. Empty: nothing in the statistics shows this setting.
	Proof []Expect `json:"proof,omitempty"`
	// Period is the longest time between two pieces of work that the setting
	// puts off, such as a flush; a window is a whole number of periods.
	// Zero: nothing is put off.
	Period time.Duration `json:"period_ns,omitempty"`
	// PeriodFlag is the command-line flag (milliseconds) that sets Period, if
	// one does; Period is then what it is under the flags that Proxy gives.
	PeriodFlag string `json:"period_flag,omitempty"`
	// Needs names what the host must have, in words. Empty: nothing.
	Needs []string `json:"needs,omitempty"`
}

// What an Op does.
const (
	OpSet    = "set"    // the value stands at the path; missing mappings on the way are made
	OpRemove = "remove" // what stands at the path goes; it must be there
	OpAppend = "append" // the value becomes the last element of the list at the path, made if absent
	OpInsert = "insert" // the value becomes a list element just before the one at the path
)

// Op is one step of a Change. Paths are described in the package manual.
type Op struct {
	// Do is OpSet, OpRemove, OpAppend or OpInsert.
	Do string `json:"do"`
	// Path is where. With [*] in it the step is done at every place that
	// matches, and there must be one.
	Path string `json:"path"`
	// Value is anything that marshals to JSON; not read by OpRemove.
	Value any `json:"value,omitempty"`
}

// Set puts value at path.
func Set(path string, value any) Op { return Op{Do: OpSet, Path: path, Value: value} }

// Remove takes away what stands at path.
func Remove(path string) Op { return Op{Do: OpRemove, Path: path} }

// Append adds value to the end of the list at path.
func Append(path string, value any) Op { return Op{Do: OpAppend, Path: path, Value: value} }

// Insert puts value into a list, before the element at path: an HTTP filter
// before the router, for one.
func Insert(path string, value any) Op { return Op{Do: OpInsert, Path: path, Value: value} }

// MarshalJSON keeps a value that is false, 0 or null, which omitempty drops.
func (o Op) MarshalJSON() ([]byte, error) {
	m := map[string]any{"do": o.Do, "path": o.Path}
	if o.Do != OpRemove {
		m["value"] = o.Value
	}
	return json.Marshal(m)
}

// UnmarshalJSON reads what MarshalJSON wrote, with numbers exact.
func (o *Op) UnmarshalJSON(text []byte) error {
	var raw struct {
		Do    string          `json:"do"`
		Path  string          `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&raw); err != nil {
		return fmt.Errorf("a step of a change: %w", err)
	}
	*o = Op{Do: raw.Do, Path: raw.Path}
	if len(raw.Value) == 0 {
		return nil
	}
	v, err := decodeJSON(raw.Value)
	if err != nil {
		return fmt.Errorf("a step of a change: value: %w", err)
	}
	o.Value = v
	return nil
}

// PathError is a step that does not fit the bootstrap.
type PathError struct {
	Change string // the change's name
	Do     string // what the step does
	Path   string // the whole path of the step
	At     string // how far the path led; empty is the top
	Found  string // what stands there, and what is missing
}

func (e *PathError) Error() string {
	at := e.At
	if at == "" {
		at = "the top of the bootstrap"
	}
	return fmt.Sprintf("change %q: %s %s: at %s there is %s: correct the path, or the bootstrap",
		e.Change, e.Do, e.Path, at, e.Found)
}
