package pinning

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlansOfMachines(t *testing.T) {
	for _, c := range []struct {
		name string
		m    machine
		wish Wish
		want string
	}{
		{"dual-socket Xeon", dualXeon(), Wish{},
			`{"proxy":"36-39","generator":"0-1","origin":"2-5","services":"6","harness":"7-35,40-75","idle_siblings":"76-79"}`},
		{"dual-socket Xeon, wishes", dualXeon(), Wish{ProxyCPUs: 8, GeneratorCPUs: 4, OriginCPUs: 8, ServiceCPUs: 2},
			`{"proxy":"32-39","generator":"0-3","origin":"4-11","services":"12-13","harness":"14-31,40-71","idle_siblings":"72-79"}`},
		{"2-vCPU VM", vm2(), Wish{},
			`{"proxy":"1","generator":"0","origin":"0","services":"0","harness":"0","idle_siblings":"","gave_up":["generator, origin, side services and harness share CPU 0: their headroom is one"]}`},
		{"SMT laptop", laptop(), Wish{},
			`{"proxy":"6","generator":"0","origin":"2","services":"4","harness":"1,3,5","idle_siblings":"7"}`},
		{"offline CPUs", offline(), Wish{},
			`{"proxy":"1","generator":"0","origin":"8","services":"8","harness":"8","idle_siblings":"9","gave_up":["origin, side services and harness share CPU 8"]}`},
		{"hybrid laptop", hybrid(), Wish{},
			`{"proxy":"4,6","generator":"0,2","origin":"8-9","services":"10","harness":"1,3,11","idle_siblings":"5,7"}`},
		{"cpuset of a container", container(), Wish{},
			`{"proxy":"4","generator":"2","origin":"3","services":"5","harness":"5","idle_siblings":"44","gave_up":["side services and harness share CPU 5"]}`},
		{"arm64 server", arm(), Wish{},
			`{"proxy":"60-63","generator":"0-1","origin":"2-5","services":"6","harness":"7-59","idle_siblings":""}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			topology, err := ReadTopology(c.m.fs(t))
			require.NoError(t, err)
			plan, err := topology.Plan(c.wish)
			require.NoError(t, err)
			got, err := json.Marshal(plan)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
			soundPlan(t, topology, plan)
		})
	}
}

// soundPlan holds what every plan must keep.
func soundPlan(t *testing.T, topology Topology, p Plan) {
	t.Helper()
	usable := topology.Online.Intersect(topology.Allowed)
	rest := p.Generator.Union(p.Origin).Union(p.Services).Union(p.Harness)
	require.Positive(t, p.Proxy.Len())
	for _, set := range []CPUSet{p.Generator, p.Origin, p.Services, p.Harness} {
		require.Positive(t, set.Len())
	}
	require.Zero(t, rest.Intersect(p.Proxy).Len(), "nobody shares the proxy's CPUs")
	require.Zero(t, rest.Union(p.Proxy).Intersect(p.IdleSiblings).Len(), "nobody gets the idle siblings")
	require.Zero(t, rest.Union(p.Proxy).Union(p.IdleSiblings).Minus(usable).Len(), "only usable CPUs")
	packages, kinds := map[int]bool{}, map[string]bool{}
	for _, c := range topology.CPUs {
		if p.Proxy.Has(c.ID) {
			packages[c.Package], kinds[c.PMU] = true, true
			require.Equal(t, 1, c.Siblings.Intersect(p.Proxy).Len(), "one CPU of each core")
			require.True(t, c.Siblings.Intersect(rest).Len() == 0 || len(p.GaveUp) > 0, "a busy sibling is said")
		}
	}
	require.Len(t, packages, 1)
	require.Len(t, kinds, 1)
}

func TestOneCoreOfTwoThreadsSaysThatTheSiblingIsBusy(t *testing.T) {
	m := newMachine("0-1", "0-1", "0-1")
	m.cpu(0, 0, 0, 0, "0-1")
	m.cpu(1, 0, 0, 0, "0-1")
	topology, err := ReadTopology(m.fs(t))
	require.NoError(t, err)
	p, err := topology.Plan(Wish{})
	require.NoError(t, err)
	require.Equal(t, "1", p.Proxy.String())
	require.Equal(t, "0", p.Harness.String())
	require.Len(t, p.GaveUp, 2)
	require.Contains(t, p.GaveUp[0], "CPU 0 shares a physical core with the proxy's CPU 1")
	soundPlan(t, topology, p)
}

func TestTooFewCPUs(t *testing.T) {
	m := vm2()
	m["proc/self/status"] = "Cpus_allowed_list:\t1"
	topology, err := ReadTopology(m.fs(t))
	require.NoError(t, err)
	_, err = topology.Plan(Wish{})
	var few *TooFewCPUsError
	require.ErrorAs(t, err, &few)
	require.Equal(t, 2, few.Need)
	require.Equal(t, 1, few.Have)
	require.ErrorContains(t, err, "needs at least 2 CPUs, has 1: ")
	require.ErrorContains(t, err, "CPUs this process may use: 1)")

	// A wish is never cut down.
	topology, err = ReadTopology(vm2().fs(t))
	require.NoError(t, err)
	for _, w := range []Wish{{ProxyCPUs: 2}, {GeneratorCPUs: 2}, {OriginCPUs: 9}} {
		_, err = topology.Plan(w)
		require.ErrorAs(t, err, &few, "%+v", w)
	}
	_, err = topology.Plan(Wish{ProxyCPUs: -1})
	require.ErrorContains(t, err, "ProxyCPUs is -1")
}

// TestEveryPlanIsSound plans all small allowed sets of the machines.
func TestEveryPlanIsSound(t *testing.T) {
	for _, m := range []machine{laptop(), hybrid(), offline()} {
		topology, err := ReadTopology(m.fs(t))
		require.NoError(t, err)
		online := topology.Online.CPUs()
		for bits := range 1 << len(online) {
			var allowed []int
			for i, cpu := range online {
				if bits>>i&1 == 1 {
					allowed = append(allowed, cpu)
				}
			}
			topology.Allowed = NewCPUSet(allowed...)
			for n := range 4 {
				p, err := topology.Plan(Wish{ProxyCPUs: n})
				if err != nil {
					var few *TooFewCPUsError
					require.ErrorAs(t, err, &few)
					require.True(t, n > 0 || len(allowed) < 2, "allowed %s: %v", topology.Allowed, err)
					continue
				}
				soundPlan(t, topology, p)
			}
		}
	}
}

func TestTopologyOfMachines(t *testing.T) {
	topology, err := ReadTopology(offline().fs(t))
	require.NoError(t, err)
	got, err := json.Marshal(topology)
	require.NoError(t, err)
	require.Equal(t, `{"cpus":[{"id":0,"package":0,"core":0,"node":-1,"siblings":"0,8"},{"id":1,"package":0,"core":1,"node":-1,"siblings":"1,9"},`+
		`{"id":8,"package":0,"core":0,"node":-1,"siblings":"0,8"},{"id":9,"package":0,"core":1,"node":-1,"siblings":"1,9"}],`+
		`"online":"0-1,8-9","offline":"2-7,10-15","allowed":"0-1,8-9"}`, string(got))

	topology, err = ReadTopology(hybrid().fs(t))
	require.NoError(t, err)
	require.Equal(t, "cpu_core", topology.CPUs[0].PMU)
	require.Equal(t, "cpu_atom", topology.CPUs[11].PMU)

	topology, err = ReadTopology(dualXeon().fs(t))
	require.NoError(t, err)
	require.Equal(t, CPU{ID: 63, Package: 1, Core: 3, Node: 1, Siblings: NewCPUSet(23, 63)}, topology.CPUs[63])

	// No topology at all, as in some sandboxes.
	topology, err = ReadTopology(newMachine("0-2", "0-2", "0-2").fs(t))
	require.NoError(t, err)
	require.Equal(t, CPU{ID: 2, Core: 2, Node: -1, Siblings: NewCPUSet(2)}, topology.CPUs[2])
}

func TestCPUSet(t *testing.T) {
	s := NewCPUSet(3, 1, 1, 2)
	require.Equal(t, "1-3", s.String())
	require.Equal(t, "1-3,9", s.Union(NewCPUSet(9)).String())
	require.Equal(t, "1,3", s.Minus(NewCPUSet(2)).String())
	require.Equal(t, "2", s.Intersect(NewCPUSet(0, 2)).String())
	require.Equal(t, "1-3", s.String(), "no method changes the set")
	var back CPUSet
	require.NoError(t, json.Unmarshal([]byte(`"1-3"`), &back))
	require.True(t, s.Equal(back))
	require.Error(t, json.Unmarshal([]byte(`"3-1"`), &back))
}
