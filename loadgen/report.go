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
	// Arrival and Choice are conditions: the shape of arrivals, and which
	// connection is chosen of those that can take a request.
	Arrival Arrival `json:"arrival"`
	Choice  Reuse   `json:"choice"`
	// Warnings are those of Warnings.
	Warnings []string `json:"warnings,omitempty"`
	// Targets are in the order of Window.Targets.
	Targets   []TargetReport  `json:"targets"`
	Generator GeneratorReport `json:"generator"`
}

// TargetReport is what one target was sent and answered.
type TargetReport struct {
	Index  int `json:"index"` // into the targets of the generator
	Target     // its name and address
	Counts
	// WarmUp is what was counted in the ramp and the warm-up, and of requests
	// of theirs that ended later. Nothing of it is in Counts.
	WarmUp *Counts `json:"warm_up,omitempty"`
	// AnswersLeast and AnswersMost are the answers on the connection that
	// carried fewest and most, right and wrong ones; one that replaced another
	// goes on with its number.
	AnswersLeast int64 `json:"answers_least"`
	AnswersMost  int64 `json:"answers_most"`
	// Response is from the intended time to the last byte of the answer,
	// Service from the write to the last byte, of completed requests.
	Response Distribution `json:"response_ns"`
	Service  Distribution `json:"service_ns"`
	// Queue is how long arrivals waited for a connection, of those that did.
	Queue Distribution `json:"queue_ns"`
	// Handshake is from the connection to the end of the TLS handshake, of
	// those that succeeded in the window.
	Handshake Distribution `json:"handshake_ns"`
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

// GeneratorReport is what the generator says about itself.
type GeneratorReport struct {
	Pid     int            `json:"pid"`
	Workers []WorkerReport `json:"workers"`
	// CPUNanoseconds is the CPU time of all worker threads from the start to
	// the end of the window, ProcessCPUNanoseconds that of the whole process
	// with its set-up.
	CPUNanoseconds        int64 `json:"cpu_ns"`
	ProcessCPUNanoseconds int64 `json:"process_cpu_ns"`
	// HandshakeCPUNanoseconds is the CPU time of the threads that shake TLS
	// hands. It is part of the process's, not of the workers'.
	HandshakeCPUNanoseconds int64 `json:"handshake_cpu_ns"`
	// CPUs are those that the workers may run on. CPUsIdleShare is the part of
	// their time in which they ran nothing at all, of the generator or
	// others; Headroom the lesser of it and the part that the busiest worker
	// did not run. Both are 0 to 1, and nil where the host does not say.
	CPUs          []int    `json:"cpus"`
	CPUsIdleShare *float64 `json:"cpus_idle_share,omitempty"`
	Headroom      *float64 `json:"headroom,omitempty"`
	// Lateness is from the intended time to the write, of arrivals that
	// were sent without waiting in the queue. A closed loop has none.
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
