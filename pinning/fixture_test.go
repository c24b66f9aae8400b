package pinning

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine is a fixture: files by their path below a root.
type machine map[string]string

func (m machine) fs(t testing.TB) FS {
	t.Helper()
	root := t.TempDir()
	for name, content := range m {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content+"\n"), 0o644))
	}
	return FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}

func newMachine(online, present, allowed string) machine {
	return machine{
		"proc/self/status":               "Name:\ttare\nCpus_allowed_list:\t" + allowed,
		"sys/devices/system/cpu/online":  online,
		"sys/devices/system/cpu/present": present,
	}
}

// cpu adds one online CPU; node below 0 leaves it out.
func (m machine) cpu(id, pkg, core, node int, siblings string) {
	dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", id)
	m[dir+"topology/physical_package_id"] = fmt.Sprint(pkg)
	m[dir+"topology/core_id"] = fmt.Sprint(core)
	m[dir+"topology/thread_siblings_list"] = siblings
	if node >= 0 {
		m[fmt.Sprintf("%snode%d/cpulist", dir, node)] = ""
	}
}

// dualXeon has two sockets of 20 cores with two threads each; the second
// threads are numbered after all first ones.
func dualXeon() machine {
	m := newMachine("0-79", "0-79", "0-79")
	for id := range 80 {
		first := id % 40
		m.cpu(id, first/20, first%20, first/20, fmt.Sprintf("%d,%d", first, first+40))
	}
	return m
}

// vm2 is a virtual machine of two CPUs, each a core of its own.
func vm2() machine {
	m := newMachine("0-1", "0-1", "0-1")
	m.cpu(0, 0, 0, 0, "0")
	m.cpu(1, 0, 1, 0, "1")
	return m
}

// laptop has one socket of four cores with two threads numbered together.
func laptop() machine {
	m := newMachine("0-7", "0-7", "0-7")
	for id := range 8 {
		m.cpu(id, 0, id/2, 0, fmt.Sprintf("%d-%d", id/2*2, id/2*2+1))
	}
	return m
}

// offline is a server of 16 present CPUs where 0,1,8,9 are left online; a CPU
// that is offline has no topology, and its core's list leaves it out.
func offline() machine {
	m := newMachine("0-1,8-9", "0-15", "0-15")
	m.cpu(0, 0, 0, -1, "0,8")
	m.cpu(8, 0, 0, -1, "0,8")
	m.cpu(1, 0, 1, -1, "1,9")
	m.cpu(9, 0, 1, -1, "1,9")
	return m
}

// hybrid is a laptop with four large cores of two threads and four small ones.
func hybrid() machine {
	m := newMachine("0-11", "0-11", "0-11")
	for id := range 8 {
		m.cpu(id, 0, id/2*4, 0, fmt.Sprintf("%d-%d", id/2*2, id/2*2+1))
	}
	for id := 8; id < 12; id++ {
		m.cpu(id, 0, 16+id, 0, fmt.Sprint(id))
	}
	m["sys/bus/event_source/devices/cpu_core/cpus"] = "0-7"
	m["sys/bus/event_source/devices/cpu_atom/cpus"] = "8-11"
	m["sys/bus/event_source/devices/uncore_imc/cpumask"] = "0"
	return m
}

// container is the two-socket machine seen from a cpuset of a few CPUs, which
// tears cores apart.
func container() machine {
	m := dualXeon()
	m["proc/self/status"] = "Cpus_allowed_list:\t2-5,44"
	return m
}

// arm is a server of 64 cores without threads whose firmware knows no sockets.
func arm() machine {
	m := newMachine("0-63", "0-63", "0-63")
	for id := range 64 {
		m.cpu(id, -1, id, 0, fmt.Sprint(id))
	}
	m["sys/bus/event_source/devices/armv8_pmuv3_0/cpus"] = "0-63"
	return m
}
