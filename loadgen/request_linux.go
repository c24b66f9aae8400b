package loadgen

// request is a slot for one request after the other on its connection.
type request struct {
	busy     bool
	tries    uint8 // how often it was lost before
	conn     int32
	intended int64
	started  int64 // of the write, or of the connect (first slot of a connection)

	older, newer int32 // waiting list
	nextFree     int32 // list of free slots of a connection
}

// lostRequest waits to be sent again.
type lostRequest struct {
	intended int64
	tries    uint8
}

// maxTries is how often a request is written in all before it has failed as
// lost: twice where the connection was lost, because the server may have
// seen it, and more where the server says that it has not.
const (
	maxTries            = 2
	maxTriesUnprocessed = 4
)

// begin writes a request on connection i, which is ready. It is counted
// already.
func (w *worker) begin(i int32, intended, now int64, tries uint8) {
	c := &w.conns[i]
	r := w.takeSlot(c)
	q := &w.requests[r]
	q.busy, q.tries, q.intended, q.started = true, tries, intended, now
	c.active++
	if c.life != endlessLife {
		c.life--
	}
	w.refresh(i)
	w.waitFor(r)
	if c.h2 != nil {
		c.h2.request(w, i, r)
		w.markDirty(i)
	} else {
		w.h1Request(i)
	}
}

// complete judges a whole answer and frees its request.
func (w *worker) complete(r int32, status int, bodyBytes int64, noBody bool) {
	q := &w.requests[r]
	c := &w.conns[q.conn]
	c.answers++
	c.carried++
	switch {
	case status != w.spec.Expect.Status:
		w.fail(r, failStatus)
	case w.spec.Expect.BodyBytes != 0 && bodyBytes != w.spec.Expect.BodyBytes && !noBody:
		w.fail(r, failBody)
	default:
		now := w.clock.now()
		t := &w.targets[c.target]
		counts := t.countsOf(q.intended)
		counts.Completed++
		counts.BodyBytes += bodyBytes
		if counts == &t.counts {
			record(t.response, now-q.intended)
			record(t.service, now-q.started)
		}
		w.settle(r)
	}
}

// fail ends a request as failed in one class.
func (w *worker) fail(r int32, class failure) {
	q := &w.requests[r]
	t := &w.targets[w.conns[q.conn].target]
	t.countFailure(q.intended, class)
	w.settle(r)
}

func (t *workerTarget) countFailure(intended int64, class failure) {
	counts := t.countsOf(intended)
	counts.Failed++
	*counts.FailedBy.of(class)++
}

// countsOf are the counts that a request belongs to: those of the window, or
// of what went before it.
func (t *workerTarget) countsOf(intended int64) *Counts {
	if intended < t.measured {
		return &t.warm
	}
	return &t.counts
}

// settle frees a request that has ended.
func (w *worker) settle(r int32) {
	t := w.free(r)
	t.inFlight--
	w.inFlight--
}

// takeSlot is a free request slot of a connection that can take one. With
// HTTP/1.1 they are used in turn, in the order of the answers.
func (w *worker) takeSlot(c *conn) int32 {
	if c.h2 == nil {
		k := c.h1.head + c.active
		if k >= w.depth {
			k -= w.depth
		}
		return c.first + k
	}
	r := c.freeSlot
	c.freeSlot = w.requests[r].nextFree
	return r
}

// clearSlots makes every request slot of a connection free.
func (w *worker) clearSlots(c *conn) {
	c.active, c.freeSlot = 0, c.first
	for r := c.first; r < c.first+w.depth; r++ {
		w.requests[r].nextFree = r + 1
	}
}

// free takes a request off its connection.
func (w *worker) free(r int32) *workerTarget {
	q := &w.requests[r]
	c := &w.conns[q.conn]
	w.unlink(r)
	q.busy = false
	if c.h2 != nil {
		q.nextFree, c.freeSlot = c.freeSlot, r
	} else if c.h1.head++; c.h1.head == w.depth {
		c.h1.head = 0
	}
	c.active--
	w.refresh(q.conn)
	return &w.targets[c.target]
}

