package loadgen

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Ramp and warm-up are sent and are no part of the results: counts, latency
// and lateness are of the measured part only, and the server's own count is
// the sum.
func TestReportFortio717WarmUpIsNoPartOfTheResults(t *testing.T) {
	t.Parallel()
	const connections = 400 // more than requests: none finds all busy
	for _, workers := range []int{1, 2} {
		var slow atomic.Bool
		slow.Store(true)
		s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
			for s.request(in) {
				if slow.Load() {
					time.Sleep(20 * time.Millisecond)
				}
				io.WriteString(c, okAnswer)
			}
		})
		g := connected(t, Spec{Connections: connections, Workers: workers, ConnectRate: 1e5}, s.target())
		cold := time.AfterFunc(250*time.Millisecond, func() { slow.Store(false) })
		defer cold.Stop()
		r := runWindow(t, g, Window{Rate: 400, Duration: 500 * time.Millisecond, Ramp: 200 * time.Millisecond, WarmUp: 300 * time.Millisecond})
		c := r.Total()
		warm := r.Targets[0].WarmUp
		require.EqualValues(t, 200, c.Completed)
		require.EqualValues(t, 160, warm.Scheduled) // 40 and 120
		require.NoError(t, warm.Check())
		require.Equal(t, warm.Scheduled, warm.Sent+warm.Overflow)
		require.Equal(t, s.requests.Load(), c.Sent+warm.Sent)
		require.EqualValues(t, 200, r.Generator.Lateness.Count)
		require.EqualValues(t, connections, warm.ConnectionsBefore)
		require.EqualValues(t, connections, c.ConnectionsBefore+c.ConnectionsOpened)
		batched := int64(0)
		for _, b := range r.Generator.Batches {
			batched += int64(b.Size) * b.Count
			if b.Size == maxBatch { // and above
				batched = 200
				break
			}
		}
		require.EqualValues(t, 200, batched)
	}
}

// A warm-up that is interrupted leaves a whole report with nothing measured.
func TestInterruptedWarmUp(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 8}, s.target())
	ctx, cancel := contextWithTimeout(t, 400*time.Millisecond)
	defer cancel()
	r, err := g.Run(ctx, Window{Rate: 200, Duration: time.Second, WarmUp: time.Hour})
	require.Error(t, err)
	require.True(t, r.Interrupted)
	require.NoError(t, r.Check())
	require.Zero(t, r.Total().Scheduled)
	require.Positive(t, r.Targets[0].WarmUp.Completed)
	require.Equal(t, s.requests.Load(), r.Targets[0].WarmUp.Sent)
	require.GreaterOrEqual(t, r.EndNanoseconds, r.StartNanoseconds)
}

func TestWarmUpOfAClosedLoop(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 8, Workers: 2}, s.target())
	r, err := g.Run(t.Context(), Window{InFlight: 8, Duration: 300 * time.Millisecond, WarmUp: 300 * time.Millisecond})
	require.NoError(t, err)
	c, warm := r.Total(), r.Targets[0].WarmUp
	require.Equal(t, c.Scheduled, c.Completed)
	require.Equal(t, warm.Scheduled, warm.Completed)
	require.Positive(t, warm.Completed+c.Completed)
	require.Equal(t, s.requests.Load(), c.Sent+warm.Sent)
	require.Equal(t, c.Completed, r.Targets[0].Response.Count)
}
