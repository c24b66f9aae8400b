// Package arrivals tells how the requests of a load generator arrive at a
// server: at which rate, in bunches of which size, and how far from the ideal
// schedule. It is the judge of load generators that does not ask them.
//
// A recording server is a process of its own. It answers every request with
// the same bytes, on one thread with an epoll instance, and keeps the time at
// which each request arrived:
//
//	server process:  err := arrivals.Serve(os.Stdin, os.Stdout, arrivals.Options{BodySize: 1024})
//	other process:   r, err := arrivals.NewRemote(in, out)
//	                 err = r.Start(arrivals.Times)
//	                 // ... load on r.Address() ...
//	                 recording, err := r.Take()
//	                 a, err := arrivals.Analyze(recording.Times, arrivals.Schedule{Rate: 2000})
//
// # When a request has arrived
//
// When the kernel has received the last segment of it: SO_TIMESTAMPNS, which
// for TCP is the time of the last segment of a read. On loopback a segment is
// received within the sender's own call, so neither the server's wake-up nor
// what else its CPU does is in the time. A request is a head that ends in an
// empty line; the server knows no request bodies, no other protocol than
// HTTP/1.1, and looks at nothing in the head.
//
// # What Analyze says
//
// All of it is about what is left after [Schedule].Skip, in nanoseconds.
//
//   - Rate: the slope of the count over time, by least squares.
//   - Error: |t_k − (t0 + k/rate)| of the k-th arrival, with the t0 that is the
//     median of t_k − k/rate: the start that is best for the generator. A
//     generator at another rate than asked drifts away, one that bunches is
//     away by half its period, and one that spreads its arrivals on purpose (a
//     jitter of its slot, a Poisson process) shows that spread.
//   - Bunches: arrivals with less than a fifth of the ideal interval to the one
//     before. With exact pacing every bunch is 1; with arrivals at a random
//     place of their slot 2% of the gaps are that short, in a Poisson process
//     18% (1 − e^−0.2).
//
// Recording.Wakes is another view on batches: how often the server woke up to
// find requests. It depends on the server, and so compares generators only at
// the same one.
//
// Linux only: elsewhere Serve answers an error that wraps [ErrNotSupported];
// Remote and Analyze work everywhere.
package arrivals
