// Package gate judges whether a measurement of a proxy's CPU cost was
// disturbed: one function for each way in which a rig can lie, each taking a
// plain struct of evidence and giving a [Result] that says what was found,
// what was wanted, what most likely caused the difference, and what to do.
//
// The package gathers nothing by itself except through [StartWatch], which
// reads /proc and /sys at the two borders of a window. Another harness can
// fill the evidence structs from its own sources and use only the judging.
//
//	t := gate.Thresholds{Off: map[string]string{gate.NameSpread: "one connection by design"}}
//	results := gate.Results{
//		gate.Rate(t, gate.RateEvidence{Arm: "off", WantPerSecond: 2500, Completed: 7494, WindowNanoseconds: 3e9}),
//		gate.Overflow(t, gate.OverflowEvidence{Arm: "off", Scheduled: 7494}),
//	}
//	if !results.OK() {
//		// results.Failed() says why
//	}
//
// Evidence of the host comes from a watch around the window:
//
//	w, err := gate.StartWatch(gate.FS{}, gate.WatchOptions{Own: []int{proxyPid}})
//	// ... the load ...
//	host, err := w.Stop()
//	r := gate.ForeignDuring(t, gate.ForeignEvidence{
//		CPUs: []int{1}, Host: host,
//		Arms: []gate.ArmTime{{Name: "off", Pids: []int{proxyPid}, CPUNanoseconds: used}},
//	})
//	// fail: "stress" (pid 4711) ran 97.3% of the window on CPU 1; stop it or keep it off CPUs 1
//
// # Four answers
//
// A gate passes, fails, cannot tell, or is off. [Results.OK] fails closed:
// "cannot tell" is not OK, nor is a list without results. A gate is off only
// through [Thresholds.Off], which wants its exact name and a reason; the reason
// stays in the result, so that it can be printed beside every number.
//
// # What is judged, and what is not
//
// Gates judge what the rig did. What the treatment itself caused (an arm that
// answers more slowly, writes more, or costs more within the limit of the busy
// share) is the finding and no fault. Default limits are in [Thresholds]; they
// are this module's own and no standard.
//
// # Units
//
// Times are nanoseconds and say so in their names; shares are fractions of 1;
// rates are per second. CPU numbers are the kernel's. Unknown evidence is said
// explicitly (a nil pointer, an error text, a total of zero where zero is
// impossible), never by a zero that could be a value.
//
// # Foreign work
//
// The time for which a CPU was busy less the CPU time of everything that had
// business there is foreign, whoever did it: this also catches processes that
// began and ended within the window, which no listing can show. The names come
// from run-time differences of threads (schedstat), attributed to the CPU on
// which a thread was last seen. A source of busy time that is too coarse for
// the window gives "cannot tell", see [HostEvidence].
package gate