// giveBack takes a request back that the server says it has not processed.
func (w *worker) giveBack(r int32) { w.again(r, maxTriesUnprocessed) }

// again lets a lost request wait for a connection that takes it, up to as
// many tries.
func (w *worker) again(r int32, tries uint8) {
	q := &w.requests[r]
	if q.tries+1 >= tries {
		w.fail(r, failLost)
		return
	}
	t := w.free(r)
	t.lost.push(lostRequest{q.intended, q.tries + 1})
	w.waiting++
}

// serveWaiting writes what waits for a connection, lost requests first, on
// connections that can take one after all events of this round.
func (w *worker) serveWaiting() {
	for k := range w.targets {
		t := &w.targets[k]
		for t.lost.count > 0 && t.ready.count > 0 {
			q := t.lost.pop()
			w.waiting--
			t.countsOf(q.intended).Resent++
			w.begin(t.ready.pick(w.conns), q.intended, w.clock.now(), q.tries)
		}
		for t.queue.count > 0 && t.ready.count > 0 {
			intended := t.queue.pop()
			w.waiting--
			now := w.clock.now()
			if intended >= t.measured {
				record(t.queued, now-intended)
			}
			w.depart(t, intended)
			w.begin(t.ready.pick(w.conns), intended, now, 0)
		}
		// Nothing is open, nothing about to be, and the last attempt failed.
		if t.lost.count > 0 && t.open == 0 && t.backoff > 0 && t.opening == 0 {
			w.loseWaiting(t)
		}
	}
}

// loseWaiting gives up the lost requests that wait.
func (w *worker) loseWaiting(t *workerTarget) {
	for t.lost.count > 0 {
		q := t.lost.pop()
		w.waiting--
		t.countFailure(q.intended, failLost)
		t.inFlight--
		w.inFlight--
	}
}

// depart counts a request as sent.
func (w *worker) depart(t *workerTarget, intended int64) {
	t.countsOf(intended).Sent++
	t.inFlight++
	t.counts.MaxInFlight = max(t.counts.MaxInFlight, t.inFlight)
	w.inFlight++
	w.stats.maxInFlight = max(w.stats.maxInFlight, w.inFlight)
}

// expire fails what has waited for longer than the time-out.
func (w *worker) expire(now int64) {
	for w.oldest >= 0 && w.requests[w.oldest].started+int64(w.spec.Timeout) <= now {
		r := w.oldest
		i := w.requests[r].conn
		c := &w.conns[i]
		switch {
		case !w.requests[r].busy:
			w.connectFailed(i, &connectFailure{target: int(c.target), errno: errnoTimeout})
		case c.h2 != nil:
			c.h2.cancel(w, i, r)
			w.fail(r, failTimeout)
			w.markDirty(i)
			if c.active == 0 && (c.state == connClosing || c.life == 0) {
				w.finish(i)
			}
		default:
			w.h1Expired(i)
		}
	}
}

func (w *worker) nextExpiry() int64 {
	if w.oldest < 0 {
		return never
	}
	return w.requests[w.oldest].started + int64(w.spec.Timeout)
}

const never = 1<<63 - 1

// abandon counts what is unanswered at the end of a window and closes its
// connections, so that no late answer reaches the next window.
func (w *worker) abandon() {
	for i := range w.conns {
		c := &w.conns[i]
		if c.active == 0 {
			continue
		}
		t := &w.targets[c.target]
		for r := c.first; r < c.first+w.depth; r++ {
			if q := &w.requests[r]; q.busy {
				t.countsOf(q.intended).InFlightAtEnd++
				w.settle(r)
			}
		}
		w.close(int32(i))
	}
	for k := range w.targets {
		t := &w.targets[k]
		w.loseWaiting(t)
		for t.queue.count > 0 {
			counts := t.countsOf(t.queue.pop())
			w.waiting--
			counts.Overflow++
			counts.OverflowQueue++
		}
	}
}
