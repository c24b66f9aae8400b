package smallserver_test

import (
	"fmt"
	"strings"

	"github.com/tareperf/tare/internal/smallserver"
)

// What a parent reads from the standard output of a server it started.
func ExampleReadReady() {
	stdout := strings.NewReader(`{"server":"smallorigin","pid":4711,"address":"127.0.0.1:40001","admin_address":"127.0.0.1:40002"}` + "\n")
	ready, err := smallserver.ReadReady(stdout, "smallorigin")
	fmt.Println(ready.Address, err)

	stdout = strings.NewReader(`{"server":"smallorigin","pid":4711,"error":"listen tcp 127.0.0.1:80: bind: permission denied"}` + "\n")
	_, err = smallserver.ReadReady(stdout, "smallorigin")
	fmt.Println(err)
	// Output:
	// 127.0.0.1:40001 <nil>
	// smallorigin did not start: listen tcp 127.0.0.1:80: bind: permission denied
}
