package loadgen

import (
	"runtime"
	"sync/atomic"
	"syscall"

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

	targets  []workerTarget
	conns    []conn
	requests []request
	depth    int32   // requests for each connection
	dirty    []int32 // connections to flush after this round
	named    []Target
	tls      *handshaker // nil = plain
	events   []sys.EpollEvent
	buf      []byte
	jobs     chan job
	results  chan error

	// Waiting list of requests and connects, oldest first: all have the same
	// time-out, so the order of starting is the order of expiry.
	oldest, newest int32

	interrupt   atomic.Bool // set from outside, looked at on a wake event
	interrupted bool
	inFlight    int64           // requests that were sent and have not ended
	waiting     int64           // lost requests and queued arrivals, which wait for a connection
	closedUntil int64           // end of a closed loop; 0 = none
	filling     bool            // a connect that fails is an error of the job
	connectErr  *connectFailure // the first such

	stats    workerStats
	progress *progressSlot
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
	requests    [][]byte // HTTP/1.1, one for each set of headers
	block       []byte   // the first of them as often as fits on a connection
	set         int      // the last one used
	first, size int32    // its connections in worker.conns
	ready       readySet
	open        int32   // connections that are open
	opening     int32   // and that are about to be
	down        []int32 // connections to open again, used as a queue of size entries
	downHead    int32
	downCount   int32
	urgent      int32 // connections to open at once
	nextOpen    int64 // not before this time
	backoff     int64
	wanted      bool // by the window: only then its connections are replaced
	inFlight    int64
	inFlightMax int64             // of a closed loop
	lost        ring[lostRequest] // to be sent again
	queue       ring[int64]       // arrivals that wait, by their intended time
	measured    int64             // requests intended before belong to warm
	counts      Counts
	warm        Counts
	atEnd       Counts     // of the last window, which are reported already
	h2          *h2Options // what its HTTP/2 connections share
	response    *hdrhistogram.Histogram
	service     *hdrhistogram.Histogram
	queued      *hdrhistogram.Histogram // nil without a queue
	handshake   *hdrhistogram.Histogram // nil without TLS
}

// nextSet is the set of headers for the next request.
func (t *workerTarget) nextSet() int {
	if t.set++; t.set >= len(t.requests) {
		t.set = 0
	}
	return t.set
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
	start    int64 // jobRun, of the lead
	cursor   *cursor
	measured int64 // jobRun: start of the measured part
	end      int64 // jobRun: end of the schedule
	drain    int64
	inFlight int   // jobRun: of a closed loop, for each target
	publish  int64 // jobRun: how often progress is left; 0 = never
}

// serve is the worker's thread.
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
	// The thread goes back to the runtime as it was. If it ended, children
	// that were forked on it with PR_SET_PDEATHSIG would die.
	_ = sys.SetTimerSlack(0)
	runtime.UnlockOSThread()
	w.results <- nil
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
			w.woken()
		case timerToken:
		default:
			w.handle(event.Fd, event.Events)
		}
	}
	w.flushDirty()
	if w.waiting > 0 {
		w.serveWaiting()
		w.flushDirty()
	}
}

// woken is what another thread wants.
func (w *worker) woken() {
	w.interrupted = w.interrupt.Load()
	if w.tls != nil {
		w.handshakesDone()
	}
}

func (w *worker) isH2() bool { return w.spec.isH2() }
