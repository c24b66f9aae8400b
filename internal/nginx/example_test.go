package nginx_test

import (
	"fmt"

	"github.com/tareperf/tare/internal/nginx"
)

// What a window did, from two readings of the status.
func ExampleStats_Since() {
	before := nginx.Stats{Accepts: 32, Handled: 32, Requests: 1000, Active: 32}
	after := nginx.Stats{Accepts: 33, Handled: 33, Requests: 8500, Active: 32}
	window, err := after.Since(before)
	if err != nil {
		panic(err)
	}
	fmt.Println(window.Requests, "requests,", window.Closed, "connection closed")
	// Output: 7500 requests, 1 connection closed
}
