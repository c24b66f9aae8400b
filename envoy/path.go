package envoy

import (
	"fmt"
	"strconv"
	"strings"
)

// A path is written as keys joined by dots, with a bracket for what a dot
// cannot say:
//
//	static_resources.clusters[origin].connect_timeout
//	static_resources.listeners[0].filter_chains[0].filters[HttpConnectionManager]
//	layered_runtime.layers[static].static_layer["envoy.reloadable_features.x"]
//	static_resources.listeners[*].per_connection_buffer_limit_bytes
//
// In a list a bracket holds an index, the element's name, or the last part of
// its type; in a mapping it holds a key. Quotes make it a name or a key
// whatever it looks like. [*] is every element.
type segment struct {
	kind  segmentKind
	text  string // key, name or type; the digits of an index
	index int    // kind segmentIndex only
}

type segmentKind int

const (
	segmentKey    segmentKind = iota // .key
	segmentName                      // [name]
	segmentQuoted                    // ["name"]
	segmentIndex                     // [0]
	segmentAll                       // [*]
)

// parsePath reads a path; the error says at which byte it stops making sense.
func parsePath(path string) ([]segment, error) {
	if path == "" {
		return nil, fmt.Errorf("empty path: name a key, such as %q", "static_resources")
	}
	var segs []segment
	rest := path
	bad := func(why string) error {
		return fmt.Errorf("path %q, at byte %d: %s", path, len(path)-len(rest), why)
	}
	for rest != "" {
		switch {
		case rest[0] == '[':
			seg, n, why := parseBracket(rest)
			if why != "" {
				return nil, bad(why)
			}
			if len(segs) == 0 && seg.kind != segmentQuoted && seg.kind != segmentName {
				return nil, bad("a path starts with a key: the bootstrap is a mapping")
			}
			segs = append(segs, seg)
			rest = rest[n:]
		default:
			if len(segs) > 0 {
				if rest[0] != '.' {
					return nil, bad("want . or [ after ]")
				}
				rest = rest[1:]
			}
			n := strings.IndexAny(rest, ".[]\"")
			if n < 0 {
				n = len(rest)
			}
			if n == 0 {
				return nil, bad("empty key; a key with dots or brackets is written [\"like.this\"]")
			}
			if n < len(rest) && (rest[n] == ']' || rest[n] == '"') {
				rest = rest[n:]
				return nil, bad("unexpected " + rest[:1] + "; a key with such characters is written [\"like.this\"]")
			}
			segs = append(segs, segment{kind: segmentKey, text: rest[:n]})
			rest = rest[n:]
		}
	}
	return segs, nil
}

// parseBracket reads one [..] at the start of s and says how long it was.
func parseBracket(s string) (seg segment, n int, why string) {
	if strings.HasPrefix(s, `["`) {
		quoted, err := strconv.QuotedPrefix(s[1:])
		if err != nil {
			return seg, 0, `the quote after [ is not closed`
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return seg, 0, `the quoted text cannot be read`
		}
		n = 1 + len(quoted)
		if n >= len(s) || s[n] != ']' {
			return seg, 0, `want ] after the quoted text`
		}
		return segment{kind: segmentQuoted, text: text}, n + 1, ""
	}
	end := strings.IndexByte(s, ']')
	if end < 0 {
		return seg, 0, "[ is not closed"
	}
	text := s[1:end]
	switch {
	case text == "":
		return seg, 0, "empty []: want an index, a name or *"
	case text == "*":
		return segment{kind: segmentAll, text: text}, end + 1, ""
	case isIndex(text):
		i, err := strconv.Atoi(text)
		if err != nil {
			return seg, 0, "the index is too large"
		}
		return segment{kind: segmentIndex, text: text, index: i}, end + 1, ""
	}
	return segment{kind: segmentName, text: text}, end + 1, ""
}

func isIndex(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return s != ""
}

// joinKey writes the path of key below the mapping at path.
func joinKey(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\"") {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func joinIndex(path string, i int) string {
	return path + "[" + strconv.Itoa(i) + "]"
}

// joinName writes the path of the list element called name.
func joinName(path, name string) string {
	if name == "" || name == "*" || isIndex(name) || strings.ContainsAny(name, "]\"") {
		return path + "[" + strconv.Quote(name) + "]"
	}
	return path + "[" + name + "]"
}

// String writes the segment as it stands in a path.
func (s segment) join(path string) string {
	switch s.kind {
	case segmentKey:
		return joinKey(path, s.text)
	case segmentQuoted:
		return path + "[" + strconv.Quote(s.text) + "]"
	}
	return path + "[" + s.text + "]"
}

// snake spells a protobuf JSON name (camelCase) as Envoy prints it back
// (snake_case). Keys that are not such names, as those with dots or slashes,
// come back unchanged.
func snake(key string) string {
	upper := false
	for i := 0; i < len(key); i++ {
		c := key[i]
		switch {
		case c >= 'A' && c <= 'Z':
			if i == 0 {
				return key
			}
			upper = true
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
		default:
			return key
		}
	}
	if !upper {
		return key
	}
	var b strings.Builder
	for i := 0; i < len(key); i++ {
		c := key[i]
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}
