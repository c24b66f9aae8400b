//go:build !linux

package sys

import (
	"errors"
	"fmt"
)

// MonotonicNanoseconds is not built for this system.
func MonotonicNanoseconds() (int64, error) { return 0, otherSystem("the monotonic clock") }

// ProcessCPUClock is not built for this system.
func ProcessCPUClock(int) (int64, error) { return 0, otherSystem("the process CPU clock") }

// ThreadCPUClock is not built for this system.
func ThreadCPUClock(int) (int64, error) { return 0, otherSystem("the thread CPU clock") }

func otherSystem(what string) error {
	return fmt.Errorf("%s: %w: only Linux is supported", what, errors.ErrUnsupported)
}
