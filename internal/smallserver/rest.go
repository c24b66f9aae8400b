package smallserver

import (
	"context"
	"fmt"
	"time"
)

// AtRest reads counters until no request is active, each millisecond. ctx bounds
// the wait; the error then says how many are active.
func AtRest[Stats any](ctx context.Context, server string, read func(context.Context) (Stats, error), active func(Stats) uint64) (Stats, error) {
	for {
		s, err := read(ctx)
		if err != nil || active(s) == 0 {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, fmt.Errorf("%s still has %d active requests: %w", server, active(s), ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}
