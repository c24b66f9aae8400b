//go:build !linux

package loadgen

import (
	"context"
	"fmt"
	"runtime"
)

// Generator loads its targets, on Linux.
type Generator struct{}

// New checks its arguments as on Linux and then returns an error that wraps
// ErrNotSupported.
func New(s Spec, targets []Target) (*Generator, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := validateTargets(targets); err != nil {
		return nil, err
	}
	return nil, unsupported()
}

// Connect returns an error that wraps ErrNotSupported.
func (g *Generator) Connect(context.Context) error { return unsupported() }

// Run returns an error that wraps ErrNotSupported.
func (g *Generator) Run(context.Context, Window) (Report, error) { return Report{}, unsupported() }

// Progress is empty.
func (g *Generator) Progress() Progress { return Progress{} }

// Close does nothing.
func (g *Generator) Close() error { return nil }

func (g *Generator) setOwnProcess() {}

func unsupported() error {
	return fmt.Errorf("%w (%s): load can be generated on Linux only", ErrNotSupported, runtime.GOOS)
}
