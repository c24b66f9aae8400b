package pinning

import (
	"fmt"
	"slices"
)

// pickProxy takes n cores of one socket and one kind: whole cores before torn
// ones, a socket other than the one of the first CPU if the rest then has that
// one, the kind called cpu_core before others, and the last cores of what is
// left, because interrupts and housekeeping prefer the first.
func pickProxy(cores []core, n int, exact bool) (picked []core, gaveUp []string) {
	type group struct {
		pkg int
		pmu string
	}
	groups := map[group][]core{}
	var keys []group
	for _, c := range cores {
		k := group{c.pkg, c.pmu}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], c)
	}
	rank := func(k group) int {
		r := 0
		if k.pmu == "cpu_core" {
			r += 4
		}
		if k.pkg != cores[0].pkg {
			r += 2
		}
		return r
	}
	slices.SortStableFunc(keys, func(a, b group) int { return rank(b) - rank(a) })
	for ; n > 0; n-- {
		for _, k := range keys {
			for _, wholeOnly := range []bool{true, false} {
				candidates := groups[k]
				if wholeOnly {
					candidates = slices.DeleteFunc(slices.Clone(candidates), func(c core) bool { return !c.whole })
				}
				// Something must be left for the rest: another core, or at worst
				// the second thread of the only one.
				left := len(cores) - n
				if len(candidates) < n || left < 1 && !(len(cores) == 1 && len(cores[0].cpus) > 1) {
					continue
				}
				if !wholeOnly {
					gaveUp = append(gaveUp, "the SMT siblings of the proxy's CPUs are outside of what this process may use, so others may run there")
				}
				return candidates[len(candidates)-n:], gaveUp
			}
		}
		if exact {
			return nil, nil
		}
	}
	return nil, nil
}

// orderOthers lists the CPUs that the proxy's cores leave: other sockets
// first, and the first thread of each core before the second threads.
func orderOthers(cores, proxy []core) []int {
	taken := map[int]bool{}
	for _, c := range proxy {
		for _, cpu := range c.cpus {
			taken[cpu] = true
		}
	}
	var order []int
	for _, near := range []bool{false, true} {
		for thread := 0; ; thread++ {
			any := false
			for _, c := range cores {
				if (c.pkg == proxy[0].pkg) != near || thread >= len(c.cpus) {
					continue
				}
				any = true
				if !taken[c.cpus[thread]] {
					order = append(order, c.cpus[thread])
				}
			}
			if !any {
				break
			}
		}
	}
	return order
}

// shareOut gives the CPUs that the proxy leaves to the other parts.
func (p *Plan) shareOut(others []int, asked, want Wish, usable CPUSet) error {
	n := len(others)
	if need := want.GeneratorCPUs + want.OriginCPUs + want.ServiceCPUs + 1; n < need {
		// A default shrinks to one CPU; a wish does not.
		shrink := func(asked, n int) int {
			if asked == 0 {
				return 1
			}
			return n
		}
		want.GeneratorCPUs = shrink(asked.GeneratorCPUs, want.GeneratorCPUs)
		want.OriginCPUs = shrink(asked.OriginCPUs, want.OriginCPUs)
		want.ServiceCPUs = shrink(asked.ServiceCPUs, want.ServiceCPUs)
	}
	if least := max(want.GeneratorCPUs, want.OriginCPUs, want.ServiceCPUs); n < least {
		return &TooFewCPUsError{Need: p.Proxy.Len() + p.IdleSiblings.Len() + least, Have: usable.Len(), Allowed: usable,
			Why: fmt.Sprintf("%d CPUs are wished for one part beside the proxy and %d are left", least, n)}
	}
	all := NewCPUSet(others...)
	take := func(from, n int) CPUSet { return NewCPUSet(others[from : from+n]...) }
	g, o, s := want.GeneratorCPUs, want.OriginCPUs, want.ServiceCPUs
	switch {
	case n >= g+o+s+1:
		p.Generator, p.Origin, p.Services, p.Harness = take(0, g), take(g, o), take(g+o, s), take(g+o+s, n-g-o-s)
	case n >= g+o+s:
		p.Generator, p.Origin, p.Services, p.Harness = take(0, g), take(g, o), take(g+o, s), take(g+o, s)
		p.GaveUp = append(p.GaveUp, fmt.Sprintf("side services and harness share CPU %s", p.Services))
	case n >= g+o:
		p.Generator, p.Origin = take(0, g), take(g, o)
		p.Services, p.Harness = p.Origin, p.Origin
		p.GaveUp = append(p.GaveUp, fmt.Sprintf("origin, side services and harness share CPU %s", p.Origin))
	default:
		p.Generator, p.Origin, p.Services, p.Harness = all, all, all, all
		p.GaveUp = append(p.GaveUp, fmt.Sprintf("generator, origin, side services and harness share CPU %s: their headroom is one", all))
	}
	return nil
}
