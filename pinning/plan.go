package pinning

import "fmt"

// Role is a part of a measurement.
type Role string

// The roles that get CPUs.
const (
	RoleProxy     Role = "proxy"
	RoleGenerator Role = "generator"
	RoleOrigin    Role = "origin"
	RoleService   Role = "service"
)

// Wish is how many CPUs each part should have. Zero takes a default by the
// number of physical cores that may be used: below 8 one CPU each; from 8 two
// for proxy, generator and origin; from 16 four for proxy and origin, two for
// the generator; always one for services. A default shrinks and shares where
// the machine is small; a number that was asked for does not.
type Wish struct {
	ProxyCPUs     int `json:"proxy_cpus,omitempty"`
	GeneratorCPUs int `json:"generator_cpus,omitempty"`
	OriginCPUs    int `json:"origin_cpus,omitempty"`
	ServiceCPUs   int `json:"service_cpus,omitempty"`
}

// Plan says where everything goes.
type Plan struct {
	Proxy        CPUSet   `json:"proxy"`
	Generator    CPUSet   `json:"generator"`
	Origin       CPUSet   `json:"origin"`
	Services     CPUSet   `json:"services"`
	Harness      CPUSet   `json:"harness"`
	IdleSiblings CPUSet   `json:"idle_siblings"` // of the proxy's CPUs; nobody gets them
	GaveUp       []string `json:"gave_up,omitempty"`
}

// For is the CPUs of a role; empty for a role that does not exist.
func (p Plan) For(r Role) CPUSet {
	switch r {
	case RoleProxy:
		return p.Proxy
	case RoleGenerator:
		return p.Generator
	case RoleOrigin:
		return p.Origin
	case RoleService:
		return p.Services
	}
	return CPUSet{}
}

// TooFewCPUsError means that the machine, or the part of it that this process
// may use, cannot hold the plan.
type TooFewCPUsError struct {
	Need, Have int
	Allowed    CPUSet // that this process may use
	Why        string
}

func (e *TooFewCPUsError) Error() string {
	return fmt.Sprintf("pinning: needs at least %d CPUs, has %d: %s (CPUs this process may use: %s); use a larger machine, widen the affinity or cpuset of this process, or wish for fewer CPUs",
		e.Need, e.Have, e.Why, e.Allowed)
}

// core is the usable CPUs of one physical core.
type core struct {
	cpus  []int // usable, ascending
	whole bool  // all online siblings may be used, so the idle ones can be kept idle
	pkg   int
	pmu   string
}

// Plan chooses CPUs. It is a pure function of the topology and the wish.
func (t Topology) Plan(w Wish) (Plan, error) {
	if err := w.validate(); err != nil {
		return Plan{}, err
	}
	usable := t.Online.Intersect(t.Allowed)
	if usable.Len() < 2 {
		return Plan{}, &TooFewCPUsError{Need: 2, Have: usable.Len(), Allowed: usable,
			Why: "the proxy under test must not share its CPU with what loads it"}
	}
	cores := t.cores(usable)
	want := w.withDefaults(len(cores))

	var p Plan
	proxy, giveUp := pickProxy(cores, want.ProxyCPUs, w.ProxyCPUs > 0)
	if len(proxy) == 0 {
		return Plan{}, &TooFewCPUsError{Need: want.ProxyCPUs + 1, Have: len(cores), Allowed: usable,
			Why: fmt.Sprintf("%d CPUs for the proxy on as many physical cores of one socket and kind, and one CPU for the rest, do not fit", want.ProxyCPUs)}
	}
	p.GaveUp = append(p.GaveUp, giveUp...)
	// The first thread of each core, as the kernel lists them; on a machine of
	// one core the last, since interrupts prefer CPU 0.
	thread := 0
	if len(cores) == 1 {
		thread = len(proxy[0].cpus) - 1
	}
	for _, c := range proxy {
		cpu := NewCPUSet(c.cpus[thread])
		p.Proxy = p.Proxy.Union(cpu)
		p.IdleSiblings = p.IdleSiblings.Union(NewCPUSet(c.cpus...).Minus(cpu))
	}
	others := orderOthers(cores, proxy)
	if len(others) == 0 {
		// One physical core: its second thread is all there is for the rest.
		others = p.IdleSiblings.CPUs()
		p.IdleSiblings = CPUSet{}
		p.GaveUp = append(p.GaveUp, fmt.Sprintf("CPU %s shares a physical core with the proxy's CPU %s and is not idle: what the load costs moves the proxy's cost",
			NewCPUSet(others...), p.Proxy))
	}
	if err := p.shareOut(others, w, want, usable); err != nil {
		return Plan{}, err
	}
	return p, nil
}

func (w Wish) validate() error {
	for name, n := range map[string]int{"ProxyCPUs": w.ProxyCPUs, "GeneratorCPUs": w.GeneratorCPUs, "OriginCPUs": w.OriginCPUs, "ServiceCPUs": w.ServiceCPUs} {
		if n < 0 {
			return fmt.Errorf("pinning: %s is %d; want a number of CPUs, or 0 for the default", name, n)
		}
	}
	return nil
}

func (w Wish) withDefaults(cores int) Wish {
	standard := Wish{ProxyCPUs: 1, GeneratorCPUs: 1, OriginCPUs: 1, ServiceCPUs: 1}
	switch {
	case cores >= 16:
		standard = Wish{ProxyCPUs: 4, GeneratorCPUs: 2, OriginCPUs: 4, ServiceCPUs: 1}
	case cores >= 8:
		standard = Wish{ProxyCPUs: 2, GeneratorCPUs: 2, OriginCPUs: 2, ServiceCPUs: 1}
	}
	or := func(n, otherwise int) int {
		if n == 0 {
			return otherwise
		}
		return n
	}
	return Wish{
		ProxyCPUs: or(w.ProxyCPUs, standard.ProxyCPUs), GeneratorCPUs: or(w.GeneratorCPUs, standard.GeneratorCPUs),
		OriginCPUs: or(w.OriginCPUs, standard.OriginCPUs), ServiceCPUs: or(w.ServiceCPUs, standard.ServiceCPUs),
	}
}

// cores groups the usable CPUs by physical core, ordered by their first CPU.
func (t Topology) cores(usable CPUSet) []core {
	var cores []core
	var done CPUSet
	for _, c := range t.CPUs {
		if !usable.Has(c.ID) || done.Has(c.ID) {
			continue
		}
		done = done.Union(c.Siblings)
		cores = append(cores, core{
			cpus: c.Siblings.Intersect(usable).CPUs(), whole: c.Siblings.Minus(usable).Len() == 0, pkg: c.Package, pmu: c.PMU,
		})
	}
	return cores
}
