// Package realserver starts servers that other people wrote, so that the load
// generator is tested and compared against them: nginx, Envoy, HAProxy and
// Apache httpd, each as one process tree that answers every request with the
// same body and counts requests itself.
//
//	s, err := realserver.StartNginx(ctx, realserver.Options{Dir: dir, BodySize: 1024})
//	defer s.Stop()
//	before, err := s.Requests(ctx)
//	// ... load on s.Plain, s.H2C, s.TLS ...
//	after, err := s.Requests(ctx)
//
// Each has a plain HTTP/1.1 port, a plain HTTP/2 port (prior knowledge) and a
// TLS port that speaks both by ALPN, with a certificate for localhost and
// 127.0.0.1 that is made at the start; Envoy has HTTP/3 as well on request.
// Limits on requests of a connection and on its age are off or out of reach.
//
// # What is counted
//
// Requests is the server's own count of requests since its start, of all
// ports, without the questions for it: stub_status of nginx, the counters of
// Envoy's admin interface, the request count of HAProxy's frontend from its
// stats socket, the lines of Apache's access log. Servers count at different
// moments: nginx, Envoy and HAProxy when a request begins, Apache a moment after
// the answer, and for the last requests of a connection of HTTP/2 when that has
// ended. So close connections, and then wait for the count to be reached.
//
// # Finding
//
// nginx and Envoy as packages internal/nginx and envoy do. HAProxy and Apache in
// PATH and the usual places for system programs, as Debian's haproxy and
// apache2-bin install them. What is not there gives an error that wraps
// [ErrNotFound].
//
// Linux only: elsewhere every start answers an error that wraps
// [ErrNotSupported].
package realserver
