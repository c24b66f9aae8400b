package counters

// Reading is the absolute state of a Counter at one moment. It is plain data:
// Since is a pure function of two readings, also of readings from a file.
type Reading struct {
	Metric Metric `json:"metric"`
	// Pid and StartTicks (since boot, /proc/PID/stat field 22) name the process;
	// a pid alone may be reused.
	Pid        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
	// Program tells whether the process still runs what it ran before.
	Program Program `json:"program"`

	// AtNanoseconds is CLOCK_MONOTONIC just before the counts were read.
	AtNanoseconds int64 `json:"at_nanoseconds"`
	// CPUNanoseconds is the process CPU clock just before the group was read,
	// CPUSkewNanoseconds how far it had moved just after, CPULagNanoseconds how
	// far it may be behind at most.
	CPUNanoseconds     int64 `json:"cpu_nanoseconds"`
	CPUSkewNanoseconds int64 `json:"cpu_skew_nanoseconds"`
	CPULagNanoseconds  int64 `json:"cpu_lag_nanoseconds"`

	// Group is nil where perf may not be used; RidersMissing then says why.
	Group           *Group `json:"group,omitempty"`
	RidersMissing   string `json:"riders_missing,omitempty"`
	ChildrenCounted bool   `json:"children_counted,omitempty"`

	// Outside is the time, per CPU the process may use, that perf's clocks count
	// and the process clock may not.
	Outside []Outside `json:"outside,omitempty"`
}

// Program identifies the memory image of a process. Device and Inode are those
// of the executable; StackStart (zero where the kernel hides it) is the start
// of its stack, which address randomisation makes different for each exec.
type Program struct {
	Device     uint64 `json:"device"`
	Inode      uint64 `json:"inode"`
	StackStart uint64 `json:"stack_start"`
}

// Group is one atomic read of a perf event group.
type Group struct {
	EnabledNanoseconds uint64  `json:"enabled_nanoseconds"`
	RunningNanoseconds uint64  `json:"running_nanoseconds"`
	Counts             []Count `json:"counts"`
}

// Count is one event of a group. ID is the kernel's id of the event; it is
// unique since boot, so equal ids mean the same event of the same counter.
type Count struct {
	Event Event  `json:"event"`
	ID    uint64 `json:"id"`
	Value uint64 `json:"value"`
}

// Outside is time on one CPU since boot, in nanoseconds, in steps of
// ResolutionNanoseconds. InterruptNanoseconds is zero where the kernel is known
// to leave interrupt time in the clocks of the interrupted threads.
type Outside struct {
	CPU                   int   `json:"cpu"`
	StealNanoseconds      int64 `json:"steal_nanoseconds"`
	InterruptNanoseconds  int64 `json:"interrupt_nanoseconds"`
	ResolutionNanoseconds int64 `json:"resolution_nanoseconds"`
}

func (g *Group) value(e Event) (uint64, bool) {
	if g == nil {
		return 0, false
	}
	for _, c := range g.Counts {
		if c.Event == e {
			return c.Value, true
		}
	}
	return 0, false
}
