package gate_test

import (
	"fmt"

	"github.com/tareperf/tare/gate"
)

// Another harness feeds its own numbers.
func Example() {
	t := gate.Thresholds{Off: map[string]string{gate.NameSpread: "one connection by design"}}
	served := int64(7400)
	results := gate.Results{
		gate.Rate(t, gate.RateEvidence{Arm: "off", WantPerSecond: 2500, Completed: 7500, WindowNanoseconds: 3e9}),
		gate.Served(t, gate.ServedEvidence{Arm: "off", Completed: 7500, Served: &served, Stat: "downstream_rq_completed"}),
		gate.Spread(t, gate.SpreadEvidence{Arm: "off"}),
	}
	fmt.Println(results.OK())
	for _, r := range results.Failed() {
		fmt.Println(r.Gate, r.Status)
		fmt.Println("got: ", r.Got)
		fmt.Println("want:", r.Want)
	}
	// Output:
	// false
	// served fail
	// got:  7400 served
	// want: 7500 served, as the generator completed
}
