package loadgen

import (
	"bufio"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
)

// One connection at 1,000 a second, whose server stops for a second. With a
// queue each arrival of that second has a sample of its own, and they are
// spread over it: nothing is omitted because the server did not answer
// (rakyll/hey#100, scylla-bench#46: neither once nor twice).
func TestReportHey100StallWithQueueGivesEachArrivalItsSample(t *testing.T) {
	const rate = 1000
	var stop atomic.Bool
	var stalled time.Duration
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		for s.request(in) {
			if s.requests.Load() > 200 && stop.CompareAndSwap(false, true) {
				at := time.Now()
				time.Sleep(time.Second)
				stalled = time.Since(at)
			}
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 1, Queue: 5000}, s.target())
	r := runWindow2(t, g, Window{Rate: rate, Duration: 2 * time.Second, Seed: 4})
	c := r.Total()
	require.EqualValues(t, 2000, c.Completed)
	require.Zero(t, c.Overflow)
	require.EqualValues(t, 1, c.MaxInFlight)
	require.Equal(t, c.Sent, c.Queued+r.Generator.Lateness.Count)
	require.Equal(t, c.Queued, r.Targets[0].Queue.Count)

	h, err := hdrhistogram.Decode([]byte(r.Targets[0].Response.Histogram))
	require.NoError(t, err)
	waited := func(from, to time.Duration) (n int64) {
		for _, b := range h.Distribution() {
			if b.From >= int64(from) && b.From < int64(to) {
				n += b.Count
			}
		}
		return n
	}
	// As many in each quarter of the stall, give or take what a busy machine
	// makes of it: the first waited for all of it, the last for none.
	quarter := stalled / 4
	for k := range time.Duration(4) {
		require.Greater(t, waited(k*quarter, (k+1)*quarter), int64(quarter.Seconds()*rate/2), "quarter %d", k)
	}
	require.GreaterOrEqual(t, r.Targets[0].Response.Max, int64(stalled))
	// Only one was with the server meanwhile.
	service, err := hdrhistogram.Decode([]byte(r.Targets[0].Service.Histogram))
	require.NoError(t, err)
	long := int64(0)
	for _, b := range service.Distribution() {
		if b.From > int64(stalled)/2 {
			long += b.Count
		}
	}
	require.EqualValues(t, 1, long)
}

// runWindow2 is runWindow for windows in which arrivals may be queued.
func runWindow2(t testing.TB, g *Generator, w Window) Report {
	r, err := g.Run(t.Context(), w)
	require.NoError(t, err)
	require.NoError(t, r.Check())
	return r
}

// A queue is bounded: what does not fit is overflow, and what it catches up
// after a stall is at most its length.
func TestReportFortio543QueueBoundsTheCatchUp(t *testing.T) {
	const rate, length = 1000, 50
	var gate sync.RWMutex
	var at []time.Time
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		for s.request(in) {
			gate.RLock()
			at = append(at, time.Now()) // one connection: one writer
			gate.RUnlock()
			io.WriteString(c, okAnswer)
		}
	})
	g := connected(t, Spec{Connections: 1, Queue: length}, s.target())
	stall := time.AfterFunc(200*time.Millisecond, func() {
		gate.Lock()
		time.Sleep(500 * time.Millisecond)
		gate.Unlock()
	})
	defer stall.Stop()
	r := runWindow2(t, g, Window{Rate: rate, Duration: time.Second, Seed: 4})
	g.Close()
	s.kill()
	c := r.Total()
	require.Greater(t, c.OverflowBusy, int64(200))
	require.Equal(t, c.Overflow, c.OverflowBusy)
	require.Equal(t, c.Sent, c.Completed)
	require.EqualValues(t, len(at), c.Sent)
	// In no span more than the rate gives, the queue, and the two requests at
	// its ends. What a busy machine delays on the way can only bunch up at the
	// server again, so the span is long.
	for from := range at {
		to := from
		for to < len(at) && at[to].Sub(at[from]) < 400*time.Millisecond {
			to++
		}
		require.LessOrEqual(t, to-from, 400+length+2+100)
	}
}

