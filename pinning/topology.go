package pinning

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tareperf/tare/internal/procfs"
)

// FS says where /proc and /sys are; the zero value is the live system.
type FS = procfs.FS

// Topology is the CPUs of a machine.
type Topology struct {
	CPUs    []CPU  `json:"cpus"`    // online, ascending
	Online  CPUSet `json:"online"`  // can run tasks now
	Offline CPUSet `json:"offline"` // present but switched off
	Allowed CPUSet `json:"allowed"` // that this process may use, by affinity and cpuset
}

// CPU is one online CPU.
type CPU struct {
	ID       int    `json:"id"`
	Package  int    `json:"package"`       // socket
	Core     int    `json:"core"`          // within the package; not unique on the machine
	Node     int    `json:"node"`          // of memory; -1 where the kernel has none
	Siblings CPUSet `json:"siblings"`      // CPUs of the same physical core that are online, this one included
	PMU      string `json:"pmu,omitempty"` // kind of core on a hybrid machine, such as cpu_core; empty where there is one kind
}

// ReadTopology reads the CPUs of a machine and which of them this process may
// use.
func ReadTopology(fs FS) (Topology, error) {
	online, err := fs.OnlineCPUs()
	if err != nil {
		return Topology{}, fmt.Errorf("pinning: the online CPUs cannot be read: %w", err)
	}
	t := Topology{Online: NewCPUSet(online...)}
	if present, err := fs.PresentCPUs(); err == nil {
		t.Offline = NewCPUSet(present...).Minus(t.Online)
	}
	status, err := fs.ReadProc("self/status")
	if err != nil {
		return Topology{}, fmt.Errorf("pinning: the CPUs that this process may use cannot be read: %w", err)
	}
	allowed, err := procfs.ParseAllowedCPUs(status)
	if err != nil {
		return Topology{}, err
	}
	t.Allowed = NewCPUSet(allowed...).Intersect(t.Online)
	kinds, err := corePMUs(fs)
	if err != nil {
		return Topology{}, err
	}
	for _, id := range online {
		c := CPU{ID: id, Node: -1, Siblings: NewCPUSet(id)}
		dir := "devices/system/cpu/cpu" + strconv.Itoa(id)
		// A kernel without topology for a CPU says nothing of it: one socket,
		// and each CPU its own core.
		if c.Package, err = number(fs, dir+"/topology/physical_package_id", 0); err != nil {
			return Topology{}, err
		}
		if c.Core, err = number(fs, dir+"/topology/core_id", id); err != nil {
			return Topology{}, err
		}
		for _, name := range []string{"core_cpus_list", "thread_siblings_list"} {
			list, err := fs.ReadSys(dir + "/topology/" + name)
			if errors.Is(err, iofs.ErrNotExist) {
				continue
			}
			if err != nil {
				return Topology{}, err
			}
			siblings, err := ParseCPUSet(list)
			if err != nil {
				return Topology{}, fmt.Errorf("pinning: siblings of CPU %d: %w", id, err)
			}
			c.Siblings = siblings.Intersect(t.Online).Union(NewCPUSet(id))
			break
		}
		for kind, cpus := range kinds {
			if len(kinds) > 1 && cpus.Has(id) {
				c.PMU = kind
			}
		}
		c.Node = node(fs, dir)
		t.CPUs = append(t.CPUs, c)
	}
	return t, nil
}

func number(fs FS, path string, otherwise int) (int, error) {
	s, err := fs.ReadSys(path)
	if errors.Is(err, iofs.ErrNotExist) {
		return otherwise, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("pinning: %s is %q, not a number", path, s)
	}
	if n < 0 { // some arm64 firmware says -1 for "unknown"
		return otherwise, nil
	}
	return n, nil
}

func node(fs FS, dir string) int {
	root, err := fs.Resolve("/sys/" + dir)
	if err != nil {
		return -1
	}
	nodes, _ := filepath.Glob(filepath.Join(root, "node[0-9]*"))
	for _, path := range nodes {
		if n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), "node")); err == nil {
			return n
		}
	}
	return -1
}

// corePMUs finds the counting units of cores, which are one per kind of core:
// a device with a file "cpus" (a unit of a package or memory controller has
// "cpumask" instead).
func corePMUs(fs FS) (map[string]CPUSet, error) {
	root, err := fs.Resolve("/sys/bus/event_source/devices")
	if err != nil {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "cpus"))
	if err != nil {
		return nil, err
	}
	kinds := map[string]CPUSet{}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if !strings.HasPrefix(name, "cpu") && !strings.HasPrefix(name, "armv") && !strings.HasPrefix(name, "apple") {
			continue
		}
		list, err := fs.ReadSys("bus/event_source/devices/" + name + "/cpus")
		if err != nil {
			return nil, err
		}
		if kinds[name], err = ParseCPUSet(list); err != nil {
			return nil, fmt.Errorf("pinning: CPUs of %s: %w", name, err)
		}
	}
	return kinds, nil
}
