package loadgen_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/tareperf/tare/loadgen"
)

// Two servers get the same number of requests, each pair in random order.
func Example() {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	a, b := httptest.NewServer(hello), httptest.NewServer(hello)
	defer a.Close()
	defer b.Close()

	g, err := loadgen.New(
		loadgen.Spec{
			Path:        "/greeting",
			Connections: 50,
			MaxLate:     time.Minute, // a busy machine may run this example late
			Expect:      loadgen.Expect{Status: 200, BodyBytes: 5},
		},
		[]loadgen.Target{
			{Name: "a", Address: a.Listener.Addr().String()},
			{Name: "b", Address: b.Listener.Addr().String()},
		})
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
	report, err := g.Run(ctx, loadgen.Window{Rate: 100, Duration: 500 * time.Millisecond, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range report.Targets {
		fmt.Printf("%s: scheduled %d, completed %d, failed %d, overflow %d, latency known: %v\n",
			t.Name, t.Scheduled, t.Completed, t.Failed, t.Overflow, t.Response.P99 > 0)
	}
	// Output:
	// a: scheduled 50, completed 50, failed 0, overflow 0, latency known: true
	// b: scheduled 50, completed 50, failed 0, overflow 0, latency known: true
}

// A wrong spec is refused before anything is opened.
func ExampleSpec_Validate() {
	fmt.Println(loadgen.Spec{Rate: -5}.Validate())
	// Output:
	// loadgen: Spec.Rate is -5: want above 0 and at most 1e9 per second
}
