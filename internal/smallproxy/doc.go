// Package smallproxy is a small HTTP/1.1 reverse proxy with an access log: what
// is priced where no Envoy is installed, so that the first experiment needs Go
// and nothing else.
//
// It is an ordinary proxy of the standard library ([net/http] in front,
// [httputil.ReverseProxy], a bounded pool of keep-alive connections to one
// origin), not a model of one: its cost per request and what its log adds are
// what such a program costs. With Config.AccessLog "text" or "json" it writes one
// line for each request through a buffer that is flushed each FlushInterval and
// whenever it holds 64 KiB. The formatting is that of strconv and encoding/json, as
// ordinary Go programs have it.
//
// Counting is exact. A request is completed when its whole answer, the end of a
// chunked body included, was handed to the kernel without an error; only then is
// it counted and logged. All counters are of one moment, and at rest
// Requests = Completed + Aborted, and LogLines = Completed + Aborted where there
// is a log.
//
// What could differ between two arms without being the log is fixed by
// [smallserver.Tune]; the log's buffers are allocated without a log too.
//
// It runs as a process of its own: see the contract in
// [github.com/tareperf/tare/internal/smallserver]. [Main] is the whole program,
// [ReadStats] is how the parent reads its counters.
//
// It does not do: TLS, HTTP/2, CONNECT (501), upgrades (the headers are removed),
// more than one origin, retries beyond those of [http.Transport], log rotation.
// Requests too malformed for net/http are answered 400 by it and are neither
// counted nor logged.
package smallproxy
