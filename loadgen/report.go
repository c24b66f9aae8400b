package loadgen

import "fmt"

// Report is what one Window did, and what the generator itself cost.
type Report struct {
	// StartNanoseconds is the start of the first slot; EndNanoseconds is when
	// the window's duration was over and no request was in flight any more.
	// Both are on CLOCK_MONOTONIC.
	StartNanoseconds int64 `json:"start_ns"`
	EndNanoseconds   int64 `json:"end_ns"`
	// Interrupted is true when the context ended the window early. What was
	// not due by then is neither sent nor overflow, and the drain was at
	// most one second.
	Interrupted bool `json:"interrupted,omitempty"`
	// Window is the window with its defaults filled in.
	Window Window `json:"window"`
	// Arrival and Choice are conditions: the shape of arrivals, and how a
	// connection is chosen ("round-robin" over the idle ones).
	Arrival Arrival `json:"arrival"`
	Choice  string  `json:"choice"`
	// Targets are in the order of Window.Targets.
	Targets   []TargetReport  `json:"targets"`
	Generator GeneratorReport `json:"generator"`
}

// TargetReport is what one target was sent and answered.
type TargetReport struct {
	Index  int `json:"index"` // into the targets of the generator
	Target     // its name and address
	Counts
	// Response is from the intended time to the last byte of the answer,
	// Service from the write to the last byte, of completed requests.
	Response Distribution `json:"response_ns"`
	Service  Distribution `json:"service_ns"`
}

// Counts are exact. Scheduled = Sent + Overflow, and
// Sent = Completed + Failed + InFlightAtEnd.
type Counts struct {
	// Planned is what the whole window would schedule.
	Planned int64 `json:"planned"`
	// Scheduled is arrivals that were due: Planned, unless interrupted.
	Scheduled int64 `json:"scheduled"`
	// Sent is arrivals that were written to a connection, each once.
	Sent int64 `json:"sent"`
	// Overflow is arrivals that were not sent at all, because
	Overflow     int64 `json:"overflow"`
	OverflowBusy int64 `json:"overflow_busy"` // every open connection had a request in flight
	OverflowDown int64 `json:"overflow_down"` // no connection was open
	OverflowLate int64 `json:"overflow_late"` // the generator woke more than MaxLate too late

	Completed     int64    `json:"completed"` // right answers
	Failed        int64    `json:"failed"`
	FailedBy      Failures `json:"failed_by"`
	InFlightAtEnd int64    `json:"in_flight_at_end"`
	MaxInFlight   int64    `json:"max_in_flight"` // with several workers, the sum of each one's own

	// Resent is requests that were lost on a reused connection, which the
	// server closed before a byte of the answer, and were written again.
	// Each counts once above, and the server may have seen it twice.
	Resent int64 `json:"resent"`

	// ConnectionsOpened are those that replaced others inside the window,
	// ConnectionsBefore those opened since the window before, by Connect or
	// as replacements.
	ConnectionsOpened int64 `json:"connections_opened"`
	ConnectionsBefore int64 `json:"connections_before"`
	// ConnectionsClosed are those the server closed, or asked to close, in
	// the window; ConnectionsClosedBefore, since the window before.
	ConnectionsClosed       int64 `json:"connections_closed"`
	ConnectionsClosedBefore int64 `json:"connections_closed_before"`
	// ConnectFailures are attempts inside the window that failed.
	ConnectFailures int64 `json:"connect_failures"`
	// Unsolicited is connections that were given up for bytes that answered
	// no request.
	Unsolicited int64 `json:"unsolicited"`

	BytesOut  int64 `json:"bytes_out"`  // of requests, as written
	BytesIn   int64 `json:"bytes_in"`   // of answers, heads included
	BodyBytes int64 `json:"body_bytes"` // of completed answers
}

// Failures are the failed requests by class; each is in exactly one.
type Failures struct {
	Status  int64 `json:"status"`  // another status than expected
	Body    int64 `json:"body"`    // another body length than expected
	Framing int64 `json:"framing"` // not a well-formed answer
	Closed  int64 `json:"closed"`  // the connection ended or broke inside the answer, or before one on a fresh connection
	Lost    int64 `json:"lost"`    // a reused connection ended before a byte of the answer, and it could not be sent again
	Timeout int64 `json:"timeout"` // no whole answer within Spec.Timeout
}

// Total is the sum over the classes.
func (f Failures) Total() int64 {
	return f.Status + f.Body + f.Framing + f.Closed + f.Lost + f.Timeout
}

