package procfs

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/sys"
)

func monotonicNanoseconds() (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return ts.Nano(), nil
}

// wakeCPU runs for an instant on one CPU. It does so on a thread of its own
// that ends afterwards, so that nobody's affinity is changed.
func wakeCPU(cpu int) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		result <- sys.SetAffinity(0, []int{cpu})
	}()
	return <-result
}
