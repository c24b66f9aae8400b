package loadgen

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
