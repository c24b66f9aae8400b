// Package h3 sends HTTP/3 requests at a rate, through quic-go, and reports as
// package loadgen does.
//
//	g, err := h3.New(loadgen.Spec{TLS: &loadgen.TLS{CAFile: "ca.pem"}}, []loadgen.Target{{Name: "proxy", Address: "127.0.0.1:8443"}})
//	err = g.Connect(ctx)
//	report, err := g.Run(ctx, loadgen.Window{Rate: 500, Duration: 3 * time.Second})
//	err = g.Close()
//
// It is a module of its own, so that only those who load HTTP/3 pay for
// quic-go.
//
// # The same
//
// Arrivals are those of [loadgen.Arrivals]: the same seed gives the same times
// as with HTTP/1.1 and HTTP/2. An arrival is sent at its time on the next
// connection in turn that has fewer than Spec.Streams requests in flight, or is
// overflow, with the same classes. Scheduled = sent + overflow, and sent =
// completed + failed + in flight at the end, for each target, also of a window
// that was interrupted. Response runs from the intended time, Service from the
// moment a request is handed to quic-go, and Lateness lies between the two.
// Connections are opened before the first window at Spec.ConnectRate, each from
// a UDP port of its own, and replaced when they end.
//
// # Not the same
//
//   - A request costs a goroutine, allocations and far more CPU than in package
//     loadgen. It lives in the process of its caller, collections included:
//     look at Generator.ProcessCPUNanoseconds and Lateness. The one worker that
//     is reported stands for the whole process.
//   - Nothing is sent a second time. A request that the server says it has not
//     processed (H3_REQUEST_REJECTED) is counted in StreamsRefused and has
//     failed as lost.
//   - quic-go does not tell how many streams the server allows. Where that is
//     fewer than Spec.Streams, requests wait inside quic-go: set Streams to
//     what the server allows, which often is 100, the default here too.
//   - TLSBytesOut and TLSBytesIn are QUIC packets without UDP's heads. BytesOut,
//     BytesIn and the bytes of header sections are not known, and -1 for each
//     target. BodyBytes is known.
//
// # What it does not do
//
// Unary requests at a rate only: no closed loop or idle window, no gRPC, queue,
// churn or generated headers, one order of connections, one worker, no resumed
// handshakes and no early data. New and Run refuse each by a
// *loadgen.InvalidError.
//
// Linux only: elsewhere New answers an error that wraps
// loadgen.ErrNotSupported.
package h3
