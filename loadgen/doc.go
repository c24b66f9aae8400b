// Package loadgen is an open-loop HTTP load generator that tells the truth
// about itself. It speaks HTTP/1.1, HTTP/2 and gRPC, plain and over TLS.
//
// It sends requests at times that were fixed beforehand, whatever the server
// does, over kept-alive connections that were opened beforehand. It is made
// for measuring what a proxy costs per request: it is cheap enough to share a
// small machine with the proxy, its arrivals do not bunch, and every request
// that was due is accounted for.
//
//	g, err := loadgen.New(loadgen.Spec{Path: "/4k"}, []loadgen.Target{{Name: "proxy", Address: "127.0.0.1:8080"}})
//	err = g.Connect(ctx)
//	report, err := g.Run(ctx, loadgen.Window{Rate: 2000, Duration: 3 * time.Second})
//	err = g.Close()
//
// # A process of its own
//
// A generator that shares a Go process with other work shares its scheduler
// and garbage collector too. To measure, run [Serve] in a process of its own,
// on CPUs of its own, and drive it with a [Remote], which has the same
// methods. There, each window runs with collection switched off, and a worker
// keeps its processor of the Go scheduler through short waits. Serve returns
// when its input ends, so the process cannot outlive its parent.
//
// # Schedule
//
// With n targets in a window and Rate requests per second for each, the
// arrivals have slots of 1/(n·Rate): slot i begins at i/(n·Rate) exactly, in
// integers, with no drift at any index. Each target is due Rate × Duration
// arrivals, rounded to the nearest whole number, in every shape:
//
//   - [Jitter], the default: at a uniform random place within its own slot,
//   - [Uniform]: at the start of its slot,
//   - [Poisson]: uniform random times over the window, in order, which is a
//     Poisson process given its count,
//   - [Burst]: Spec.BurstSize at once, at a random place of their slots.
//
// Spec.Coarse puts any of them off to the next multiple of an interval, so
// that arrivals come in bunches, as those of generators with a tick do. The
// put-off time is then the intended one. Shapes change what a server costs:
// compare only what was loaded in the same shape.
//
// Each n consecutive arrivals go one to each target in random order, so that
// two arms which are compared see the same moments of the machine and exactly
// the same count. The seed of the window decides all of this; the number of
// workers and of connections does not change it. [Arrivals] gives the
// schedule without sending anything.
//
// A request is never written before its time. One that is due is written at
// once on a connection of its target that can take it, chosen by Spec.Reuse.
// Where there is none, or the generator itself woke too late for it
// ([Spec].MaxLate), the arrival is dropped and counted as overflow: nothing
// is queued, and no burst follows a stall. A measurement should accept no
// overflow. Spec.Queue lets arrivals wait instead; at most as many are then
// caught up. So in no span of time are more requests written than the
// schedule has in it, plus those of MaxLate before it, plus Queue.
//
// # Ramp, warm-up, closed loop, idle
//
// Window.Ramp and Window.WarmUp come before the measured part without a gap;
// their requests are in no result but TargetReport.WarmUp, also where they
// end later.
//
// Window.InFlight makes the loop closed: a request follows as soon as one has
// ended. What comes out is the capacity of the slowest party, which is the
// server only where its CPUs are busy and GeneratorReport.Headroom and the
// origin have room; the caller has to look. A closed loop omits what an open
// one would have sent while the server stood still: its latencies are service
// times under load, no more. [Search] finds the highest rate of an open loop
// that passes whatever the caller asks.
//
// Window.Idle holds connections and sends nothing.
//
// # Connections
//
// A connection is a wire (a socket, or TLS over it) and a protocol on the
// wire. With HTTP/1.1 it has one request at a time, or Spec.Pipeline of them;
// with HTTP/2 up to Spec.Streams, as far as the peer allows at the moment.
//
// Connect opens all of them before anything is sent, at Spec.ConnectRate. One
// that the server closes is counted and replaced, one at a time between
// arrivals. Spec.Churn closes each after a number of requests, spread in time
// or together, and opens another at once. Closing first leaves the local port
// in TIME_WAIT: [Warnings] says beforehand where ports will not last.
//
// A request on a connection that ended is written once more where that is
// safe to believe: the connection had carried answers before, and not a byte
// of this one had come. One that an HTTP/2 server says it has not processed
// is written up to three times more. Both keep their first intended time and
// are counted in Resent; in the first case the server may have seen it twice.
// If no connection takes it, it has failed as lost.
//
// # What is reported
//
// For each target, always, also for a window that was interrupted:
//
//	scheduled = sent + overflow
//	sent      = completed + failed + in flight at the end
//
// A completed request had the expected status and body length in a
// well-formed answer, and with gRPC the status OK. Every other one that ended
// is in exactly one class of [Failures]. Latency is of completed requests
// only: Response runs from the intended time to the last byte, and so
// includes lateness of the generator and time in the queue; Service runs from
// the write. No correction is applied after the fact, because none is needed.
// All times are nanoseconds. A generator process that was killed leaves its
// last [Progress], for which the same holds.
//
// About itself the generator reports the CPU time of its threads and its
// process, what was left of its CPUs (Headroom), lateness, batch sizes (how
// many requests were written without a wait between them: 1 is one arrival at
// a time), the most requests in flight, connections, handshakes, bytes,
// collections and allocations.
//
// # What it does not do
//
// No HTTP/3 here, no redirects or cookies. Requests of a generator are all
// the same bytes, but for generated headers (Spec.Generated.Sets). It does
// not judge whether it had CPU to spare. Names are resolved once, in Connect,
// and IPv4 is preferred.
//
// # How it works
//
// A worker is a goroutine locked to its thread, with an epoll instance and
// non-blocking sockets of its own that the Go runtime does not know of. Go's
// timers sleep in whole milliseconds where a thread waits in the network
// poller; epoll_pwait2 (Linux 5.11) takes nanoseconds, and with a timer slack
// of 1 ns (PR_SET_TIMERSLACK) the kernel does not add to them. Older kernels
// use a timer descriptor. Workers share nothing during a window: worker w of
// W owns the groups of arrivals g with g ≡ w mod W, and its part of the
// connections. TLS handshakes run on a second thread of each worker, so that
// arrivals do not wait for them.
//
// A request in the steady state costs a write, a read and its share of the
// waits; events are edge-triggered, and no read is made to find nothing.
//
// Framing follows RFC 9112, and is strict where reading on would be guessing:
// contradicting lengths, a length beside a transfer coding, bytes after the
// end of an answer are failures. Random numbers are SplitMix64 of the index.
//
// Only Linux can generate load. Elsewhere the package builds, checks specs,
// drives a Remote, and New returns an error that wraps [ErrNotSupported].
package loadgen
