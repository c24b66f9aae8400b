package pinning_test

import (
	"fmt"

	"github.com/tareperf/tare/pinning"
)

// A plan for a machine of two CPUs.
func ExampleTopology_Plan() {
	both := pinning.NewCPUSet(0, 1)
	t := pinning.Topology{
		CPUs: []pinning.CPU{
			{ID: 0, Core: 0, Siblings: pinning.NewCPUSet(0)},
			{ID: 1, Core: 1, Siblings: pinning.NewCPUSet(1)},
		},
		Online: both, Allowed: both,
	}
	p, err := t.Plan(pinning.Wish{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("proxy:", p.Proxy)
	fmt.Println("generator:", p.Generator)
	fmt.Println("gave up:", p.GaveUp[0])

	t.Allowed = pinning.NewCPUSet(0)
	_, err = t.Plan(pinning.Wish{})
	fmt.Println(err)
	// Output:
	// proxy: 1
	// generator: 0
	// gave up: generator, origin, side services and harness share CPU 0: their headroom is one
	// pinning: needs at least 2 CPUs, has 1: the proxy under test must not share its CPU with what loads it (CPUs this process may use: 0); use a larger machine, widen the affinity or cpuset of this process, or wish for fewer CPUs
}
