package pinning

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhereCpusetsAreMade(t *testing.T) {
	const (
		v1   = "34 31 0:31 ROOT /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
		v2   = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		pids = "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
	)
	for _, c := range []struct {
		name, mounts, cgroup, handed string
		want, err                    string
	}{
		{name: "v1 at the root", mounts: strings.Replace(v1, "ROOT", "/", 1) + v2, cgroup: "3:cpuset:/\n0::/\n", want: "fs/cgroup/cpuset"},
		{name: "v1 below, with colons", mounts: strings.Replace(v1, "ROOT", "/", 1), cgroup: "3:cpuset,memory:/a:b/c\n", want: "fs/cgroup/cpuset/a:b/c"},
		{name: "v1 of a container", mounts: strings.Replace(v1, "ROOT", "/docker/x", 1), cgroup: "3:cpuset:/docker/x/y\n", want: "fs/cgroup/cpuset/y"},
		{name: "v1 mounted elsewhere", mounts: strings.Replace(v1, "ROOT", "/docker/x", 1), cgroup: "3:cpuset:/docker/xy\n", err: "outside of what is mounted"},
		{name: "v1 without a line", mounts: strings.Replace(v1, "ROOT", "/", 1), cgroup: "0::/\n", err: "in no cpuset"},
		{name: "v2", mounts: pids + v2, cgroup: "0::/user.slice\n", handed: "cpuset cpu io\n", want: "fs/cgroup/unified"},
		{name: "v2 that hands out no cpusets", mounts: v2, cgroup: "0::/\n", handed: "cpu io\n", err: "does not hand the cpuset controller"},
		{name: "nothing", mounts: pids, cgroup: "1:pids:/\n", err: "no cgroup hierarchy with cpusets"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := machine{
				"proc/self/mountinfo":                          c.mounts,
				"proc/self/cgroup":                             c.cgroup,
				"sys/fs/cgroup/unified/cgroup.subtree_control": c.handed,
			}.fs(t)
			h, err := (&Placement{fs: fs}).findHierarchy()
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, filepath.Join(fs.Sys, c.want), h.parent)
		})
	}
}
