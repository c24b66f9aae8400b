package abtest_test

import (
	"context"
	"fmt"

	"github.com/tareperf/tare/abtest"
	"github.com/tareperf/tare/counters"
)

// An experiment is checked before anything is started: here the variant was
// given the baseline's target again.
func ExampleMeasure() {
	off := abtest.EmbeddedProxy{}
	_, err := abtest.Measure(context.Background(), abtest.Experiment{
		Name:     "access log",
		Baseline: abtest.Arm{Name: "off", Target: off},
		Variants: []abtest.Arm{{Name: "text", Target: off}},
		Metric:   counters.CPUTime,
	})
	fmt.Println(err)
	// Output:
	// experiment field Variants: arm "text" is equal to the baseline; give it the change that is to be priced, or declare it with Placebo: true
}
