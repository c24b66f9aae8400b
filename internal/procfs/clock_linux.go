package procfs

import (
	"runtime"

	"github.com/tareperf/tare/internal/sys"
)

func monotonicNanoseconds() (int64, error) { return sys.MonotonicNanoseconds() }

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
