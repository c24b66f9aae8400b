package sys

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// PerfGroup is one atomic read of a perf event group: the two times belong to
// the whole group, the values are in the order in which the events were added.
type PerfGroup struct {
	EnabledNanoseconds uint64
	RunningNanoseconds uint64
	Values             []PerfValue
}

// PerfValue is one event of a group: its count and the kernel's id for it.
type PerfValue struct {
	Value uint64
	ID    uint64
}

// ErrPerfFormat is wrapped by errors about a group read whose bytes do not
// have the shape that was asked for.
var ErrPerfFormat = errors.New("unexpected perf group data")

// PerfGroupSize is the number of bytes of a group read of n events with
// PERF_FORMAT_GROUP, TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING and ID.
func PerfGroupSize(n int) int { return 8 * (3 + 2*n) }

// ParsePerfGroup decodes the bytes of a group read in native byte order.
// No bytes at all is io.EOF: the kernel gives that for a group in error state.
func ParsePerfGroup(b []byte) (PerfGroup, error) {
	if len(b) == 0 {
		return PerfGroup{}, io.EOF
	}
	if len(b) < PerfGroupSize(0) {
		return PerfGroup{}, fmt.Errorf("%w: %d bytes, a header alone is %d", ErrPerfFormat, len(b), PerfGroupSize(0))
	}
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(b[8*i:]) }
	n := word(0)
	// Compared in this direction so that a huge n cannot overflow.
	if have := uint64(len(b)-PerfGroupSize(0)) / 16; n != have || len(b) != PerfGroupSize(int(have)) {
		return PerfGroup{}, fmt.Errorf("%w: %d events announced in %d bytes", ErrPerfFormat, n, len(b))
	}
	g := PerfGroup{EnabledNanoseconds: word(1), RunningNanoseconds: word(2), Values: make([]PerfValue, n)}
	for i := range g.Values {
		g.Values[i] = PerfValue{Value: word(3 + 2*i), ID: word(4 + 2*i)}
	}
	return g, nil
}
