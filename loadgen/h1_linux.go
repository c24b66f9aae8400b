package loadgen

import "syscall"

// h1Conn is HTTP/1.1 on a connection: answers come in the order of requests.
type h1Conn struct {
	head   int32  // slot of the oldest request
	queued int32  // requests that are not in out yet
	out    []byte // what the kernel has not taken yet
	resp   response
}

func (w *worker) h1Start(c *conn) {
	c.h1.head, c.h1.queued, c.h1.out = 0, 0, nil
	c.h1.resp.reset(w.spec.Method == "HEAD")
	c.limit = w.depth
}

// h1Request adds a request to the output. Alone on its connection it is
// written at once.
func (w *worker) h1Request(i int32) {
	w.conns[i].h1.queued++
	if w.depth == 1 {
		w.flush(i)
	} else {
		w.markDirty(i)
	}
}

// h1Output is what is to be written next.
func (w *worker) h1Output(c *conn) []byte {
	h := &c.h1
	if len(h.out) == 0 && h.queued > 0 {
		t := &w.targets[c.target]
		if len(t.requests) > 1 {
			h.out = t.requests[t.nextSet()]
			h.queued--
		} else {
			h.out = t.block[:int(h.queued)*len(t.requests[0])]
			h.queued = 0
		}
	}
	return h.out
}

// h1Feed gives the answers their bytes; false means that the connection is
// closed.
func (w *worker) h1Feed(i int32, b []byte) bool {
	c := &w.conns[i]
	t := &w.targets[c.target]
	for len(b) > 0 {
		if c.active == 0 {
			t.counts.Unsolicited++
			w.close(i)
			return false
		}
		took, done, err := c.h1.resp.feed(b)
		b = b[took:]
		if err != nil || done && len(b) > 0 && c.active == 1 {
			w.fail(c.first+c.h1.head, failFraming)
			w.h1GiveBack(c)
			w.close(i)
			return false
		}
		if done && !w.h1Answered(i) {
			return false
		}
	}
	return true
}

// h1Answered takes a whole answer; false means that the connection is closed.
func (w *worker) h1Answered(i int32) bool {
	c := &w.conns[i]
	t := &w.targets[c.target]
	// An answer may come before its request is written; nothing can follow it.
	size := len(t.requests[0])
	early := len(c.h1.out)+int(c.h1.queued)*size > int(c.active-1)*size
	r := &c.h1.resp
	keepAlive := r.keepAlive
	w.complete(c.first+c.h1.head, r.status, r.bodyBytes, r.noBody)
	if keepAlive && !early {
		r.reset(r.noBody)
		return true
	}
	if !keepAlive && c.state == connOpen {
		t.counts.ConnectionsClosed++
	}
	w.h1GiveBack(c)
	w.close(i)
	return false
}

// h1GiveBack takes back the requests that a connection leaves unanswered.
func (w *worker) h1GiveBack(c *conn) {
	for c.active > 0 {
		w.again(c.first+c.h1.head, maxTries)
	}
}

// h1Ended gives each request of a connection that ended its end.
func (w *worker) h1Ended(i int32, errno syscall.Errno) {
	c := &w.conns[i]
	r := &c.h1.resp
	switch {
	case errno == 0 && r.end() == nil:
		w.complete(c.first+c.h1.head, r.status, r.bodyBytes, r.noBody)
	case r.started():
		w.fail(c.first+c.h1.head, failClosed)
	}
	for c.answers == 0 && c.active > 0 {
		w.fail(c.first+c.h1.head, failClosed)
	}
	w.h1GiveBack(c)
}

// h1Expired fails the oldest request of a connection, and with it the
// connection.
func (w *worker) h1Expired(i int32) {
	c := &w.conns[i]
	w.fail(c.first+c.h1.head, failTimeout)
	w.h1GiveBack(c)
	w.close(i)
}
