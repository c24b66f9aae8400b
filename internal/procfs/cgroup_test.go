package procfs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseCgroups(t *testing.T) {
	// A path of containerd holds colons; v1 lines come before the v2 line on a
	// host that has both.
	got, err := ParseCgroups("13:rdma:/kubepods-x.slice:cri-containerd:50ae\n5:cpu,cpuacct:/a\n1:name=systemd:/\n0::/init.scope\n")
	require.NoError(t, err)
	require.Equal(t, []Cgroup{
		{13, []string{"rdma"}, "/kubepods-x.slice:cri-containerd:50ae"},
		{5, []string{"cpu", "cpuacct"}, "/a"},
		{1, []string{"name=systemd"}, "/"},
		{0, nil, "/init.scope"},
	}, got)
	for _, in := range []string{"x", "1:cpu", "a:cpu:/", "-1::/"} {
		_, err := ParseCgroups(in)
		require.Error(t, err, "%q", in)
	}
}

func TestParseMounts(t *testing.T) {
	got, err := ParseMounts("33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime shared:9 master:2 - cgroup cgroup rw,cpu,cpuacct\n" +
		`40 1 0:5 /a\040b /mnt/x\134y ro - tmpfs tmpfs rw` + "\n")
	require.NoError(t, err)
	require.Equal(t, "/sys/fs/cgroup/cpuacct", got[0].MountPoint)
	require.Equal(t, "cgroup", got[0].FSType)
	require.True(t, got[0].Has("cpuacct"))
	require.False(t, got[0].Has("cpua"))
	require.Equal(t, "/a b", got[1].Root)
	require.Equal(t, `/mnt/x\y`, got[1].MountPoint)
	_, err = ParseMounts("1 2 3")
	require.Error(t, err)
}

func FuzzParseCgroups(f *testing.F) {
	f.Add("13:rdma:/a:b\n0::/\n")
	f.Fuzz(func(t *testing.T, s string) { _, _ = ParseCgroups(s) })
}

func FuzzParseMounts(f *testing.F) {
	f.Add("33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n")
	f.Fuzz(func(t *testing.T, s string) { _, _ = ParseMounts(s) })
}

func TestDirOfACgroup(t *testing.T) {
	for _, c := range []struct{ root, cgroup, want string }{
		{"/", "/", "/sys/fs/cgroup"},
		{"/", "/pod/box", "/sys/fs/cgroup/pod/box"},
		{"/docker/x", "/docker/x", "/sys/fs/cgroup"},
		{"/docker/x", "/docker/x/y", "/sys/fs/cgroup/y"},
		{"/docker/x", "/docker/xy", ""},
		{"/docker/x", "/", ""},
	} {
		dir, err := Mount{Root: c.root, MountPoint: "/sys/fs/cgroup"}.Dir(c.cgroup)
		require.Equal(t, c.want, dir)
		require.Equal(t, c.want == "", err != nil, "%+v: %v", c, err)
	}
}
