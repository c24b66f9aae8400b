package counters

import (
	"testing"

	"github.com/tareperf/tare/internal/pmuloop"
)

// 64 threads at a time, most of them living for under a millisecond.
func TestPMUHeld64Threads(t *testing.T) {
	k, c := heldKnown(t)
	before := k.threads(t)
	worst := 0.0
	for i := range repeats() {
		d := measured(t, c, func() { k.many(t, before) })
		requireKnown(t, manyInstructions, d)
		worst = max(worst, abs(float64(*d.UserInstructions)/manyInstructions-1))
		if i == 0 {
			show(t, "first", d)
		}
	}
	t.Logf("%d repeats, the worst is %.4f%% from the known sum", repeats(), 100*worst)
}

// many has k run 64 threads: 32 that are all alive at once, and 32 that live
// for about a tenth of a millisecond each.
func (k known) many(t testing.TB, before int) {
	t.Helper()
	k.tell(t, "close")
	k.tell(t, "waiters 32 %d", manyLong)
	k.tell(t, "threads 32 %d", manyShort)
	k.tell(t, "open")
	k.threadsGone(t, before)
}

const (
	manyLong         = 90_000 // 18 ms
	manyShort        = 500    // 0.1 ms
	manyInstructions = 32 * (manyLong + manyShort) * pmuloop.PerSpin
)

func abs(x float64) float64 { return max(x, -x) }

func repeats() int {
	if testing.Short() {
		return 3
	}
	return 100
}
