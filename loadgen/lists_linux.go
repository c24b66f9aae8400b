package loadgen

// The waiting list of a worker: requests and connects, oldest first. All have
// the same time-out, so the order of starting is the order of expiry.

func (w *worker) waitFor(r int32) {
	q := &w.requests[r]
	q.older, q.newer = w.newest, -1
	if w.newest >= 0 {
		w.requests[w.newest].newer = r
	} else {
		w.oldest = r
	}
	w.newest = r
}

func (w *worker) unlink(r int32) {
	q := &w.requests[r]
	if q.older >= 0 {
		w.requests[q.older].newer = q.newer
	} else {
		w.oldest = q.newer
	}
	if q.newer >= 0 {
		w.requests[q.newer].older = q.older
	} else {
		w.newest = q.older
	}
}

// ring is a queue of bounded length.
type ring[T any] struct {
	items       []T
	head, count int
}

func newRing[T any](size int) ring[T] { return ring[T]{items: make([]T, size)} }

func (r *ring[T]) push(item T) {
	r.items[(r.head+r.count)%len(r.items)] = item
	r.count++
}

func (r *ring[T]) pop() T {
	item := r.items[r.head]
	r.head = (r.head + 1) % len(r.items)
	r.count--
	return item
}
