package loadgen

import (
	"time"

	"github.com/tareperf/tare/internal/sys"
)

// monotonic reads CLOCK_MONOTONIC without a system call: package time does,
// and only the offset between the two origins has to be known.
type monotonic struct {
	base   time.Time
	offset int64
}

func newMonotonic() (monotonic, error) {
	var best monotonic
	shortest := time.Duration(1<<63 - 1)
	for range 16 { // the pair of readings that lies closest together
		base := time.Now()
		at, err := sys.MonotonicNanoseconds()
		if err != nil {
			return best, err
		}
		if took := time.Since(base); took < shortest {
			shortest, best = took, monotonic{base, at - int64(took)/2}
		}
	}
	return best, nil
}

func (m *monotonic) now() int64 { return m.offset + int64(time.Since(m.base)) }
