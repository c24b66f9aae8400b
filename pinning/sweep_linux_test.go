package pinning

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/need"
)

const killedVariable = "TARE_PINNING_TEST_STATE"

// beKilled applies a plan with a ledger in dir, says what it made, and waits
// for its end.
func beKilled(dir string) {
	check := func(err error) {
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	l, err := child.OpenLedger(dir)
	check(err)
	topology, err := ReadTopology(FS{})
	check(err)
	plan, err := topology.Plan(Wish{})
	check(err)
	p, err := Apply(plan, ApplyOptions{Ledger: l})
	check(err)
	for _, dir := range p.sets {
		fmt.Println(dir)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func TestWhatAKillLeavesIsSwept(t *testing.T) {
	need.Skip(t, "cpuset", (&Placement{plan: hostPlan(t)}).tryMakeSets())
	state := t.TempDir()
	require.NoError(t, os.Chmod(state, 0o700))
	pid := startThreads(t)

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killedVariable+"="+state)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var dirs []string
	for s := bufio.NewScanner(out); s.Scan() && s.Text() != "ready"; {
		dirs = append(dirs, s.Text())
	}
	require.Len(t, dirs, 4, "%v", dirs)
	for _, dir := range dirs {
		require.DirExists(t, dir)
	}
	// A process of the killed run that outlives it.
	require.NoError(t, writeFile(filepath.Join(dirs[0], "cgroup.procs"), fmt.Sprint(pid)))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()

	swept, err := child.Sweep(state)
	require.NoError(t, err)
	cgroups := 0
	for _, s := range swept {
		if strings.HasPrefix(s.Kind, "cgroup") {
			cgroups++
		}
	}
	require.Equal(t, 4, cgroups, "%v", swept)
	for _, dir := range dirs {
		require.NoDirExists(t, dir)
	}
}

func (p *Placement) tryMakeSets() error {
	if err := p.makeSets(); err != nil {
		return err
	}
	return p.removeSets()
}
