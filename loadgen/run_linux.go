package loadgen

import (
	"time"

	"github.com/tareperf/tare/internal/sys"
)

// run sends the worker's arrivals and waits for the answers. Time inside is
// spent in the calls to the kernel; everything else was prepared.
func (w *worker) run(j job) error {
	w.prepare(j)
	defer func() { w.closedUntil = 0 }()
	measuring := j.measured == j.start
	cpuBefore, err := sys.ThreadCPUClock(w.tid)
	if err != nil {
		return err
	}
	c := j.cursor
	drainEnd := j.end + j.drain
	offset, target, more := c.next()
	next := j.start + offset
	batch := 0
	nextPublish := int64(never)
	if j.publish > 0 {
		nextPublish = j.start
	}
	for {
		now := w.clock.now()
		if !measuring && now >= j.measured {
			measuring, batch = true, 0
			if cpuBefore, err = w.measure(j, now); err != nil {
				return err
			}
		}
		if j.inFlight > 0 && w.closedUntil == 0 && now >= j.start && now < j.end && !w.interrupted {
			w.closedUntil = j.end
		}
		if now >= nextPublish {
			w.publish(now - j.measured)
			nextPublish = now + j.publish
		}
		released := 0
		for more && next <= now && released < maxRelease && !w.interrupted && (measuring || next < j.measured) {
			if w.arrive(target, next, now) && next >= j.measured {
				batch++
			}
			released++
			// The last arrival may lie behind the end, in a slot that rounding
			// up the count has added.
			drainEnd = max(drainEnd, next+j.drain)
			offset, target, more = c.next()
			next = j.start + offset
			now = w.clock.now()
		}
		if len(w.dirty) > 0 {
			w.flushDirty()
		}
		due := more && next <= now
		if !due && batch > 0 {
			w.stats.batches[min(batch, maxBatch)]++
			batch = 0
		}
		if w.interrupted && !w.stats.interrupted {
			w.stats.interrupted = true
			more, due, w.closedUntil = false, false, 0
			drainEnd = min(drainEnd, now+int64(time.Second))
		}
		if w.closedUntil != 0 {
			w.refillAll()
		}
		w.expire(now)
		if w.waiting > 0 { // what the writes above have lost
			w.serveWaiting()
			w.flushDirty()
		}
		quiet := w.inFlight+w.waiting == 0 && (now >= j.end || w.interrupted)
		if !more && (quiet || now >= drainEnd) {
			break
		}
		until := drainEnd
		switch {
		case more:
			until = next
		case now < j.start:
			until = j.start
		case now < j.end && (w.closedUntil != 0 || w.inFlight+w.waiting == 0): // a window lasts its duration, so that counts over it are rates
			until = j.end
		}
		if !measuring {
			until = min(until, j.measured)
		}
		until = min(until, w.reopen(now), w.nextExpiry())
		if due {
			until = now
		}
		w.poll(until, now)
	}
	if j.publish > 0 {
		w.publish(w.clock.now() - j.measured)
	}
	w.abandon()
	if w.tls != nil {
		for i := range w.conns {
			w.countCipherBytes(&w.conns[i])
		}
	}
	w.stats.start, w.stats.end = j.measured, max(w.clock.now(), j.measured)
	for k := range w.targets {
		if t := &w.targets[k]; t.wanted {
			t.atEnd = t.counts
		}
	}
	cpuAfter, err := sys.ThreadCPUClock(w.tid)
	w.stats.cpu = cpuAfter - cpuBefore
	return err
}

// prepare sets up the targets for a window.
func (w *worker) prepare(j job) {
	for k := range w.targets {
		t := &w.targets[k]
		t.measured = j.start // with a lead: never, until it is over
		if j.measured > j.start {
			t.measured = never
		}
		t.inFlightMax = 0
		if t.wanted && j.inFlight > 0 {
			t.inFlightMax = w.part(int64(j.inFlight))
		}
	}
}

// part is the worker's part of n things, in proportion to its connections.
func (w *worker) part(n int64) int64 {
	total, before, own := int64(w.spec.Connections), int64(0), int64(0)
	for id := 0; id <= w.id; id++ {
		before += own
		own = int64((w.spec.Connections - id + w.spec.Workers - 1) / w.spec.Workers)
	}
	return n*(before+own)/total - n*before/total
}

// measure begins the measured part: what was counted until now is of the
// warm-up.
func (w *worker) measure(j job, now int64) (cpu int64, err error) {
	for k := range w.targets {
		t := &w.targets[k]
		if !t.wanted {
			continue
		}
		t.measured = j.measured
		if j.inFlight > 0 { // what was sent until now was counted before
			t.measured = now + 1
		}
		c := &t.counts
		next := Counts{
			ConnectionsBefore:       c.ConnectionsBefore + c.ConnectionsOpened,
			ConnectionsClosedBefore: c.ConnectionsClosedBefore + c.ConnectionsClosed,
			HandshakesFullBefore:    c.HandshakesFullBefore + c.HandshakesFull,
			HandshakesResumedBefore: c.HandshakesResumedBefore + c.HandshakesResumed,
			MaxInFlight:             t.inFlight,
		}
		t.warm.add(c)
		t.counts = next
		if t.handshake != nil {
			t.handshake.Reset()
		}
	}
	for i := range w.conns {
		w.conns[i].carried = 0
	}
	w.stats.lateness.Reset()
	w.stats = workerStats{lateness: w.stats.lateness, maxInFlight: w.inFlight}
	return sys.ThreadCPUClock(w.tid)
}

// arrive sends one arrival, or lets it wait, or counts it as overflow; it
// tells whether it was sent.
func (w *worker) arrive(target int, intended, now int64) bool {
	t := &w.targets[target]
	counts := t.countsOf(intended)
	counts.Scheduled++
	if now-intended > int64(w.spec.MaxLate) {
		counts.Overflow++
		counts.OverflowLate++
		return false
	}
	if t.lost.count+t.queue.count > 0 { // they come first
		w.serveWaiting()
	}
	i := t.ready.pick(w.conns)
	switch {
	case i >= 0:
	case t.queue.count < len(t.queue.items):
		counts.Queued++
		t.queue.push(intended)
		w.waiting++
		return false
	case t.open == 0:
		counts.Overflow++
		counts.OverflowDown++
		return false
	default:
		counts.Overflow++
		counts.OverflowBusy++
		return false
	}
	if intended >= t.measured {
		record(w.stats.lateness, now-intended)
	}
	w.depart(t, intended)
	w.begin(i, intended, now, 0)
	return true
}

// refill keeps the requests of a closed loop in flight.
func (w *worker) refill(t *workerTarget) {
	for t.ready.count > 0 && t.inFlight < t.inFlightMax && t.lost.count == 0 {
		now := w.clock.now()
		if now >= w.closedUntil {
			return
		}
		t.countsOf(now).Scheduled++
		w.depart(t, now)
		w.begin(t.ready.pick(w.conns), now, now, 0)
	}
}

func (w *worker) refillAll() {
	for k := range w.targets {
		w.refill(&w.targets[k])
	}
	w.flushDirty()
}