// What is still in the queue at the end is overflow with a class of its own.
func TestQueueAtTheEnd(t *testing.T) {
	t.Parallel()
	s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, _ int) {
		s.request(in)
		in.ReadByte() // never answers
	})
	g := connected(t, Spec{Connections: 2, Queue: 10}, s.target())
	r := runWindow2(t, g, Window{Rate: 100, Duration: 200 * time.Millisecond, Drain: 50 * time.Millisecond})
	c := r.Total()
	require.EqualValues(t, 20, c.Scheduled)
	require.EqualValues(t, 2, c.InFlightAtEnd)
	require.EqualValues(t, 10, c.OverflowQueue)
	require.EqualValues(t, 8, c.OverflowBusy)
	require.EqualValues(t, 10, c.Queued)
}

// Reuse orders: with one request at a time, the most recent connection takes
// all, the least recent ones take turns, and so does round robin.
func TestReuseOrders(t *testing.T) {
	t.Parallel()
	const connections, n = 8, 80
	for _, reuse := range []Reuse{RoundRobin, MostRecent, LeastRecent} {
		var mu sync.Mutex
		carried := map[int]int{}
		var order []int
		s := newScript(t, func(s *script, c net.Conn, in *bufio.Reader, k int) {
			for s.request(in) {
				mu.Lock()
				carried[k]++
				order = append(order, k)
				mu.Unlock()
				io.WriteString(c, okAnswer)
			}
		})
		g := connected(t, Spec{Connections: connections, Reuse: reuse, Queue: n}, s.target())
		r, err := g.Run(t.Context(), Window{InFlight: 1, Duration: 10 * time.Millisecond, WarmUp: 1})
		require.NoError(t, err)
		mu.Lock()
		clear(carried)
		order = order[:0]
		mu.Unlock()
		r = runWindow2(t, g, Window{Rate: 200, Duration: n * time.Second / 200, Seed: 5})
		require.Equal(t, reuse, r.Choice)
		require.EqualValues(t, n, r.Total().Completed)
		switch {
		case r.Total().MaxInFlight > 1: // this machine was busy: the order says nothing
			t.Logf("%s: %d in flight, %v", reuse, r.Total().MaxInFlight, carried)
		case reuse == MostRecent:
			require.Len(t, carried, 1)
		default:
			require.Len(t, carried, connections)
			for _, k := range carried {
				require.Equal(t, n/connections, k)
			}
			for i := connections; i < len(order); i++ {
				require.Equal(t, order[i-connections], order[i])
			}
		}
	}
}

// The set of ready connections, against a plain list that does the same.
func TestReadySetOrders(t *testing.T) {
	const n, first = 130, 7
	for _, reuse := range []Reuse{RoundRobin, MostRecent, LeastRecent} {
		conns := make([]conn, first+n)
		s := newReadySet(reuse, first, n)
		var list []int32 // ready, the one that became so last at the end
		turn := int32(-1)
		state := uint64(1)
		for range 20_000 {
			state = mix(state + golden)
			i := int32(first + state%n)
			if !conns[i].ready {
				conns[i].ready = true
				s.add(conns, i)
				list = append(list, i)
			}
			if state>>32%3 == 0 {
				continue
			}
			var want int32
			switch reuse {
			case MostRecent:
				want = list[len(list)-1]
			case LeastRecent:
				want = list[0]
			default:
				for k := turn + 1; ; k++ {
					if conns[first+k%n].ready {
						turn, want = k%n, first+k%n
						break
					}
				}
			}
			got := s.pick(conns)
			require.Equal(t, want, got, reuse)
			conns[got].ready = false
			s.remove(conns, got)
			for k, v := range list {
				if v == got {
					list = append(list[:k], list[k+1:]...)
					break
				}
			}
			require.EqualValues(t, len(list), s.count)
			if s.count == 0 {
				require.EqualValues(t, -1, s.pick(conns))
			}
		}
	}
}
