//go:build !linux

package sys

import (
	"errors"
	"fmt"
)

// SetAffinity exists on Linux only.
func SetAffinity(tid int, cpus []int) error {
	return fmt.Errorf("sched_setaffinity: %w", errors.ErrUnsupported)
}

// GetAffinity exists on Linux only.
func GetAffinity(tid int) ([]int, error) {
	return nil, fmt.Errorf("sched_getaffinity: %w", errors.ErrUnsupported)
}
