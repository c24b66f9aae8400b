//go:build unix

package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// childrenCPU is the CPU time of all children that have ended, those of their
// own that they have waited for included. Between two readings one ends: the
// generator.
func childrenCPU() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
