package counters

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/procfs"
)

func write(t *testing.T, root, path, content string) {
	t.Helper()
	path = filepath.Join(root, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func TestAccounting(t *testing.T) {
	root := t.TempDir()
	fs := procfs.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	boot := filepath.Join(root, "boot")
	require.Equal(t, accounting{true, 10e6}, readAccounting(fs, boot), "nothing known: what allows most")

	write(t, root, "proc/sys/kernel/osrelease", "6.1.0-57\n")
	write(t, root, "boot/config-6.1.0-57", "CONFIG_HZ=1000\nCONFIG_IRQ_TIME_ACCOUNTING=y\n")
	require.Equal(t, accounting{true, 1e6}, readAccounting(fs, boot))

	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("# CONFIG_IRQ_TIME_ACCOUNTING is not set\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n"))
	require.NoError(t, z.Close())
	write(t, root, "proc/config.gz", b.String())
	require.Equal(t, accounting{false, 4e6}, readAccounting(fs, boot), "the running kernel's own comes first")

	write(t, root, "sys/devices/system/cpu/nohz_full", "(null)\n")
	require.Equal(t, accounting{false, 4e6}, readAccounting(fs, boot))
	write(t, root, "sys/devices/system/cpu/nohz_full", "2-3\n")
	require.Equal(t, accounting{false, 1e9}, readAccounting(fs, boot))
}

func TestOutside(t *testing.T) {
	root := t.TempDir()
	write(t, root, "stat", "cpu  0 0 0 0 0 0 0 0 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\ncpu9 1 2 3 4 5 10 20 30 0 0\nintr 0\n")
	fs := procfs.FS{Proc: root}
	out, err := outside(fs, []int{9, 12}, true)
	require.NoError(t, err)
	require.Equal(t, []Outside{{CPU: 9, StealNanoseconds: 300e6, InterruptNanoseconds: 300e6, ResolutionNanoseconds: 10e6}}, out)
	out, err = outside(fs, []int{1}, false)
	require.NoError(t, err)
	require.Equal(t, []Outside{{CPU: 1, StealNanoseconds: 80e6, ResolutionNanoseconds: 10e6}}, out)
}

func TestPrivileges(t *testing.T) {
	for _, c := range []struct {
		status           string
		perfmon, seccomp bool
		uid              int
	}{
		{"Name:\tx\nUid:\t1\t2\t3\t4\nCapEff:\t0000004000000000\nSeccomp:\t0\n", true, false, 2},
		{"CapEff:\t0000000000200000\nSeccomp:\t2\nSeccomp_filters:\t1\n", true, true, -1},
		{"CapEff:\t0000000000000001\nSeccomp:\t1\nUid:\tx y\n", false, false, -1},
		{"", false, false, -1},
	} {
		perfmon, seccomp := parsePrivileges(c.status)
		require.Equal(t, c.perfmon, perfmon, c.status)
		require.Equal(t, c.seccomp, seccomp, c.status)
		require.Equal(t, c.uid, parseUID(c.status), c.status)
	}
}

func TestOwnStack(t *testing.T) {
	p, stack, err := readProcess(procfs.FS{}, os.Getpid())
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), p.Pid)
	require.NotZero(t, stack)
	prog, err := program(procfs.FS{}, os.Getpid())
	require.NoError(t, err)
	require.NotZero(t, prog.Inode)
}

func FuzzParseStackStart(f *testing.F) {
	own, err := os.ReadFile("/proc/self/stat")
	require.NoError(f, err)
	f.Add(string(own))
	f.Add("")
	f.Add("1 (a) b) S" + strings.Repeat(" 7", 40))
	f.Add("1 (a" + strings.Repeat(" -1", 40))
	f.Fuzz(func(t *testing.T, s string) {
		v, err := parseStackStart(s)
		if err != nil && v != 0 {
			t.Fatalf("%d comes with %v", v, err)
		}
	})
}
