package loadgen

import "sync"

// progressSlot is where a worker leaves its part. The worker never waits for
// a reader: it leaves its part next time.
type progressSlot struct {
	mu sync.Mutex
	p  Progress
	_  [64]byte // slots of two workers share no cache line
}

func (s *progressSlot) load() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.p
}

// publish leaves the worker's part.
func (w *worker) publish(at int64) {
	if !w.progress.mu.TryLock() {
		return
	}
	p := Progress{AtNanoseconds: at}
	for k := range w.targets {
		t := &w.targets[k]
		if !t.wanted {
			continue
		}
		p.Scheduled += t.counts.Scheduled + t.warm.Scheduled
		p.Sent += t.counts.Sent + t.warm.Sent
		p.Overflow += t.counts.Overflow + t.warm.Overflow
		p.Completed += t.counts.Completed + t.warm.Completed
		p.Failed += t.counts.Failed + t.warm.Failed
		p.Waiting += int64(t.queue.count)
		p.InFlight += t.inFlight
		p.Open += int64(t.open)
	}
	w.progress.p = p
	w.progress.mu.Unlock()
}
