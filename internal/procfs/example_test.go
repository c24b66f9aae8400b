package procfs_test

import (
	"fmt"

	"github.com/tareperf/tare/internal/procfs"
)

func ExampleParseCPUList() {
	cpus, err := procfs.ParseCPUList("0-7:2/4,12")
	fmt.Println(cpus, err)
	fmt.Println(procfs.FormatCPUList(cpus))
	// Output:
	// [0 1 4 5 12] <nil>
	// 0-1,4-5,12
}
