package loadgen

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/realserver"
)

// h2Nginx starts nginx, which is another process: what the server allocates
// is not counted here. It returns its targets and specs, plain and with TLS.
func h2Nginx(t testing.TB) map[string]func(Spec) (Spec, []Target) {
	s, err := realserver.StartNginx(context.Background(), realserver.Options{Dir: t.TempDir(), BodySize: 1024})
	if errors.Is(err, realserver.ErrNotFound) {
		need.Skip(t, "nginx", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	over := func(p Protocol, tls *TLS, address string) func(Spec) (Spec, []Target) {
		return func(spec Spec) (Spec, []Target) {
			spec.Protocol, spec.TLS, spec.Expect = p, tls, Expect{BodyBytes: 1024}
			return spec, []Target{{s.Name, address}}
		}
	}
	return map[string]func(Spec) (Spec, []Target){
		"plain": over(H2C, nil, s.H2C),
		"tls":   over(HTTP2, &TLS{CAFile: s.Certificate}, s.TLS),
	}
}

// No allocation for a request, at a rate and in a closed loop, plain and with
// TLS, with heads of requests that change.
func TestH2RequestsAllocateNothing(t *testing.T) {
	for name, over := range h2Nginx(t) {
		t.Run(name, func(t *testing.T) {
			spec, targets := over(Spec{Connections: 8, Streams: 16, Generated: GeneratedHeaders{Count: 4, Sets: 3}})
			g := connected(t, spec, targets...)
			for _, w := range []Window{{Rate: 4000, Duration: time.Second / 2}, {InFlight: 64, Duration: time.Second / 4}} {
				_, err := g.Run(context.Background(), w) // buffers find their size
				require.NoError(t, err)
				r, err := g.Run(context.Background(), w)
				require.NoError(t, err)
				c := r.Total()
				require.Zero(t, c.Failed)
				require.Less(t, 10*r.Generator.Allocations, c.Completed) // some for the window, whatever its length
				t.Logf("%d requests, %d allocations", c.Completed, r.Generator.Allocations)
			}
		})
	}
}

// BenchmarkH2 measures what a request of HTTP/2 costs the generator, in a
// process of its own: at 2,000 a second, one arrival at a time, and in a
// closed loop of 128 requests on 4 connections. Run it with
// -benchtime=10000x or more.
func BenchmarkH2(b *testing.B) {
	ctx := context.Background()
	for name, over := range h2Nginx(b) {
		for kind, window := range map[string]func(n int) Window{
			"rate": func(n int) Window { return Window{Rate: 2000, Duration: time.Duration(n) * time.Second / 2000} },
			"loop": func(n int) Window {
				return Window{InFlight: 128, Duration: max(time.Duration(n)*10*time.Microsecond, time.Millisecond)}
			},
		} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				g, _ := generatorProcess(b)
				spec, targets := over(Spec{Connections: 4, Streams: 32, MaxLate: time.Hour})
				require.NoError(b, g.Open(ctx, spec, targets))
				require.NoError(b, g.Connect(ctx))
				_, err := g.Run(ctx, window(100))
				require.NoError(b, err)
				b.ResetTimer()
				r, err := g.Run(ctx, window(b.N))
				require.NoError(b, err)
				c := r.Total()
				require.Zero(b, c.Failed+c.InFlightAtEnd)
				n := float64(max(c.Completed, 1))
				b.ReportMetric(0, "ns/op") // the rate, not a cost
				b.ReportMetric(float64(r.Generator.CPUNanoseconds)/n, "thread-cpu-ns/req")
				b.ReportMetric(float64(r.Generator.ProcessCPUNanoseconds)/n, "process-cpu-ns/req")
				b.ReportMetric(float64(r.Generator.Allocations)/n, "allocs/req")
				b.ReportMetric(float64(c.BytesOut)/n, "bytes-out/req")
				b.ReportMetric(float64(c.BytesIn)/n, "bytes-in/req")
			})
		}
	}
}

// BenchmarkH2Codec is the codec alone, without sockets: a request and its
// answer of a head and a body of 1 KiB.
func BenchmarkH2Codec(b *testing.B) {
	p := newH2Pair(b, testOptions())
	head := []byte{0x88, 0x5f, 0x87, 0x49, 0x7c, 0xa5, 0x8a, 0xe8, 0x19, 0xaa}
	answer := append(appendH2Header(nil, len(head), h2FrameHeaders, h2FlagEndHeaders, 0), head...)
	answer = append(appendH2Header(answer, 1024, h2FrameData, h2FlagEndStream, 0), make([]byte, 1024)...)
	data := h2FrameHeaderBytes + len(head)
	b.ReportAllocs()
	for b.Loop() {
		id := p.c.nextID
		if id > 1<<30 {
			b.Fatal("more than 2^29 requests")
		}
		p.c.start(0, 0)
		p.c.taken(len(p.c.pending()))
		for _, at := range []int{0, data} {
			answer[at+5], answer[at+6], answer[at+7], answer[at+8] = byte(id>>24), byte(id>>16), byte(id>>8), byte(id)
		}
		n, e, err := p.c.feed(answer)
		if err != nil || n != len(answer) || e.kind != h2Answered {
			b.Fatal(n, e, err)
		}
		p.c.release(0)
	}
}
