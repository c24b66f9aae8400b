// Package nginx finds nginx and configures it as the origin of a measurement: one
// process, no log, connections that are never closed for being old or used.
//
// It starts nothing. [Prepare] writes a run directory and returns the [Command]
// to start (path, arguments, environment), which is started by package child like
// every other process; [Command.Await] waits until it serves, [Status] reads its
// counters. A [Command] serves one start.
//
// # The port
//
// nginx does not take port 0, and a port that was found free may be taken by the
// time nginx binds it. So Prepare binds port 0 itself, does not listen, and keeps
// the socket until [Command.Close]: the kernel gives a port that is bound to
// nobody else who asks for any port or connects from any. nginx binds it too,
// because both set SO_REUSEADDR and a port may be shared so while only one of the
// two listens. What is left is a program that asks for this very port by number
// between the two; then nginx says so and ends, see [ExitedError].
//
// Passing listening sockets on in the NGINX environment variable, which would
// close that gap, is not possible here: nginx as a single process crashes on
// sockets that it inherits (seen with 1.22.1: it removes the events of an old
// cycle that never had any).
//
// # What is served
//
// Any path answers 200 with the same file of BodySize bytes, also to POST and PUT,
// whose bodies are read and thrown away. The file is kept open
// (open_file_cache) and is read and sent with its head in one write, not by
// sendfile: that would be a segment for the head and one for the body.
//
// # What is counted
//
// stub_status, on a port of its own. accepts, handled and active count
// connections, requests counts requests begun, each since the start, the questions
// for the status included; [Status] subtracts its own. nginx closes by itself
// after 1,000 requests, an hour, or 75 idle seconds by default; the configuration
// sets the three out of reach, and [Stats.Closed] is there to show it.
//
// # What it does not do
//
// TLS, HTTP/2, more than one worker, nginx as the proxy that is measured.
// Preparing needs Linux and answers an error that wraps [ErrNotSupported]
// elsewhere.
//
// Sources: nginx documentation of ngx_http_core_module, ngx_http_stub_status_module
// and of the control of upgrades on the fly; socket(7) and the bind conflict rules
// of the kernel's inet_connection_sock.c; behaviour checked with nginx 1.22.1.
package nginx
