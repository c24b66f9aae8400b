package smallproxy_test

import (
	"fmt"
	"io"
	"net/http"

	"github.com/tareperf/tare/internal/smallorigin"
	"github.com/tareperf/tare/internal/smallproxy"
)

// In the process of a test; abtest runs Main in a process of its own.
func Example() {
	origin, err := smallorigin.Start(smallorigin.Config{BodySize: 5})
	if err != nil {
		panic(err)
	}
	proxy, err := smallproxy.Start(smallproxy.Config{Origin: origin.Address()})
	if err != nil {
		panic(err)
	}
	response, err := http.Get("http://" + proxy.Address() + "/any/path")
	if err != nil {
		panic(err)
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if err := proxy.Close(); err != nil {
		panic(err)
	}
	if err := origin.Close(); err != nil {
		panic(err)
	}
	fmt.Println(response.StatusCode, string(body))
	fmt.Println("completed", proxy.Stats().Completed, "of", proxy.Stats().Requests)
	// Output:
	// 200 abcde
	// completed 1 of 1
}
