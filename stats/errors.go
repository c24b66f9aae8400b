package stats

import (
	"errors"
	"fmt"
)

// ErrNotTestable is wrapped by every *NotTestableError.
var ErrNotTestable = errors.New("not testable")

// NotTestableError says that a quantity cannot be computed from the input, and
// why. It is a statement about the data, never a silent "no difference".
type NotTestableError struct {
	// Quantity names what was asked for, for example "mean of ratios".
	Quantity string
	// Reason says what stands in the way and what would remove it.
	Reason string
}

func (e *NotTestableError) Error() string {
	return fmt.Sprintf("%s is not testable: %s", e.Quantity, e.Reason)
}

// Unwrap makes errors.Is(err, ErrNotTestable) true.
func (e *NotTestableError) Unwrap() error { return ErrNotTestable }

func notTestable(quantity, format string, args ...any) error {
	return &NotTestableError{Quantity: quantity, Reason: fmt.Sprintf(format, args...)}
}

// OptionError says that an option has a value that no computation can use.
type OptionError struct {
	// Option is the name of the field, Value what it held, Want what it may hold.
	Option string
	Value  any
	Want   string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("option %s is %v: use %s", e.Option, e.Value, e.Want)
}
