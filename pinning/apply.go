package pinning

// Methods of placement.
const (
	MethodCPUSetV1 = "cpuset v1"
	MethodCPUSetV2 = "cpuset v2"
	MethodAffinity = "affinity"
)

// Ledger is told of every cgroup before it is created and after it is gone, so
// that a later start can clear what a killed run left.
type Ledger interface {
	AddCgroup(dir string) error
	Forget(dir string) error
}

// ApplyOptions say how a plan is applied.
type ApplyOptions struct {
	// FS is where /proc and /sys are. Default: the live system. Affinities
	// are those of the live system always.
	FS FS
	// Ledger is told of the cgroups. Default nil: nobody is told, and what a
	// SIGKILL leaves stays.
	Ledger Ledger
	// AffinityOnly leaves cpusets alone. Default: cpusets where allowed.
	AffinityOnly bool
	// LeaveHarness leaves this process where it is. Default: its threads are
	// kept on the plan's harness CPUs until Close.
	LeaveHarness bool
}
