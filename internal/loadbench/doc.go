// Loadbench compares load generators: tare's own, vegeta, and what is there of
// wrk, h2load and hey (Debian: wrk, nghttp2-client, hey), in turn in one run
// against the same servers.
//
//	cd internal/loadbench && go run .          # about 13 minutes
//	cd internal/loadbench && go run . -quick   # about 2 minutes, for a look
//
// Run it on an otherwise idle machine with two CPUs or more: one is the
// generator's, one the server's. It prints what each tool did and how the two
// that are compared relate, with 95% intervals over alternated runs.
//
// # At a rate
//
// 2,000 requests a second over 32 connections of HTTP/1.1, open loop, against
// the recording server of package internal/arrivals, nginx, and Envoy (a direct
// response), each with the same body. Three ways of tare's generator: uniform
// arrivals, which is what the other tools aim at; jittered arrivals, which is
// the default; and coarse ones, as far apart as h2load's bunches are found to be
// by a run before the others.
//
//   - rate: what the server counted over what was asked.
//   - CPU per request: user and system time of the generator's process in the
//     middle of the run (its CPU clock), over the requests of that time. Beside
//     it, over the whole life of the process (its resource usage) and what the
//     server counted, which has the start-up in it: for short runs much.
//   - bunch: the size of the bunch that the average request arrived in, and
//     arrival error: the distance from the ideal schedule, both at the recording
//     server, from the kernel's receive time. Jittered arrivals are off by up
//     to half a slot on purpose.
//   - tail: what the tool itself reports: p99, or the maximum where it knows no
//     percentiles.
//
// Vegeta runs as a library in a process of its own, whose results are added up
// there and not written out.
//
// # Saturated
//
// As many requests as the tool can, 32 in flight over HTTP/1.1 against wrk, 4
// connections with 8 streams each of HTTP/2 (h2c) against h2load. The rates
// compare generators only where the generator is the bottleneck: its CPU at
// least 97% busy and the server's at least 10% idle, in the middle of every run.
// Both are printed; where they do not hold, CPU per request is compared.
//
// # Verdicts
//
// At the end stands each comparison with its limit: met, where the interval is
// on the right side of it; open, where the limit is inside; missed. The exit
// status is 1 when one is missed, and 2 when the comparison could not be made.
//
// # Limits
//
// It compares tools at one rate, one number of connections and one answer on one
// machine. hey and h2load pace each connection by itself. What the kernel does
// for a request outside the process, such as its side of a timer interrupt, is
// charged to nobody.
package main
