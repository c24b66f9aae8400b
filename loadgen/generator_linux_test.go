package loadgen

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

func httpTarget(t testing.TB, name string, h http.HandlerFunc) (Target, *httptest.Server) {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return Target{Name: name, Address: strings.TrimPrefix(s.URL, "http://")}, s
}

// Two targets: each has exactly its share, and the server counts the same.
func TestCountsEqualTheServersOwn(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 3} {
		var served [2]atomic.Int64
		targets := make([]Target, 2)
		for i := range targets {
			targets[i], _ = httpTarget(t, []string{"a", "b"}[i], func(w http.ResponseWriter, r *http.Request) {
				served[i].Add(1)
				w.Write(make([]byte, 4096))
			})
		}
		g := connected(t, Spec{Path: "/4k", Workers: workers, Connections: 64, Expect: Expect{BodyBytes: 4096}}, targets...)
		r := runWindow(t, g, Window{Rate: 1000, Duration: 500 * time.Millisecond, Seed: 1})
		require.Len(t, r.Generator.Workers, workers)
		sent, batched := int64(0), int64(0)
		for _, w := range r.Generator.Workers {
			sent += w.Sent
			require.Positive(t, w.CPUNanoseconds)
			require.Positive(t, w.Sent)
		}
		for _, b := range r.Generator.Batches {
			batched += int64(b.Size) * b.Count
			if b.Size == maxBatch { // and above
				batched = sent
				break
			}
		}
		require.Equal(t, r.Total().Sent, sent)
		require.Equal(t, sent, batched)
		for i, tr := range r.Targets {
			require.Equal(t, targets[i], tr.Target)
			require.EqualValues(t, 500, tr.Scheduled)
			require.EqualValues(t, served[i].Load(), tr.Sent)
			require.Equal(t, tr.Sent, tr.Completed)
			require.Equal(t, tr.Completed*4096, tr.BodyBytes)
			require.Equal(t, tr.Sent*int64(len(requestBytes(g.spec, targets[i], 0))), tr.BytesOut)
			require.EqualValues(t, 64, tr.ConnectionsBefore)
			require.LessOrEqual(t, tr.Service.Max, tr.Response.Max)
		}
		require.Positive(t, r.Generator.BusyShare())
		require.NoError(t, g.Close())
	}
}

// A window may leave targets out; they are not touched.
func TestWindowOfSomeTargets(t *testing.T) {
	t.Parallel()
	a, b, c := newScript(t, answering(okAnswer)), newScript(t, answering(okAnswer)), newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 20}, a.target(), b.target(), c.target())
	b.kill()
	r := runWindow(t, g, Window{Targets: []int{2, 0}, Rate: 100, Duration: 200 * time.Millisecond})
	require.EqualValues(t, 2, r.Targets[0].Index)
	require.EqualValues(t, 20, r.Targets[0].Completed)
	require.EqualValues(t, 20, r.Targets[1].Completed)
	require.EqualValues(t, 20, a.requests.Load())
	require.EqualValues(t, 20, c.requests.Load())
	_, err := g.Run(t.Context(), Window{Targets: []int{0, 1}, Rate: 100, Duration: time.Second})
	requireConnectError(t, err, ConnectRefused, unix.ECONNREFUSED)
	require.ErrorContains(t, err, b.target().Address)
	require.EqualValues(t, 20, a.requests.Load())
}

// Kernels before 5.11 wait on a timer descriptor.
func TestTimerDescriptor(t *testing.T) {
	t.Parallel()
	s := newScript(t, answering(okAnswer))
	g := connected(t, Spec{Connections: 50}, s.target())
	w := g.workers[0]
	var err error
	w.timerfd, err = sys.TimerFD()
	require.NoError(t, err)
	require.NoError(t, sys.EpollAdd(w.epfd, w.timerfd, unix.EPOLLIN|unix.EPOLLET, timerToken))
	r := runWindow(t, g, Window{Rate: 200, Duration: 250 * time.Millisecond})
	require.EqualValues(t, 50, r.Total().Completed)
	require.Equal(t, "timerfd", r.Generator.Clock)
	require.Less(t, r.Generator.Workers[0].Waits, int64(1000)) // it did sleep
}

// No allocation for a request, of generator and server together.
func TestRequestsAllocateNothing(t *testing.T) {
	for _, arrival := range []Arrival{Jitter, Poisson} {
		s := newScript(t, answering(okAnswer))
		g := connected(t, Spec{Connections: 32, Arrival: arrival}, s.target())
		w := Window{Rate: 4000, Duration: 500 * time.Millisecond}
		runWindow(t, g, w) // the server's first requests allocate
		r := runWindow(t, g, w)
		require.Less(t, r.Generator.Allocations, int64(300)) // for 2000 requests
		t.Logf("%d allocations", r.Generator.Allocations)
	}
}

func TestMergeDistributionsRefusesWhatIsNoHistogram(t *testing.T) {
	_, err := MergeDistributions(Distribution{Histogram: "x"})
	require.Error(t, err)
	sum, err := MergeDistributions()
	require.NoError(t, err)
	require.Zero(t, sum.Count)
}
