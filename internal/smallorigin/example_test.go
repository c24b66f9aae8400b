package smallorigin_test

import (
	"fmt"
	"io"
	"net/http"

	"github.com/tareperf/tare/internal/smallorigin"
)

// In the process of a test; abtest runs Main in a process of its own.
func Example() {
	origin, err := smallorigin.Start(smallorigin.Config{BodySize: 5})
	if err != nil {
		panic(err)
	}
	response, err := http.Get("http://" + origin.Address() + "/any/path")
	if err != nil {
		panic(err)
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if err := origin.Close(); err != nil {
		panic(err)
	}
	fmt.Println(response.StatusCode, string(body))
	fmt.Println("completed", origin.Stats().Completed)
	// Output:
	// 200 abcde
	// completed 1
}
