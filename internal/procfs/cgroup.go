package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Mount is one line of /proc/PID/mountinfo.
type Mount struct {
	Root         string   // path of the mounted directory within its file system
	MountPoint   string   // where it is mounted, as the process sees it
	Options      []string // per mount
	FSType       string
	Source       string
	SuperOptions []string // of the file system; for cgroup v1 they name the controllers
}

// Has reports whether the super options hold one by this exact name.
func (m Mount) Has(option string) bool { return slices.Contains(m.SuperOptions, option) }

// Dir is the directory of a cgroup of this hierarchy, by its path in
// /proc/PID/cgroup. Only a part of a hierarchy may be mounted (in containers);
// a cgroup outside of it has no directory.
func (m Mount) Dir(cgroup string) (string, error) {
	path := cgroup
	if m.Root != "/" {
		rest, ok := strings.CutPrefix(path, m.Root)
		if !ok || rest != "" && rest[0] != '/' {
			return "", fmt.Errorf("the cgroup %s lies outside of what is mounted at %s", cgroup, m.MountPoint)
		}
		path = rest
	}
	return filepath.Join(m.MountPoint, path), nil
}

// Mounts reads the mounts that a process sees.
func (fs FS) Mounts(pid int) ([]Mount, error) {
	b, err := os.ReadFile(fs.proc(strconv.Itoa(pid), "mountinfo"))
	if err != nil {
		return nil, gone(err)
	}
	return ParseMounts(string(b))
}

// SelfMounts reads the mounts that this process sees.
func (fs FS) SelfMounts() ([]Mount, error) {
	b, err := os.ReadFile(fs.proc("self", "mountinfo"))
	if err != nil {
		return nil, err
	}
	return ParseMounts(string(b))
}

// ParseMounts reads the content of a mountinfo file.
func ParseMounts(s string) ([]Mount, error) {
	var mounts []Mount
	for _, line := range strings.Split(s, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 6 || len(right) < 2 {
			return nil, fmt.Errorf("procfs: mountinfo line %q is not in the form of proc(5)", line)
		}
		m := Mount{
			Root: unescape(left[3]), MountPoint: unescape(left[4]), Options: strings.Split(left[5], ","),
			FSType: right[0], Source: unescape(right[1]),
		}
		if len(right) > 2 {
			m.SuperOptions = strings.Split(right[2], ",")
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// unescape undoes the octal escapes that the kernel writes for space, tab,
// newline and backslash.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Cgroup is one line of /proc/PID/cgroup.
type Cgroup struct {
	Hierarchy   int      // 0 is cgroup v2
	Controllers []string // empty for v2; "name=x" for a named v1 hierarchy
	Path        string   // within the hierarchy, as seen from this cgroup namespace
}

// Cgroups reads the cgroups that a process is in, one for each hierarchy.
func (fs FS) Cgroups(pid int) ([]Cgroup, error) {
	b, err := os.ReadFile(fs.proc(strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return nil, gone(err)
	}
	return ParseCgroups(string(b))
}

// SelfCgroups reads the cgroups that this process is in.
func (fs FS) SelfCgroups() ([]Cgroup, error) {
	b, err := os.ReadFile(fs.proc("self", "cgroup"))
	if err != nil {
		return nil, err
	}
	return ParseCgroups(string(b))
}

// ParseCgroups reads the content of a cgroup file. A path may hold colons.
func ParseCgroups(s string) ([]Cgroup, error) {
	var cgroups []Cgroup
	for _, line := range strings.Split(s, "\n") {
		if line == "" {
			continue
		}
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("procfs: cgroup line %q is not id:controllers:path", line)
		}
		id, err := strconv.Atoi(parts[0])
		if err != nil || id < 0 {
			return nil, fmt.Errorf("procfs: cgroup line %q has no hierarchy number", line)
		}
		c := Cgroup{Hierarchy: id, Path: parts[2]}
		if parts[1] != "" {
			c.Controllers = strings.Split(parts[1], ",")
		}
		cgroups = append(cgroups, c)
	}
	return cgroups, nil
}
