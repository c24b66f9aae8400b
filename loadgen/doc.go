// Package loadgen is an open-loop HTTP/1.1 load generator that tells the
// truth about itself.
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
//     Poisson process given its count.
//
// Each n consecutive arrivals go one to each target in random order, so that
// two arms which are compared see the same moments of the machine and exactly
// the same count. The seed of the window decides all of this; the number of
// workers does not change it.
//
// A request is never written before its time. One that is due is written at
// once on an idle connection of its target, chosen round robin. Where no
// connection is idle, or the generator itself woke too late for it
// ([Spec].MaxLate), the arrival is dropped and counted as overflow: nothing
// is queued, and no burst follows a stall. A measurement should accept no
// overflow.
//
// # What is reported
//
// For each target, always, also for a window that was interrupted:
//
//	scheduled = sent + overflow
//	sent      = completed + failed + in flight at the end
//
// A completed request had the expected status and body length in a
// well-formed answer. Every other one that ended is in exactly one class of
// [Failures]. Latency is of completed requests only: Response runs from the
// intended time to the last byte, and so includes lateness of the generator;
// Service runs from the write. No correction is applied after the fact,
// because none is needed. All times are nanoseconds.
//
// A connection that the server closes is counted and replaced, one at a time
// between arrivals. A request that was on it is written once more where that
// is safe to believe: the connection had carried answers before, and not a
// byte of this one had come. It keeps its first intended time and is counted
// in Resent; the server may have seen it twice.
//
// About itself the generator reports the CPU time of its threads and its
// process, lateness, batch sizes (how many requests were written without a
// wait between them: 1 is one arrival at a time), the most requests in
// flight, connections, bytes, collections and allocations.
//
// # What it does not do
//
// No TLS, HTTP/2 or pipelining, no closed loop, no ramp or warm-up, no
// redirects or cookies: every request of a generator is the same bytes. It
// does not judge whether it had CPU to spare. Names are resolved once, in
// Connect, and IPv4 is preferred.
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
// connections.
//
// Framing follows RFC 9112, and is strict where reading on would be guessing:
// contradicting lengths, a length beside a transfer coding, bytes after the
// end of an answer are failures. Random numbers are SplitMix64 of the index.
//
// Only Linux can generate load. Elsewhere the package builds, checks specs,
// drives a Remote, and New returns an error that wraps [ErrNotSupported].
package loadgen
