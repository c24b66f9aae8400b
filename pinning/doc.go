// Package pinning decides which CPUs each part of a measurement gets, puts the
// processes there, checks that every thread stayed, and puts everything back.
//
// [ReadTopology] reads what the machine has; [Topology.Plan] is a pure function
// from that and a [Wish] to a [Plan]; [Apply] makes it so; [Placement.Place] and
// [Placement.Verify] act on one process; [Placement.Close] restores. [ReadHost]
// reads the conditions that a number has to be published with.
//
// # The plan
//
// The proxy gets whole physical cores of one socket, one CPU of each core, and
// the other CPUs of those cores (SMT siblings) stay idle. On a hybrid machine
// its cores are all of one kind. Generator, origin, side services and the
// harness get CPUs elsewhere, on another socket if there is one. Where the
// machine is too small for that, the plan shares and says in GaveUp what was
// given up. Only CPUs that are online and that this process may use are
// planned. One CPU is refused by [*TooFewCPUsError].
//
// # Placement
//
// Where this process may create them, each role gets a cpuset cgroup (v1 below
// the cpuset that this process is in; v2 below the root, if the root already
// hands the cpuset controller to its children); otherwise the affinity of every
// thread is set. In both cases every thread's list of allowed CPUs is read back
// and compared with the plan. A cpuset holds threads that set their own
// affinity, an affinity does not: [Placement.Method] is therefore a condition of
// the result. The cpusets are never exclusive, because an exclusive one breaks
// the creation of containers on the same host. Verify reads at one moment; a
// thread that moved and came back in between is not seen.
//
// The harness itself is moved off the proxy's CPUs: the affinity of each of its
// threads is set, and restored by Close.
//
// # What it does not do
//
// It changes no setting of the host: no governor, no idle state, no interrupt
// affinity, no partition. It starts and ends no process.
//
// Sources: sched_setaffinity(2), cpuset(7),
// Documentation/admin-guide/cgroup-v1/cpusets.rst,
// Documentation/admin-guide/cgroup-v2.rst,
// Documentation/admin-guide/cputopology.rst.
package pinning
