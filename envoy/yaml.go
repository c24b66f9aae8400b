package envoy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds what aliases can blow a small text up to.
const maxNodes = 5_000_000

// decodeText reads YAML, or JSON, the way Envoy reads a .yaml file.
func decodeText(text []byte) (map[string]any, error) {
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	if len(trimmed) == 0 {
		return nil, errors.New("empty text: Envoy refuses an empty file too")
	}
	var root any
	var jsonErr error
	if trimmed[0] == '{' {
		if root, jsonErr = decodeJSON(trimmed); jsonErr == nil {
			return asMapping(root)
		}
	}
	root, err := decodeYAML(text)
	if err != nil {
		if jsonErr != nil {
			err = fmt.Errorf("%w (as JSON: %v)", err, jsonErr)
		}
		return nil, err
	}
	return asMapping(root)
}

func asMapping(root any) (map[string]any, error) {
	m, ok := root.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("a bootstrap is a mapping, this text is %s", describe(root))
	}
	return m, nil
}

func decodeYAML(text []byte) (any, error) {
	// Only the first document counts, as for Envoy: the decoder stops there.
	var doc, next yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("no document in the text: Envoy refuses an empty file too")
	}
	if err != nil {
		hint := ""
		if bytes.Contains(text, []byte("${")) {
			hint = `; inside { } and [ ] a variable is written in quotes: "${` + OriginPort + `}"`
		}
		return nil, fmt.Errorf("%w%s", err, hint)
	}
	// What follows without --- is no document, and Envoy would pass it over in
	// silence: nobody means that.
	if err := dec.Decode(&next); err != nil && strings.Contains(err.Error(), "<document start>") {
		return nil, fmt.Errorf("%w: text after the end of the bootstrap, which Envoy would not read; remove it, or put --- before it", err)
	}
	d := yamlDecoder{open: map[*yaml.Node]bool{}}
	return d.value(&doc, 0)
}

type yamlDecoder struct {
	nodes int
	open  map[*yaml.Node]bool // anchors being expanded, against one inside itself
}

func (d *yamlDecoder) value(n *yaml.Node, depth int) (any, error) {
	d.nodes++
	if d.nodes > maxNodes {
		return nil, fmt.Errorf("line %d: more than %d values after aliases are expanded", n.Line, maxNodes)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: nested deeper than %d", n.Line, maxDepth)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return d.value(n.Content[0], depth)
	case yaml.AliasNode:
		if d.open[n.Alias] {
			return nil, fmt.Errorf("line %d: *%s stands inside its own anchor", n.Line, n.Value)
		}
		d.open[n.Alias] = true
		defer delete(d.open, n.Alias)
		return d.value(n.Alias, depth+1)
	case yaml.MappingNode:
		if n.Anchor != "" && !d.open[n] {
			d.open[n] = true
			defer delete(d.open, n)
		}
		return d.mapping(n, depth)
	case yaml.SequenceNode:
		if n.Anchor != "" && !d.open[n] {
			d.open[n] = true
			defer delete(d.open, n)
		}
		list := make([]any, 0, len(n.Content))
		for _, e := range n.Content {
			v, err := d.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.ScalarNode:
		return scalar(n), nil
	}
	return nil, nil
}

func (d *yamlDecoder) mapping(n *yaml.Node, depth int) (any, error) {
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		for k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: a key must be plain text", k.Line)
		}
		if k.Value == "<<" {
			return nil, fmt.Errorf("line %d: merge keys (<<) are not read by Envoy: write the keys out, or use an alias for the whole value", k.Line)
		}
		v, err := d.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		m[k.Value] = v // a repeated key: the last one wins, as in Envoy
	}
	return m, nil
}

// scalar follows Envoy's own reading (source/common/protobuf/yaml_utility.cc):
// quoted text stays text, then bool, then integers of 32 bits become values;
// larger integers and every fraction stay text, which protobuf reads by the
// type of the field.
func scalar(n *yaml.Node) any {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n.Value
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		return nil
	}
	if b, ok := yamlBool(n.Value); ok {
		return b
	}
	// Base 0 without underscores: 0x1f and 017 are read as C++ streams do.
	if i, err := strconv.ParseInt(n.Value, 0, 64); err == nil && !strings.ContainsAny(n.Value, "_oObB") {
		if i >= math.MinInt32 && i <= math.MaxInt32 {
			return json.Number(strconv.FormatInt(i, 10))
		}
		return strconv.FormatInt(i, 10)
	}
	return n.Value
}

// yamlBool knows the words of YAML 1.1 in the three spellings yaml-cpp takes.
func yamlBool(s string) (value, ok bool) {
	lower := strings.ToLower(s)
	if s != lower && s != strings.ToUpper(s) && s != strings.ToUpper(lower[:1])+lower[1:] {
		return false, false
	}
	switch lower {
	case "y", "yes", "true", "on":
		return true, true
	case "n", "no", "false", "off":
		return false, true
	}
	return false, false
}
