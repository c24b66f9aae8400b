//go:build !linux

package counters

import (
	"fmt"
	"runtime"
)

// Counter counts one process; on this system none can be opened.
type Counter struct{}

// OpenHeld is not built for this system: the error wraps ErrNotSupported.
func OpenHeld(pid int, o Options) (*Counter, error) {
	if _, err := o.metric(); err != nil {
		return nil, err
	}
	return nil, otherSystem()
}

// Read is not built for this system.
func (c *Counter) Read() (Reading, error) { return Reading{}, otherSystem() }

// Close does nothing on this system.
func (c *Counter) Close() error { return nil }

// Probe says that this system is not supported: the error wraps
// ErrNotSupported.
func Probe(m Metric) error {
	if err := m.check(); err != nil {
		return err
	}
	return otherSystem()
}

func otherSystem() error {
	return fmt.Errorf("counting on %s: %w: measure on Linux", runtime.GOOS, ErrNotSupported)
}
