// Package smallorigin is an HTTP/1.1 origin that costs little and counts
// exactly: what stands behind the proxy when no nginx is there.
//
// It answers every well-formed request, whatever its method and path, with 200
// and the same body of Config.BodySize bytes (to HEAD with the head alone). It
// keeps connections open without a limit of requests or of idle time, so that it
// never closes one under a proxy that is about to use it; it closes when asked
// to (Connection: close, HTTP/1.0 without keep-alive), after a malformed request
// (400, 431, 501, 505) and at its end. Requests may be pipelined, come in any
// number of pieces and carry a body with Content-Length or in chunks, which is
// read and thrown away before the answer. Expect: 100-continue is answered.
//
// The answer, its Date included, is built once a second and written with one
// system call. There is one goroutine for each connection and no net/http on the
// way of a request.
//
// It runs as a process of its own: see the contract in
// [github.com/tareperf/tare/internal/smallserver]. [Main] is the whole program,
// [ReadStats] is how the parent reads its counters.
//
// It does not do: TLS, HTTP/2, upgrades, trailers, ranges, delays.
//
// Framing follows RFC 9112; where that leaves a choice the strict one is made
// (no bare LF, no folded header, no Content-Length next to Transfer-Encoding).
package smallorigin
