package envoy_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Envoys that cannot be had for real are this test binary under another name.
const (
	fakeDebug  = "fake-debug"  // says that it is a DEBUG build
	fakeSilent = "fake-silent" // runs, and never gets ready
	fakeDies   = "fake-dies"   // says why and ends with code 3
	fakeOther  = "fake-other"  // no Envoy at all
	fakeLoader = "fake-loader" // what the loader of an old host says
)

func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if !strings.HasPrefix(name, "fake-") {
		os.Exit(m.Run())
	}
	version := len(os.Args) > 1 && os.Args[1] == "--version"
	const sha = "0123456789abcdef0123456789abcdef01234567"
	switch {
	case name == fakeLoader:
		fmt.Fprintln(os.Stderr, os.Args[0]+": /lib/libc.so.6: version `GLIBC_2.99' not found (required by "+os.Args[0]+")")
		syscall.Exit(1)
	case name == fakeOther && version:
		fmt.Println("frobnicator 1.2.3")
	case name == fakeDebug && version:
		fmt.Printf("\n%s  version: %s/1.40.0/Clean/DEBUG/BoringSSL\n\n", os.Args[0], sha)
	case version:
		fmt.Printf("\n%s  version: %s/1.40.0/Clean/RELEASE/BoringSSL\n\n", os.Args[0], sha)
	case name == fakeSilent:
		fmt.Fprintln(os.Stderr, "[info] initializing")
		time.Sleep(time.Minute)
	case name == fakeDies:
		fmt.Fprintln(os.Stderr, "[critical] cannot bind '127.0.0.1:80': Permission denied")
		syscall.Exit(3)
	}
	syscall.Exit(0) // os.Exit would report on coverage, when that is on
}

// fake makes the executable of that name and returns its path.
func fake(t *testing.T, name string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processes are started on Linux only")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	if os.Link(self, path) == nil {
		return path
	}
	in, err := os.Open(self)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	return path
}
