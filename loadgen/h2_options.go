package loadgen

import (
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// newH2Options is what the HTTP/2 connections of a target share. The spec is
// valid and has its defaults.
func newH2Options(s Spec, t Target) *h2Options {
	h := s.H2.withDefaults()
	o := &h2Options{
		noBody: s.Method == "HEAD", streams: s.Streams,
		tableOut: h.HeaderTable, tableIn: h.AnswerHeaderTable,
		streamSpace: int64(h.StreamWindow), connSpace: int64(h.ConnectionWindow),
	}
	if body := requestBody(s); body != "" {
		o.body, o.bodies = []byte(body), 1
	}
	if s.GRPC != nil {
		g := s.GRPC.withDefaults()
		o.grpc, o.noBody, o.lockstep = true, false, g.Lockstep
		o.body, o.bodies = grpcMessage(requestBody(s)), int64(g.Messages)
		o.grpcStatus, o.answers = int32(g.Status), int64(g.Answers)
	}
	for set := range max(s.Generated.Sets, 1) {
		o.sets = append(o.sets, h2Fields(s, t, set))
	}
	return o
}

// h2Fields is the header list of a request: what HTTP/1.1 has in its first
// line, what gRPC asks for, and the headers of the spec.
func h2Fields(s Spec, t Target, set int) []hpack.HeaderField {
	scheme := "http"
	if s.TLS != nil {
		scheme = "https"
	}
	method := s.Method
	if s.GRPC != nil {
		method = "POST"
	}
	fields := []hpack.HeaderField{
		{Name: ":method", Value: method}, {Name: ":scheme", Value: scheme},
		{Name: ":authority", Value: requestHost(s, t)}, {Name: ":path", Value: s.Path},
	}
	body := requestBody(s)
	switch {
	case s.GRPC != nil:
		fields = append(fields, hpack.HeaderField{Name: "content-type", Value: "application/grpc"}, hpack.HeaderField{Name: "te", Value: "trailers"})
	case body != "" || method == "POST" || method == "PUT" || method == "PATCH":
		fields = append(fields, hpack.HeaderField{Name: "content-length", Value: strconv.Itoa(len(body))})
	}
	for _, h := range requestHeaders(s, set) {
		fields = append(fields, hpack.HeaderField{Name: strings.ToLower(h.Name), Value: h.Value})
	}
	return fields
}
