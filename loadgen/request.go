package loadgen

import (
	"fmt"
	"strings"
)

// requestBytes is the whole request as it goes over the wire. The spec is
// valid and has its defaults.
func requestBytes(s Spec, t Target) []byte {
	var b strings.Builder
	host := s.Host
	if host == "" {
		host = t.Address
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", s.Method, s.Path, host)
	for _, h := range s.Headers {
		fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
	}
	if s.Body != "" || s.Method == "POST" || s.Method == "PUT" || s.Method == "PATCH" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(s.Body))
	}
	b.WriteString("\r\n")
	b.WriteString(s.Body)
	return []byte(b.String())
}
