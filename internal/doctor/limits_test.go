package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/procfs"
)

// tree makes a root with files; relative paths within it appear absolute to
// what reads it.
func tree(t *testing.T, files map[string]string) procfs.FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return procfs.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}

const (
	v1Mount = "34 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	v2Mount = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
)

func TestQuota(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
		where string
	}{
		"v2, a pod's limit above the container's": {map[string]string{
			"proc/self/mountinfo": v2Mount, "proc/self/cgroup": "0::/pod/box\n",
			"sys/fs/cgroup/pod/cpu.max": "150000 100000\n", "sys/fs/cgroup/pod/box/cpu.max": "max 100000\n",
		}, 1.5, "/pod"},
		"v2, none": {map[string]string{
			"proc/self/mountinfo": v2Mount, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "cpu\n",
		}, 0, ""},
		"v2, seen from inside a namespace": {map[string]string{
			"proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n",
		}, 0.5, "cgroup"},
		"v1, the tightest counts": {map[string]string{
			"proc/self/mountinfo": v1Mount, "proc/self/cgroup": "4:cpu,cpuacct:/a/b\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "300000\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us": "200000\n", "sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us": "100000\n",
		}, 2, "/a/b"},
		"v1, none": {map[string]string{
			"proc/self/mountinfo": v1Mount, "proc/self/cgroup": "4:cpu,cpuacct:/\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
		}, 0, ""},
		"v1, a mount of a part": {map[string]string{
			"proc/self/mountinfo": "34 25 0:29 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "proc/self/cgroup": "4:cpu:/docker/x\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "25000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "50000\n",
		}, 0.5, "cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := readQuota(tree(t, c.files))
			require.NoError(t, err)
			require.Equal(t, c.want, q.CPUs)
			if c.where != "" {
				require.Regexp(t, c.where+"$", q.Cgroup)
			}
		})
	}
	_, err := readQuota(tree(t, map[string]string{"proc/self/mountinfo": v2Mount, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "lots\n"}))
	require.ErrorContains(t, err, `cpu.max is "lots`)
	_, err = readQuota(procfs.FS{Proc: t.TempDir()})
	require.Error(t, err)
}

func FuzzCPUMax(f *testing.F) {
	for _, s := range []string{"max 100000\n", "150000 100000", "1", "", "0 0", "-1 5", "9223372036854775807 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cpus, err := parseCPUMax(s)
		require.True(t, err != nil || cpus >= 0)
	})
}
