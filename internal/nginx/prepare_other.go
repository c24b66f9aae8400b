//go:build !linux

package nginx

import (
	"fmt"
	"runtime"
)

// Prepare answers an error that wraps ErrNotSupported.
func Prepare(Binary, string, Options) (*Command, error) {
	return nil, fmt.Errorf("prepare nginx on %s: %w", runtime.GOOS, ErrNotSupported)
}
