package main

// noFault changes nothing.
var noFault = mutant{name: "no-fault", file: "events_linux.go", old: "package counters", new: "package counters"}

var mutants = []mutant{
	{
		name: "instructions-are-cycles", file: "events_linux.go",
		old:      "add(EventInstructions, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS, 0)",
		new:      "add(EventInstructions, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES, 0)",
		mustFail: []string{"TestPMUKnownLoop"},
	},
	{
		name: "cycles-are-instructions", file: "events_linux.go",
		old:      "add(EventCycles, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES, 0)",
		new:      "add(EventCycles, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS, 0)",
		mustFail: []string{"TestPMUKnownLoop"},
	},
	{
		name: "user-counts-kernel", file: "events_linux.go",
		old:      "unix.PERF_COUNT_HW_INSTRUCTIONS, unix.PerfBitExcludeKernel)",
		new:      "unix.PERF_COUNT_HW_INSTRUCTIONS, 0)",
		mustFail: []string{"TestPMUUserAndKernel"},
	},
	{
		name: "all-without-kernel", file: "events_linux.go",
		old:      "add(EventCycles, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES, 0)",
		new:      "add(EventCycles, unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES, unix.PerfBitExcludeKernel)",
		mustFail: []string{"TestPMUUserAndKernel"},
	},
	{
		name: "no-inheritance", file: "events_linux.go",
		old:      "inheritThreads = unix.PerfBitInherit | sys.PerfBitInheritThread",
		new:      "inheritThreads = 0 * sys.PerfBitInheritThread",
		mustFail: []string{"TestPMUThreadsComeAndGo", "TestPMUHeld64Threads"},
	},
	{
		name: "inherits-processes", file: "events_linux.go",
		old:      "inheritThreads = unix.PerfBitInherit | sys.PerfBitInheritThread",
		new:      "inheritThreads = unix.PerfBitInherit | 0*sys.PerfBitInheritThread",
		mustFail: []string{"TestPMUChildProcessIsNotCounted"},
	},
	{
		name: "no-group", file: "group_linux.go",
		old:      "fd, err := sys.PerfEventOpen(&attr, tid, -1, leader)",
		new:      "fd, err := sys.PerfEventOpen(&attr, tid, -1, -1)",
		mustFail: []string{"TestPMUKnownLoop", "TestPMUGroupAgrees"},
	},
	{
		name: "swapped-order", file: "group_linux.go",
		old:      "out.Counts[i] = Count{ID: v.ID, Value: v.Value}",
		new:      "out.Counts[i] = Count{ID: v.ID, Value: raw.Values[len(raw.Values)-1-i].Value}",
		mustFail: []string{"TestPMUKnownLoop"},
	},
	{
		name: "multiplexed-is-taken", file: "since.go",
		old:      "if enabled != running {",
		new:      "if false {",
		mustFail: []string{"TestPMUMultiplexedIsRefused"},
	},
	{
		name: "absolute-not-delta", file: "since.go",
		old:      "counts[c.Event] = signed(c.Value - before)",
		new:      "counts[c.Event] = signed(c.Value)",
		mustFail: []string{"TestPMUKnownLoop"},
	},
	{
		name: "wrong-event-named", file: "group_linux.go",
		old:      "return nil, &OpenError{Event: e.name,",
		new:      "return nil, &OpenError{Event: events[0].name,",
		mustFail: []string{"TestPMULacksEvent"},
	},
	{
		name: "pinned", file: "events_linux.go",
		old:      "bits |= unix.PerfBitDisabled",
		new:      "bits |= unix.PerfBitDisabled | unix.PerfBitPinned",
		mustFail: []string{"TestPMUMultiplexedIsRefused"},
	},
	{
		name: "end-of-file-is-no-error", file: "group_linux.go",
		old:      "case errors.Is(err, io.EOF):\n\t\treturn nil, &EndOfFileError{g.pid}",
		new:      "case errors.Is(err, io.EOF):\n\t\treturn &Group{}, nil",
		mustFail: []string{"TestPMUPinnedGroupEndsAsEndOfFile"},
	},
}
