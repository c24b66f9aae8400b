//go:build !linux

package realserver

import (
	"fmt"
	"runtime"
)

type ports struct{}

func (ports) holdFor(*Server, *string) error {
	return fmt.Errorf("realserver: %w (%s)", ErrNotSupported, runtime.GOOS)
}

func (ports) release() {}
