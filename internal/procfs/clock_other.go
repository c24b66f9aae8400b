//go:build !linux

package procfs

import "fmt"

func monotonicNanoseconds() (int64, error) {
	return 0, fmt.Errorf("procfs: CLOCK_MONOTONIC: %w", ErrNotSupported)
}

func wakeCPU(int) error { return fmt.Errorf("procfs: affinity: %w", ErrNotSupported) }
