package loadgen

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/sys"
)

// BenchmarkOwnProcess measures what a request costs the generator: in a
// process of its own, 2,000 requests a second over 32 connections, against a
// net/http server in this one. Run it with -benchtime=10000x or more.
func BenchmarkOwnProcess(b *testing.B) {
	const rate = 2000
	body := make([]byte, 4096)
	target, _ := httpTarget(b, "server", func(w http.ResponseWriter, r *http.Request) { w.Write(body) })
	g, _ := generatorProcess(b)
	ctx := context.Background()
	require.NoError(b, g.Open(ctx, Spec{Path: "/4k", MaxLate: time.Hour}, []Target{target}))
	require.NoError(b, g.Connect(ctx))
	b.ResetTimer()
	r, err := g.Run(ctx, Window{Rate: rate, Duration: time.Duration(b.N) * time.Second / rate})
	require.NoError(b, err)
	c := r.Total()
	require.Zero(b, c.Failed+c.InFlightAtEnd)
	b.ReportMetric(0, "ns/op") // the rate, not a cost
	b.ReportMetric(float64(r.Generator.CPUNanoseconds)/float64(c.Completed), "thread-cpu-ns/req")
	b.ReportMetric(float64(r.Generator.ProcessCPUNanoseconds)/float64(c.Completed), "process-cpu-ns/req")
	b.ReportMetric(float64(r.Generator.Lateness.P50), "late-p50-ns")
	b.ReportMetric(float64(r.Generator.Lateness.P99), "late-p99-ns")
	b.ReportMetric(float64(c.Overflow), "overflow") // above 0: this machine is busy, and the rate was not reached
	b.ReportMetric(float64(r.Generator.GarbageCollections), "gcs")
	b.ReportMetric(float64(r.Generator.Allocations)/float64(c.Completed), "allocs/req")
}

// BenchmarkSaturated measures the same in a closed loop over 32 connections,
// one request in flight on each, for about 50,000 requests of a server that
// allocates nothing either, both in this process: allocs/op is of a request.
func BenchmarkSaturated(b *testing.B) {
	for _, pipeline := range []int{1, 8} {
		b.Run(fmt.Sprintf("pipeline=%d", pipeline), func(b *testing.B) {
			s := newScript(b, answering(okAnswer))
			g := connected(b, Spec{Connections: 32, Pipeline: pipeline}, s.target())
			w := Window{InFlight: 32 * pipeline, Duration: 300 * time.Millisecond}
			_, err := g.Run(context.Background(), w) // the server's first requests allocate
			require.NoError(b, err)
			completed, cpu, allocations := int64(0), int64(0), int64(0)
			for b.Loop() {
				r, err := g.Run(context.Background(), w)
				require.NoError(b, err)
				require.NoError(b, r.Check())
				completed += r.Total().Completed
				cpu += r.Generator.CPUNanoseconds
				allocations += r.Generator.Allocations
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(cpu)/float64(completed), "thread-cpu-ns/req")
			b.ReportMetric(float64(allocations)/float64(completed), "allocs/req")
			b.ReportMetric(float64(completed)/float64(b.N), "req/op")
		})
	}
}

// BenchmarkRequest goes through everything of a request but the kernel: the
// schedule, the choice of a connection, the counts, the parser, the
// histograms.
func BenchmarkRequest(b *testing.B) {
	spec := Spec{}.withDefaults()
	w := newWorker(0, spec, monotonic{base: time.Now()}, []Target{{Address: "127.0.0.1:1"}}, make([]sys.SocketAddress, 1))
	t := &w.targets[0]
	t.wanted = true
	for t.downCount > 0 { // connections without a socket: a write fails with EBADF and is not reached
		i := t.takeDown()
		w.waitFor(w.conns[i].first)
		t.opening++
		w.wired(i)
	}
	schedule, err := newSchedule(spec, Window{Rate: 1e6, Duration: time.Hour, Targets: []int{0}})
	require.NoError(b, err)
	c := schedule.cursor(0, 1)
	answer := []byte(okAnswer)
	b.ReportAllocs()
	for b.Loop() {
		offset, target, _ := c.next()
		t := &w.targets[target]
		t.counts.Scheduled++
		i := t.ready.pick(w.conns)
		now := w.clock.now()
		record(w.stats.lateness, now-offset)
		w.depart(t, offset)
		r := w.takeSlot(&w.conns[i])
		q := &w.requests[r]
		q.busy, q.intended, q.started = true, offset, now
		w.conns[i].active++
		w.refresh(i)
		w.waitFor(r)
		if !w.h1Feed(i, answer) {
			b.Fatal("closed")
		}
	}
	require.EqualValues(b, b.N, t.counts.Completed)
}
