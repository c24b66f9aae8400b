package loadgen_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tareperf/tare/loadgen"
)

// The highest rate at which no arrival overflows. A real trial runs a window
// at the rate and looks at its report; this one knows the answer.
func ExampleSearch() {
	try := func(ctx context.Context, rate float64) (bool, error) { return rate <= 7300, nil }
	r, err := loadgen.Search{Low: 1000, Tolerance: 0.05}.Run(context.Background(), try)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("passes at %.0f per second, fails at %.0f, known after %d trials\n", r.Rate, r.Failed, len(r.Trials))
	// Output:
	// passes at 7025 per second, fails at 7336, known after 9 trials
}

// The schedule of a window, without sending anything: pairs go to both
// targets in random order.
func ExampleArrivals() {
	_, arrivals, err := loadgen.Arrivals(loadgen.Spec{Arrival: loadgen.Uniform}, 2, loadgen.Window{Rate: 100, Duration: 30 * time.Millisecond, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for at, target := range arrivals {
		fmt.Println(at, target)
	}
	// Output:
	// 0s 1
	// 5ms 0
	// 10ms 0
	// 15ms 1
	// 20ms 0
	// 25ms 1
}
