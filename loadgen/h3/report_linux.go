package h3

import (
	"fmt"
	"os"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/tareperf/tare/loadgen"
)

// Histograms are as in package loadgen, so that they merge.
const highest = 3_600_000_000_000

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, highest, 3) }

func record(h *hdrhistogram.Histogram, nanoseconds int64) {
	_ = h.RecordValue(min(max(nanoseconds, 0), highest)) // cannot fail within the bounds
}

func distribution(h *hdrhistogram.Histogram) (loadgen.Distribution, error) {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return loadgen.Distribution{}, fmt.Errorf("h3: encode histogram: %w", err)
	}
	return loadgen.MergeDistributions(loadgen.Distribution{Count: h.TotalCount(), Histogram: string(encoded)})
}

// clear starts the statistics of a new window.
func (g *Generator) clear(targets []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k := range g.phase {
		g.phase[k] = phase{lateness: newHistogram()}
	}
	for _, i := range targets {
		t := g.targets[i]
		t.counts, t.active = [2]loadgen.Counts{}, [2]int64{}
		t.response.Reset()
		t.service.Reset()
		t.handshake.Reset()
		t.atStart = t.now()
		for _, c := range t.conns {
			c.answers = 0
		}
	}
}

// now is the totals with the bytes of connections that are open.
func (t *target) now() connections {
	n := t.totals
	for _, c := range t.conns {
		if c.stats != nil {
			out, in := c.stats()
			n.bytesOut += out
			n.bytesIn += in
		}
	}
	return n
}

// report adds what the window counted to r.
func (run *window) report(r *loadgen.Report, planned map[int]int64) error {
	run.mu.Lock()
	defer run.mu.Unlock()
	for _, index := range run.Targets {
		t, err := run.targetReport(index, planned[index])
		if err != nil {
			return err
		}
		r.Targets = append(r.Targets, t)
	}
	own := &r.Generator
	own.Pid, own.Clock = os.Getpid(), run.clock
	own.CPUNanoseconds = own.ProcessCPUNanoseconds
	own.Workers = []loadgen.WorkerReport{{
		Tid: run.tid, CPUNanoseconds: own.ProcessCPUNanoseconds, WallNanoseconds: r.EndNanoseconds - r.StartNanoseconds,
		Sent: r.Total().Sent, MaxInFlight: run.phase[1].maxInFlight, Waits: run.waits,
	}}
	for size, n := range run.batches {
		own.Batches = append(own.Batches, loadgen.Batch{Size: size, Count: n})
	}
	slices.SortFunc(own.Batches, func(a, b loadgen.Batch) int { return a.Size - b.Size })
	var err error
	own.Lateness, err = distribution(run.phase[1].lateness)
	return err
}

func (run *window) targetReport(index int, planned int64) (loadgen.TargetReport, error) {
	t := run.targets[index]
	r := loadgen.TargetReport{Index: index, Target: t.Target, Counts: t.counts[1]}
	r.Planned = planned
	end := t.now()
	r.ConnectionsBefore = t.atStart.opened - t.atEnd.opened
	r.ConnectionsClosedBefore = t.atStart.closed - t.atEnd.closed
	r.ConnectionsOpened = end.opened - t.atStart.opened
	r.ConnectionsClosed = end.closed - t.atStart.closed
	r.ConnectFailures = end.failed - t.atStart.failed
	a, b := end.failedBy, t.atStart.failedBy
	r.ConnectFailuresBy = loadgen.ConnectFailures{
		Refused: a.Refused - b.Refused, LocalPort: a.LocalPort - b.LocalPort, Files: a.Files - b.Files,
		Timeout: a.Timeout - b.Timeout, TLS: a.TLS - b.TLS, Other: a.Other - b.Other,
	}
	r.HandshakesFull, r.HandshakesFullBefore = r.ConnectionsOpened, r.ConnectionsBefore
	r.HandshakesFailed = end.tlsFailed - t.atStart.tlsFailed
	r.TLSBytesOut, r.TLSBytesIn = end.bytesOut-t.atStart.bytesOut, end.bytesIn-t.atStart.bytesIn
	r.BytesOut, r.BytesIn, r.HeaderBytesOut, r.HeaderBytesIn = -1, -1, -1, -1 // not known
	t.atEnd = end
	if run.lead > 0 {
		warm := t.counts[0]
		r.WarmUp = &warm
	}
	r.AnswersLeast = t.conns[0].answers
	for _, c := range t.conns {
		r.AnswersLeast, r.AnswersMost = min(r.AnswersLeast, c.answers), max(r.AnswersMost, c.answers)
	}
	for _, d := range []struct {
		to   *loadgen.Distribution
		from *hdrhistogram.Histogram
	}{{&r.Response, t.response}, {&r.Service, t.service}, {&r.Handshake, t.handshake}, {&r.Queue, newHistogram()}} {
		var err error
		if *d.to, err = distribution(d.from); err != nil {
			return r, err
		}
	}
	return r, nil
}
