package doctor

import (
	"context"
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/nginx"
	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/pinning"
)

// Machine is what was seen. An error beside a value means that the value could
// not be had, and says why.
type Machine struct {
	System string // runtime.GOOS
	Root   bool   // effective user id 0

	Host     pinning.Host
	HostErr  error
	Topology pinning.Topology
	Plan     pinning.Plan // by default wishes
	PlanErr  error

	CyclesErr  error // of counters.Probe; nil: this machine has the metric
	CPUTimeErr error

	Placement    string // how processes are held on their CPUs: a pinning.Method constant
	PlacementErr error

	Watch    gate.HostEvidence // of the proxy's CPUs, over the look
	WatchErr error

	Quota    Quota // of the cgroups this process is in
	QuotaErr error

	SwapBytes int64 // space to swap to
	SwapErr   error

	Envoy    envoy.Binary
	EnvoyErr error
	Nginx    nginx.Binary
	NginxErr error
}

// Options say how Examine looks.
type Options struct {
	// FS is where /proc and /sys are. Default: the live system.
	FS procfs.FS
	// Look is how long other work on the machine is watched. Default: 1 s.
	Look time.Duration
}

// Examine looks at this machine. It fails only when ctx ends; what could not
// be seen is an error in the Machine.
func Examine(ctx context.Context, o Options) (Machine, error) {
	if o.Look == 0 {
		o.Look = time.Second
	}
	m := Machine{System: runtime.GOOS, Root: os.Geteuid() == 0}
	m.Host, m.HostErr = pinning.ReadHost(o.FS)
	m.Topology, m.PlanErr = pinning.ReadTopology(o.FS)
	if m.PlanErr == nil {
		m.Plan, m.PlanErr = m.Topology.Plan(pinning.Wish{})
	}
	m.CPUTimeErr = counters.Probe(counters.CPUTime)
	m.CyclesErr = counters.Probe(counters.Cycles)
	m.Placement, m.PlacementErr = m.place(o.FS)
	m.Quota, m.QuotaErr = readQuota(o.FS)
	m.SwapBytes, m.SwapErr = o.FS.SwapTotalBytes()
	m.Envoy, m.EnvoyErr = envoy.Find(envoy.FindOptions{})
	m.Nginx, m.NginxErr = nginx.Find(ctx)
	m.look(ctx, o)
	return m, context.Cause(ctx)
}

// place makes the plan's cpusets and removes them again: whether they can be
// made no file tells. They are in the ledger, so that the next run of anything
// clears what a kill in between would leave.
func (m *Machine) place(fs procfs.FS) (method string, err error) {
	if m.PlanErr != nil {
		return "", errors.New("there is no plan to try")
	}
	dir, err := child.StateDir()
	if err != nil {
		return "", err
	}
	ledger, err := child.OpenLedger(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	p, err := pinning.Apply(m.Plan, pinning.ApplyOptions{FS: fs, Ledger: ledger, LeaveHarness: true})
	if err != nil {
		return "", err
	}
	return p.Method(), p.Close()
}

// look watches what runs on the machine while nothing is measured.
func (m *Machine) look(ctx context.Context, o Options) {
	if m.PlanErr != nil {
		m.WatchErr = errors.New("there is no plan that says which CPUs matter")
		return
	}
	w, err := gate.StartWatch(o.FS, gate.WatchOptions{CPUs: m.Plan.Proxy.CPUs()})
	if err == nil {
		select {
		case <-ctx.Done():
		case <-time.After(o.Look):
		}
		m.Watch, err = w.Stop()
	}
	m.WatchErr = err
}
