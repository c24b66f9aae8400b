package loadgen

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

const (
	wakeToken  = -1 // epoll tokens below zero are no connections
	timerToken = -2

	maxRelease = 64 // arrivals written before answers are read again
	maxBatch   = 64 // largest size that has a count of its own
)

// worker is one sending thread with connections of its own. Between jobs it
// sleeps on a channel; inside a job it uses neither channel, lock nor heap.
type worker struct {
	id      int
	tid     int
	epfd    int
	wakefd  int // made readable to interrupt a job
	timerfd int // -1 where epoll_pwait2 works
	clock   monotonic
	spec    Spec

	// Waits shorter than this keep the worker's processor of the Go
	// scheduler: 0 in a process that has other work for it.
	holdBelow int64

	targets []workerTarget
	conns   []conn
	events  []sys.EpollEvent
	buf     []byte
	jobs    chan job
	results chan error

	// Waiting list of requests and connects, oldest first: all have the same
	// time-out, so the order of starting is the order of expiry.
	oldest, newest int32
	lost           []lostRequest // to be sent again after this round of events

	interrupt   atomic.Bool // set from outside, looked at on a wake event
	interrupted bool
	inFlight    int64
	filling     bool            // a connect that fails is an error of the job
	connectErr  *connectFailure // the first such

	stats workerStats
}

// workerStats is what one window adds up; it is reset before each.
type workerStats struct {
	interrupted bool
	maxInFlight int64
	waits       int64
	cpu         int64
	start, end  int64
	batches     [maxBatch + 1]int64
	lateness    *hdrhistogram.Histogram
}

// workerTarget is a worker's share of one target.
type workerTarget struct {
	address     sys.SocketAddress
	request     []byte
	first, size int32 // its connections in worker.conns
	turn        int32 // round robin: the last one used
	idle, open  int32
	down        []int32 // connections to open again, used as a queue of size entries
	downHead    int32
	downCount   int32
	nextOpen    int64 // not before this time
	backoff     int64
	wanted      bool // by the window: only then its connections are replaced
	inFlight    int64
	counts      Counts
	openedAtEnd int64 // counts of the last window, which are reported already
	closedAtEnd int64
	response    *hdrhistogram.Histogram
	service     *hdrhistogram.Histogram
}

type lostRequest struct {
	target   int32
	intended int64
}

type jobKind uint8

const (
	jobFill  jobKind = iota // open what is not open
	jobClear                // reset the statistics
	jobRun
)

type job struct {
	kind     jobKind
	targets  []int // jobFill: which
	deadline int64 // jobFill: give up then
	start    int64 // jobRun
	cursor   *cursor
	end      int64 // jobRun: end of the schedule
	drain    int64
}

// serve is the worker's thread. The thread ends with it: it stays locked.
func (w *worker) serve() {
	runtime.LockOSThread()
	w.tid = unix.Gettid()
	// Without this the kernel may wake the thread 50 microseconds late. A
	// refusal costs accuracy only, which the lateness shows.
	_ = sys.SetTimerSlack(1)
	for j := range w.jobs {
		w.interrupted = w.interrupt.Load()
		switch j.kind {
		case jobFill:
			w.results <- w.fill(j)
		case jobClear:
			w.clear()
			w.results <- nil
		case jobRun:
			w.results <- w.run(j)
		}
	}
	w.closeAll()
	w.results <- nil
}

// run sends the worker's arrivals and waits for the answers. Time inside is
// spent in the calls to the kernel; everything else was prepared.
func (w *worker) run(j job) error {
	cpuBefore, err := sys.ThreadCPUClock(w.tid)
	if err != nil {
		return err
	}
	c := j.cursor
	drainEnd := j.end + j.drain
	offset, target, more := c.next()
	next := j.start + offset
	batch := 0
	for {
		now := w.clock.now()
		released := 0
		for more && next <= now && released < maxRelease && !w.interrupted {
			if w.arrive(target, next, now) {
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
		due := more && next <= now
		if !due && batch > 0 {
			w.stats.batches[min(batch, maxBatch)]++
			batch = 0
		}
		if w.interrupted && !w.stats.interrupted {
			w.stats.interrupted = true
			more, due = false, false
			drainEnd = min(drainEnd, now+int64(time.Second))
		}
		w.expire(now)
		quiet := w.inFlight == 0 && (now >= j.end || w.interrupted)
		if !more && (quiet || now >= drainEnd) {
			break
		}
		until := drainEnd
		switch {
		case more:
			until = next
		case w.inFlight == 0: // a window lasts its duration, so that counts over it are rates
			until = j.end
		}
		until = min(until, w.reopen(now), w.nextExpiry())
		if due {
			until = now
		}
		w.poll(until, now)
	}
	w.abandon()
	w.stats.start, w.stats.end = j.start, w.clock.now()
	for k := range w.targets {
		if t := &w.targets[k]; t.wanted {
			t.openedAtEnd, t.closedAtEnd = t.counts.ConnectionsOpened, t.counts.ConnectionsClosed
		}
	}
	cpuAfter, err := sys.ThreadCPUClock(w.tid)
	w.stats.cpu = cpuAfter - cpuBefore
	return err
}

// poll serves what has happened, waiting for it up to the time until.
func (w *worker) poll(until, now int64) {
	var n int
	var errno syscall.Errno
	switch {
	case until <= now:
		n, errno = sys.EpollPoll(w.epfd, w.events)
	case w.timerfd < 0 && until-now < w.holdBelow:
		w.stats.waits++
		n, errno = sys.EpollWaitHolding(w.epfd, w.events, until-now)
	case w.timerfd < 0:
		w.stats.waits++
		n, errno = sys.EpollWaitNanoseconds(w.epfd, w.events, until-now)
	default:
		w.stats.waits++
		_ = sys.TimerFDSet(w.timerfd, until) // fails for a bad descriptor only
		n, errno = sys.EpollWaitMilliseconds(w.epfd, w.events, -1)
	}
	if errno != 0 { // EINTR: the caller looks at the clock and comes again
		return
	}
	for i := range w.events[:n] {
		event := &w.events[i]
		switch event.Fd {
		case wakeToken:
			w.interrupted = w.interrupt.Load()
		case timerToken:
		default:
			w.handle(event.Fd, event.Events)
		}
	}
	if len(w.lost) > 0 {
		w.resendLost()
	}
}

// arrive sends one arrival or counts it as overflow; it tells which.
func (w *worker) arrive(target int, intended, now int64) bool {
	t := &w.targets[target]
	t.counts.Scheduled++
	if now-intended > int64(w.spec.MaxLate) {
		t.counts.Overflow++
		t.counts.OverflowLate++
		return false
	}
	i := t.pick(w.conns)
	if i < 0 {
		t.counts.Overflow++
		if t.open == 0 {
			t.counts.OverflowDown++
		} else {
			t.counts.OverflowBusy++
		}
		return false
	}
	record(w.stats.lateness, now-intended)
	t.counts.Sent++
	t.inFlight++
	t.counts.MaxInFlight = max(t.counts.MaxInFlight, t.inFlight)
	w.inFlight++
	w.stats.maxInFlight = max(w.stats.maxInFlight, w.inFlight)
	w.send(i, intended, now, false)
	if len(w.lost) > 0 {
		w.resendLost()
	}
	return true
}

// pick is the next idle connection in turn, or -1.
func (t *workerTarget) pick(conns []conn) int32 {
	if t.idle == 0 {
		return -1
	}
	for {
		if t.turn++; t.turn >= t.size {
			t.turn = 0
		}
		if i := t.first + t.turn; conns[i].state == connIdle {
			return i
		}
	}
}
