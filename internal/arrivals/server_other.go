//go:build !linux

package arrivals

import (
	"fmt"
	"io"
	"runtime"
)

// Serve answers an error that wraps ErrNotSupported.
func Serve(io.Reader, io.Writer, Options) error {
	return fmt.Errorf("%w (%s)", ErrNotSupported, runtime.GOOS)
}
