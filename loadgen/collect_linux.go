package loadgen

import (
	"fmt"
	"math"
	"os"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/tareperf/tare/internal/sys"
)

// report adds up what the parked workers hold.
func (g *Generator) report(w Window, s schedule) (Report, error) {
	r := Report{Window: w, Arrival: g.spec.Arrival, Choice: g.spec.Reuse}
	r.StartNanoseconds = g.workers[0].stats.start
	for _, index := range w.Targets {
		t, err := g.targetReport(index, w, s)
		if err != nil {
			return r, err
		}
		r.Targets = append(r.Targets, t)
	}
	cpus, err := sys.GetAffinity(g.workers[0].tid)
	if err != nil {
		return r, fmt.Errorf("loadgen: CPUs of worker 0: %w", err)
	}
	lateness := newHistogram()
	var batches [maxBatch + 1]int64
	r.Generator = GeneratorReport{Pid: os.Getpid(), Clock: "epoll_pwait2", CPUs: cpus}
	for _, k := range g.workers {
		r.Interrupted = r.Interrupted || k.stats.interrupted
		r.EndNanoseconds = max(r.EndNanoseconds, k.stats.end)
		if k.timerfd >= 0 {
			r.Generator.Clock = "timerfd"
		}
		lateness.Merge(k.stats.lateness)
		for size, n := range k.stats.batches {
			batches[size] += n
		}
		part := WorkerReport{
			Tid: k.tid, CPUNanoseconds: k.stats.cpu, WallNanoseconds: k.stats.end - k.stats.start,
			MaxInFlight: k.stats.maxInFlight, Waits: k.stats.waits,
		}
		for _, index := range w.Targets {
			part.Sent += k.targets[index].counts.Sent
		}
		r.Generator.CPUNanoseconds += part.CPUNanoseconds
		r.Generator.Workers = append(r.Generator.Workers, part)
	}
	for size, n := range batches {
		if n > 0 {
			r.Generator.Batches = append(r.Generator.Batches, Batch{Size: size, Count: n})
		}
	}
	r.Generator.Lateness, err = newDistribution(lateness)
	return r, err
}

func (g *Generator) targetReport(index int, w Window, s schedule) (TargetReport, error) {
	t := TargetReport{Index: index, Target: g.targets[index], AnswersLeast: math.MaxInt64}
	var warm Counts
	for _, k := range g.workers {
		part := &k.targets[index]
		for _, c := range k.conns[part.first : part.first+part.size] {
			t.AnswersMost = max(t.AnswersMost, c.carried)
			t.AnswersLeast = min(t.AnswersLeast, c.carried)
		}
		t.Counts.add(&part.counts)
		warm.add(&part.warm)
	}
	if s.lead.end > 0 {
		warm.Planned = warm.Scheduled
		t.WarmUp = &warm
	}
	t.Planned = int64(s.perTarget)
	if !w.open() {
		t.Planned = t.Scheduled
	}
	for _, d := range []struct {
		to *Distribution
		of func(*workerTarget) *hdrhistogram.Histogram
	}{
		{&t.Response, func(p *workerTarget) *hdrhistogram.Histogram { return p.response }},
		{&t.Service, func(p *workerTarget) *hdrhistogram.Histogram { return p.service }},
		{&t.Queue, func(p *workerTarget) *hdrhistogram.Histogram { return p.queued }},
		{&t.Handshake, func(p *workerTarget) *hdrhistogram.Histogram { return p.handshake }},
	} {
		if d.of(&g.workers[0].targets[index]) == nil { // nothing of the kind is recorded
			continue
		}
		sum := newHistogram()
		for _, k := range g.workers {
			sum.Merge(d.of(&k.targets[index]))
		}
		var err error
		if *d.to, err = newDistribution(sum); err != nil {
			return t, err
		}
	}
	return t, nil
}
