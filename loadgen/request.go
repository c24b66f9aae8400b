package loadgen

import (
	"fmt"
	"strings"
)

// requestBytes is a whole HTTP/1.1 request as it goes over the wire, with one
// of the sets of generated headers. The spec is valid and has its defaults.
func requestBytes(s Spec, t Target, set int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", s.Method, s.Path, requestHost(s, t))
	for _, h := range requestHeaders(s, set) {
		fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
	}
	body := requestBody(s)
	if body != "" || s.Method == "POST" || s.Method == "PUT" || s.Method == "PATCH" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.WriteString(body)
	return []byte(b.String())
}

func requestHost(s Spec, t Target) string {
	if s.Host != "" {
		return s.Host
	}
	return t.Address
}

// requestHeaders are the headers that the user asked for, those of a set of
// generated ones at the end.
func requestHeaders(s Spec, set int) []Header {
	all := append([]Header(nil), s.Headers...)
	for i := range s.Generated.Count {
		name := fmt.Sprintf("x-tare-%04d", i)
		value := make([]byte, s.Generated.Bytes-len(name))
		state := mix(uint64(set)<<32 | uint64(i))
		for k := range value {
			state = mix(state + golden)
			value[k] = "abcdefghijklmnopqrstuvwxyz0123456789"[state%36]
		}
		all = append(all, Header{name, string(value)})
	}
	return all
}

// requestBody is the body of every request.
func requestBody(s Spec) string {
	if s.BodyBytes > 0 {
		return strings.Repeat("t", int(s.BodyBytes))
	}
	return s.Body
}
