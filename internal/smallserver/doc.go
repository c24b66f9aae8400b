// Package smallserver holds what the two servers that the test binary can run
// as have in common: [github.com/tareperf/tare/internal/smallproxy] and
// [github.com/tareperf/tare/internal/smallorigin]. Each is a process of its
// own, so that its CPU can be counted and pinned apart from everything else.
//
// The contract between such a process and the one that started it:
//
//   - Standard output carries exactly one line of JSON, a [Ready], and then
//     nothing more. It says where the server listens, or why it could not.
//   - Standard input carries nothing. Its end means that the parent is gone (or
//     wants the server gone) and ends the server, as SIGTERM and SIGINT do. So a
//     server must be given a pipe, never /dev/null.
//   - A second listener, the admin, answers GET /stats (counters at this moment)
//     and GET /config (the effective configuration, defaults filled in) in JSON.
//     Both name the server and its pid, and [Get] refuses an answer of another:
//     a port that was taken over by someone else cannot be read as zeros.
//   - Standard error is for diagnostics.
//
// [Tune] fixes what the environment could change under a measurement: the
// number of threads that run Go code, and how often memory is collected.
//
// The package starts no process and knows neither HTTP traffic nor load.
package smallserver
