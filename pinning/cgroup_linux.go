package pinning

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/procfs"
)

// hierarchy is where cpusets can be made.
type hierarchy struct {
	version int
	mount   procfs.Mount // its mount point resolved
	parent  string       // directory in which sets are made
}

func (p *Placement) findHierarchy() (hierarchy, error) {
	mounts, err := p.fs.SelfMounts()
	if err != nil {
		return hierarchy{}, err
	}
	cgroups, err := p.fs.SelfCgroups()
	if err != nil {
		return hierarchy{}, err
	}
	for _, m := range mounts {
		if m.FSType != "cgroup" || !m.Has("cpuset") {
			continue
		}
		h := hierarchy{version: 1, mount: m}
		if h.mount.MountPoint, err = p.fs.Resolve(m.MountPoint); err != nil {
			return hierarchy{}, err
		}
		if h.parent, err = h.dir(cgroups); err != nil {
			return hierarchy{}, err
		}
		return h, nil
	}
	for _, m := range mounts {
		if m.FSType != "cgroup2" {
			continue
		}
		h := hierarchy{version: 2, mount: m}
		if h.mount.MountPoint, err = p.fs.Resolve(m.MountPoint); err != nil {
			return hierarchy{}, err
		}
		// Only below the top: a cgroup with processes cannot hand controllers
		// to children, and this process is in one.
		h.parent = h.mount.MountPoint
		handed, err := os.ReadFile(filepath.Join(h.parent, "cgroup.subtree_control"))
		if err != nil {
			return hierarchy{}, err
		}
		if !hasWord(string(handed), "cpuset") {
			return hierarchy{}, fmt.Errorf("the top of cgroup v2 at %s does not hand the cpuset controller to its children", h.parent)
		}
		return h, nil
	}
	return hierarchy{}, errors.New("no cgroup hierarchy with cpusets is mounted")
}

// dir is the directory of the cgroup that a process is in.
func (h hierarchy) dir(cgroups []procfs.Cgroup) (string, error) {
	for _, c := range cgroups {
		if h.version == 2 && c.Hierarchy != 0 || h.version == 1 && !contains(c.Controllers, "cpuset") {
			continue
		}
		return h.mount.Dir(c.Path)
	}
	return "", errors.New("the process is in no cpuset")
}

func (p *Placement) cgroupOf(pid int) (string, error) {
	h, err := p.findHierarchy()
	if err != nil {
		return "", err
	}
	cgroups, err := p.fs.Cgroups(pid)
	if err != nil {
		return "", err
	}
	return h.dir(cgroups)
}

// makeSets makes a cpuset for each role, or none.
func (p *Placement) makeSets() (err error) {
	h, err := p.findHierarchy()
	if err != nil {
		return err
	}
	effective := "cpuset.mems.effective"
	if h.version == 1 {
		effective = "cpuset.effective_mems"
	}
	mems, err := os.ReadFile(filepath.Join(h.parent, effective))
	if err != nil {
		return err
	}
	p.sets = map[Role]string{}
	// Two placements of one process must not meet.
	suffix := strconv.FormatInt(time.Now().UnixNano(), 36)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.removeSets())
		}
	}()
	for _, r := range []Role{RoleProxy, RoleGenerator, RoleOrigin, RoleService} {
		cpus := p.plan.For(r)
		if cpus.Len() == 0 {
			continue
		}
		dir := filepath.Join(h.parent, fmt.Sprintf("tare-%d-%s-%s", os.Getpid(), suffix, r))
		if err := p.makeSet(r, dir, strings.TrimSpace(string(mems)), cpus, h.version); err != nil {
			return err
		}
	}
	p.method = MethodCPUSetV1
	if h.version == 2 {
		p.method = MethodCPUSetV2
	}
	return nil
}

func (p *Placement) makeSet(r Role, dir, mems string, cpus CPUSet, version int) error {
	if p.ledger != nil {
		if err := p.ledger.AddCgroup(dir); err != nil {
			return fmt.Errorf("the ledger refused %s: %w", dir, err)
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if p.ledger != nil {
			err = errors.Join(err, p.ledger.Forget(dir))
		}
		return err
	}
	p.sets[r] = dir
	// Memory nodes first: a v1 cpuset without them takes no process, and says
	// "no space left on device".
	if err := writeFile(filepath.Join(dir, "cpuset.mems"), mems); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "cpuset.cpus"), cpus.String()); err != nil {
		return err
	}
	effective := "cpuset.cpus.effective"
	if version == 1 {
		effective = "cpuset.effective_cpus"
	}
	got, err := os.ReadFile(filepath.Join(dir, effective))
	if err != nil {
		return err
	}
	set, err := ParseCPUSet(string(got))
	if err != nil {
		return err
	}
	if !set.Equal(cpus) {
		return fmt.Errorf("%s has CPUs %s in force, not %s as asked", dir, set, cpus)
	}
	return nil
}

// removeSets moves what is left in the cpusets to their parent and removes
// them.
func (p *Placement) removeSets() error {
	var errs []error
	for r, dir := range p.sets {
		if err := removeSet(dir); err != nil {
			errs = append(errs, fmt.Errorf("pinning: cpuset of %s: %w", r, err))
			continue
		}
		if p.ledger != nil {
			if err := p.ledger.Forget(dir); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		delete(p.sets, r)
	}
	return errors.Join(errs...)
}

func removeSet(dir string) error {
	parent := filepath.Dir(dir)
	var err error
	for deadline := time.Now().Add(2 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		// v1 has tasks, where threads can be apart from their process.
		for from, to := range map[string]string{"cgroup.procs": "cgroup.procs", "tasks": "tasks"} {
			left, readErr := os.ReadFile(filepath.Join(dir, from))
			if readErr != nil {
				continue
			}
			for _, id := range strings.Fields(string(left)) {
				_ = writeFile(filepath.Join(parent, to), id) // it may have ended; rmdir tells
			}
		}
		err = os.Remove(dir)
		if err == nil || errors.Is(err, iofs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
	}
}

// writeFile writes one value to a control file in one write, and never
// creates a file.
func writeFile(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", value, err)
	}
	return nil
}

func hasWord(s, word string) bool { return contains(strings.Fields(s), word) }

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
