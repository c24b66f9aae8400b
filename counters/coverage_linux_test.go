package counters

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExperiment(t *testing.T) {
	for _, mode := range []string{"threads:8", "threads:8", "threads:1", "bursts:10", "bursts:10", "bursts:50", "bursts:200"} {
		p := startHeld(t, mode)
		c, err := OpenHeld(p.Pid(), Options{Metric: CPUTime})
		require.NoError(t, err)
		p.release(t)
		for range 3 {
			a, err := c.Read()
			require.NoError(t, err)
			time.Sleep(500 * time.Millisecond)
			b, err := c.Read()
			require.NoError(t, err)
			task0, _ := a.Group.value(EventTaskClock)
			task, _ := b.Group.value(EventTaskClock)
			sw0, _ := a.Group.value(EventContextSwitches)
			sw, _ := b.Group.value(EventContextSwitches)
			mi0, _ := a.Group.value(EventMigrations)
			mi, _ := b.Group.value(EventMigrations)
			T, C := int64(task-task0), b.CPUNanoseconds-a.CPUNanoseconds
			var steal int64
			for i := range b.Outside {
				steal += b.Outside[i].StealNanoseconds - a.Outside[i].StealNanoseconds
			}
			_, err = b.Since(a)
			t.Logf("%s cov %.4f T %d C %d diff/switch %.0f sw %d mig %d skew %d %d steal %d err %v", mode, float64(T)/float64(C), T, C, float64(T-C)/float64(sw-sw0), sw-sw0, mi-mi0, a.CPUSkewNanoseconds, b.CPUSkewNanoseconds, steal, err)
		}
		require.NoError(t, c.Close())
		p.Stop(0)
	}
}
