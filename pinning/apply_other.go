//go:build !linux

package pinning

import "fmt"

// Placement is a plan in force.
type Placement struct{}

// Apply exists on Linux only.
func Apply(Plan, ApplyOptions) (*Placement, error) {
	return nil, fmt.Errorf("pinning: apply: %w", ErrNotSupported)
}

// Method is empty here.
func (p *Placement) Method() string { return "" }

// Lost is empty here.
func (p *Placement) Lost() []string { return nil }

// Place exists on Linux only.
func (p *Placement) Place(Role, int) error { return ErrNotSupported }

// Verify exists on Linux only.
func (p *Placement) Verify(Role, int) error { return ErrNotSupported }

// VerifyHarness exists on Linux only.
func (p *Placement) VerifyHarness() error { return ErrNotSupported }

// Close does nothing here.
func (p *Placement) Close() error { return nil }
