package doctor

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tareperf/tare/internal/procfs"
)

// Quota is the tightest limit on CPU time of the cgroups that this process is
// in. The zero value is no limit.
type Quota struct {
	Cgroup string  // directory
	CPUs   float64 // CPU seconds per second; 0: no limit
}

// readQuota looks at this process's cgroup and those above it. Sources:
// Documentation/scheduler/sched-bwc.rst (v1: cpu.cfs_quota_us, -1 for none) and
// Documentation/admin-guide/cgroup-v2.rst (v2: cpu.max, "max PERIOD" for none).
func readQuota(fs procfs.FS) (Quota, error) {
	mounts, err := fs.SelfMounts()
	if err != nil {
		return Quota{}, err
	}
	cgroups, err := fs.SelfCgroups()
	if err != nil {
		return Quota{}, err
	}
	var tightest Quota
	for _, m := range mounts {
		v2 := m.FSType == "cgroup2"
		if !v2 && !(m.FSType == "cgroup" && m.Has("cpu")) {
			continue
		}
		i := slices.IndexFunc(cgroups, func(c procfs.Cgroup) bool {
			if v2 {
				return len(c.Controllers) == 0
			}
			return slices.Contains(c.Controllers, "cpu")
		})
		if i < 0 {
			continue
		}
		if m.MountPoint, err = fs.Resolve(m.MountPoint); err != nil {
			return Quota{}, err
		}
		dir, err := m.Dir(cgroups[i].Path)
		if err != nil {
			return Quota{}, err
		}
		for ; ; dir = filepath.Dir(dir) {
			cpus, err := quotaOf(dir, v2)
			if err != nil {
				return Quota{}, err
			}
			if cpus > 0 && (tightest.CPUs == 0 || cpus < tightest.CPUs) {
				tightest = Quota{Cgroup: dir, CPUs: cpus}
			}
			if len(dir) <= len(m.MountPoint) {
				break
			}
		}
	}
	return tightest, nil
}

// quotaOf is the limit of one cgroup, 0 for none.
func quotaOf(dir string, v2 bool) (float64, error) {
	if v2 {
		b, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
		if errors.Is(err, iofs.ErrNotExist) {
			return 0, nil // the top has no such file, nor has a cgroup without the controller
		}
		if err != nil {
			return 0, err
		}
		return parseCPUMax(string(b))
	}
	var n [2]int64
	for i, name := range []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, iofs.ErrNotExist) {
			return 0, nil // a kernel without bandwidth control, or the top
		}
		if err != nil {
			return 0, err
		}
		if n[i], err = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err != nil {
			return 0, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
		}
	}
	if n[0] < 0 {
		return 0, nil
	}
	if n[1] <= 0 {
		return 0, fmt.Errorf("%s: a period of %d µs", dir, n[1])
	}
	return float64(n[0]) / float64(n[1]), nil
}

func parseCPUMax(s string) (float64, error) {
	f := strings.Fields(s)
	if len(f) == 0 || len(f) > 2 {
		return 0, fmt.Errorf("cpu.max is %q, want a quota and a period", s)
	}
	if f[0] == "max" {
		return 0, nil
	}
	period := int64(100_000) // the kernel's default
	quota, err := strconv.ParseInt(f[0], 10, 64)
	if err == nil && len(f) == 2 {
		period, err = strconv.ParseInt(f[1], 10, 64)
	}
	if err != nil || quota <= 0 || period <= 0 {
		return 0, fmt.Errorf("cpu.max is %q, want a quota and a period", s)
	}
	return float64(quota) / float64(period), nil
}
