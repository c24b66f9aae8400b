package loadgen_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/tareperf/tare/loadgen"
)

// h2c starts a server that speaks HTTP/2 without TLS.
func h2c(h http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	return s
}

// load runs one window and prints what came of it.
func load(s loadgen.Spec, address string, w loadgen.Window, show func(loadgen.TargetReport)) {
	s.MaxLate = time.Minute // a busy machine may run this example late
	g, err := loadgen.New(s, []loadgen.Target{{Name: "server", Address: address}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := g.Connect(ctx); err != nil {
		fmt.Println(err)
		return
	}
	r, err := g.Run(ctx, w)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(r.Targets[0])
}

// Requests with many headers over HTTP/2, where the header table makes all
// but the first of a connection short.
func Example_http2() {
	s := h2c(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })
	defer s.Close()
	load(loadgen.Spec{
		Protocol:    loadgen.H2C, // HTTP2 is the same over TLS
		Connections: 2,
		Streams:     50, // on each connection, if the server allows as many
		Generated:   loadgen.GeneratedHeaders{Count: 20, Bytes: 100},
		Expect:      loadgen.Expect{BodyBytes: 8},
	}, s.Listener.Addr().String(), loadgen.Window{Rate: 200, Duration: 500 * time.Millisecond}, func(t loadgen.TargetReport) {
		fmt.Println("completed:", t.Completed)
		fmt.Println("bytes of heads for a request below 100:", t.HeaderBytesOut/t.Completed < 100)
	})
	// Output:
	// completed: 100
	// bytes of heads for a request below 100: true
}

// A stream of five messages in each direction, each of which waits for the
// answer to the one before.
func ExampleGRPC() {
	s := h2c(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		for {
			var prefix [5]byte
			if _, err := io.ReadFull(r.Body, prefix[:]); err != nil {
				break
			}
			message := make([]byte, binary.BigEndian.Uint32(prefix[1:]))
			io.ReadFull(r.Body, message)
			w.Write(append(prefix[:], message...)) // as it came
			http.NewResponseController(w).Flush()
		}
		w.Header().Set("Grpc-Status", "0")
	})
	defer s.Close()
	load(loadgen.Spec{
		Protocol:  loadgen.H2C,
		Path:      "/echo.Echo/Stream",
		GRPC:      &loadgen.GRPC{Messages: 5, Answers: 5, Lockstep: true},
		BodyBytes: 100, // of each message
		Expect:    loadgen.Expect{BodyBytes: 500},
	}, s.Listener.Addr().String(), loadgen.Window{Rate: 100, Duration: 200 * time.Millisecond}, func(t loadgen.TargetReport) {
		fmt.Println("calls:", t.Completed, "messages out:", t.MessagesOut, "in:", t.MessagesIn)
	})
	// Output:
	// calls: 20 messages out: 100 in: 100
}