// Check returns an error that names the identity that does not hold, with
// its numbers.
func (c Counts) Check() error {
	switch {
	case c.Scheduled != c.Sent+c.Overflow:
		return fmt.Errorf("loadgen: scheduled %d is not sent %d + overflow %d: the report cannot be trusted", c.Scheduled, c.Sent, c.Overflow)
	case c.Sent != c.Completed+c.Failed+c.InFlightAtEnd:
		return fmt.Errorf("loadgen: sent %d is not completed %d + failed %d + in flight at end %d: the report cannot be trusted", c.Sent, c.Completed, c.Failed, c.InFlightAtEnd)
	case c.Failed != c.FailedBy.Total():
		return fmt.Errorf("loadgen: failed %d is not the %d of its classes: the report cannot be trusted", c.Failed, c.FailedBy.Total())
	case c.Overflow != c.OverflowBusy+c.OverflowDown+c.OverflowLate:
		return fmt.Errorf("loadgen: overflow %d is not busy %d + down %d + late %d: the report cannot be trusted", c.Overflow, c.OverflowBusy, c.OverflowDown, c.OverflowLate)
	case c.Scheduled > c.Planned:
		return fmt.Errorf("loadgen: scheduled %d is above planned %d: the report cannot be trusted", c.Scheduled, c.Planned)
	}
	return nil
}

// Total adds up the counts of all targets.
func (r Report) Total() Counts {
	var sum Counts
	for i := range r.Targets {
		sum.add(&r.Targets[i].Counts)
	}
	return sum
}

// Check checks the identities of every target.
func (r Report) Check() error {
	for _, t := range r.Targets {
		if err := t.Counts.Check(); err != nil {
			return fmt.Errorf("target %q: %w", t.Name, err)
		}
	}
	return nil
}

func (c *Counts) add(o *Counts) {
	for _, p := range [][2]*int64{
		{&c.Planned, &o.Planned}, {&c.Scheduled, &o.Scheduled}, {&c.Sent, &o.Sent},
		{&c.Overflow, &o.Overflow}, {&c.OverflowBusy, &o.OverflowBusy}, {&c.OverflowDown, &o.OverflowDown}, {&c.OverflowLate, &o.OverflowLate},
		{&c.Completed, &o.Completed}, {&c.Failed, &o.Failed},
		{&c.FailedBy.Status, &o.FailedBy.Status}, {&c.FailedBy.Body, &o.FailedBy.Body}, {&c.FailedBy.Framing, &o.FailedBy.Framing},
		{&c.FailedBy.Closed, &o.FailedBy.Closed}, {&c.FailedBy.Lost, &o.FailedBy.Lost}, {&c.FailedBy.Timeout, &o.FailedBy.Timeout},
		{&c.InFlightAtEnd, &o.InFlightAtEnd}, {&c.MaxInFlight, &o.MaxInFlight}, {&c.Resent, &o.Resent},
		{&c.ConnectionsOpened, &o.ConnectionsOpened}, {&c.ConnectionsBefore, &o.ConnectionsBefore},
		{&c.ConnectionsClosed, &o.ConnectionsClosed}, {&c.ConnectionsClosedBefore, &o.ConnectionsClosedBefore},
		{&c.ConnectFailures, &o.ConnectFailures}, {&c.Unsolicited, &o.Unsolicited},
		{&c.BytesOut, &o.BytesOut}, {&c.BytesIn, &o.BytesIn}, {&c.BodyBytes, &o.BodyBytes},
	} {
		*p[0] += *p[1]
	}
}

// GeneratorReport is what the generator says about itself.
type GeneratorReport struct {
	Pid     int            `json:"pid"`
	Workers []WorkerReport `json:"workers"`
	// CPUNanoseconds is the CPU time of all worker threads from the start to
	// the end of the window, ProcessCPUNanoseconds that of the whole process
	// with its set-up.
	CPUNanoseconds        int64 `json:"cpu_ns"`
	ProcessCPUNanoseconds int64 `json:"process_cpu_ns"`
	// Lateness is from the intended time to the write, of sent arrivals.
	Lateness Distribution `json:"lateness_ns"`
	// Batches says how many arrivals were written without waiting between
	// them; 1 is one arrival at a time. The last size stands for all above.
	Batches []Batch `json:"batches"`
	// GarbageCollections is how many ended within the window. In a process
	// of its own (Serve) collection is off in the window.
	GarbageCollections int64 `json:"garbage_collections"`
	// Allocations is the heap objects that the whole process allocated in
	// the window: a few for its start and end, none for a request.
	Allocations int64 `json:"allocations"`
	// Clock is the call that waits: "epoll_pwait2", or "timerfd" on kernels
	// before 5.11.
	Clock string `json:"clock"`
}

// Batch counts batches of one size.
type Batch struct {
	Size  int   `json:"size"`
	Count int64 `json:"count"`
}

// WorkerReport is one thread's part.
type WorkerReport struct {
	Tid             int   `json:"tid"`
	CPUNanoseconds  int64 `json:"cpu_ns"`
	WallNanoseconds int64 `json:"wall_ns"`
	Sent            int64 `json:"sent"`
	MaxInFlight     int64 `json:"max_in_flight"`
	Waits           int64 `json:"waits"` // blocking waits
}

// BusyShare is the part of its wall time that the busiest worker ran on a
// CPU, 0 to 1.
func (g GeneratorReport) BusyShare() float64 {
	share := 0.0
	for _, w := range g.Workers {
		if w.WallNanoseconds > 0 {
			share = max(share, float64(w.CPUNanoseconds)/float64(w.WallNanoseconds))
		}
	}
	return share
}
