package loadgen

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The test binary runs itself again as a generator process.
const serveVariable = "TARE_TEST_LOADGEN_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// generatorProcess starts Serve in a process of its own.
func generatorProcess(t testing.TB) (*Remote, *exec.Cmd) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), serveVariable+"=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	require.NoError(t, err)
	// Not StdoutPipe: Wait would close it under the Remote's reader.
	out, childOut, err := os.Pipe()
	require.NoError(t, err)
	c.Stdout = childOut
	require.NoError(t, c.Start())
	childOut.Close()
	r := NewRemote(in, out)
	t.Cleanup(func() {
		in.Close()
		c.Wait() // its exit is the test's to judge
		out.Close()
	})
	return r, c
}

var _ io.Closer = (*Remote)(nil)
