//go:build !linux

package h3

import (
	"context"
	"fmt"
	"runtime"

	"github.com/tareperf/tare/loadgen"
)

// Generator sends HTTP/3, on Linux.
type Generator struct{}

// New answers an error that wraps loadgen.ErrNotSupported.
func New(s loadgen.Spec, _ []loadgen.Target) (*Generator, error) {
	if _, err := resolve(s); err != nil {
		return nil, err
	}
	return nil, unsupported()
}

// Connect answers an error that wraps loadgen.ErrNotSupported.
func (g *Generator) Connect(context.Context) error { return unsupported() }

// Run answers an error that wraps loadgen.ErrNotSupported.
func (g *Generator) Run(context.Context, loadgen.Window) (loadgen.Report, error) {
	return loadgen.Report{}, unsupported()
}

// Close does nothing.
func (g *Generator) Close() error { return nil }

func unsupported() error { return fmt.Errorf("%w (%s)", loadgen.ErrNotSupported, runtime.GOOS) }
