//go:build linux

package abtest

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/loadgen"
)

// killDirEnv makes TestKilledChild measure, with its record in that directory.
const killDirEnv = "TARE_TEST_KILL_DIR"

func killExperiment(t *testing.T) Experiment {
	e := calm(t)
	e.Name = "killed"
	e.Way = Restart
	e.Rounds, e.Redo = 4, 40
	e.Load = loadgen.Spec{Rate: 300}
	e.RecordDir = os.Getenv(killDirEnv)
	e.Resume = ResumeAuto
	return e
}

// TestKilledChild is the process that TestSIGKILL kills.
func TestKilledChild(t *testing.T) {
	if os.Getenv(killDirEnv) == "" {
		return // TestSIGKILL runs it
	}
	_, err := Measure(context.Background(), killExperiment(t))
	require.NoError(t, err)
}

// TestSIGKILL kills a measuring process at ten random moments. Ten seconds
// later no process of it is left, with no next start. The next start puts the
// rest back before it measures, redoes the interrupted round whole, and neither
// loses nor doubles a finished one.
func TestSIGKILL(t *testing.T) {
	const kills = 10
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	kept := map[int]int64{}
	for i := range kills {
		cmd := killedChild(dir)
		require.NoError(t, cmd.Start())
		time.Sleep(300*time.Millisecond + time.Duration(rng.Int64N(int64(7*time.Second))))
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // says that it was killed
		require.Eventually(t, func() bool { return len(helpers()) == 0 }, 10*time.Second, 20*time.Millisecond,
			"kill %d left processes: %v", i, helpers())
		for index, at := range keptRounds(t, dir) {
			if before, ok := kept[index]; ok {
				require.Equal(t, before, at, "round %d was done again", index)
			}
			kept[index] = at
		}
		for index := range kept {
			require.Contains(t, keptRounds(t, dir), index, "round %d was lost", index)
		}
	}
	t.Logf("rounds kept over %d kills: %d", kills, len(kept))
	cmd := killedChild(dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, leftBehind(t), "not put back by the next start")
	for index, at := range keptRounds(t, dir) {
		if before, ok := kept[index]; ok {
			require.Equal(t, before, at, "round %d was done again", index)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	require.NoError(t, err)
	r, err := ReadRecord(files[len(files)-1])
	require.NoError(t, err)
	require.True(t, r.End != nil && r.End.Complete)
	rounds := r.Kept()
	require.Len(t, rounds, len(r.Session.Plan.Schedule))
	for i, round := range rounds {
		require.Equal(t, i, round.Index)
		require.Len(t, round.Runs, len(r.Session.Plan.Schedule[i].Order), "a round is whole")
	}
}

func killedChild(dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledChild$", "-test.v")
	cmd.Env = append(os.Environ(), killDirEnv+"="+dir)
	return cmd
}

// helpers lists the helper processes of this module, by their environment.
func helpers() []int {
	var pids []int
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range environs {
		text, _ := os.ReadFile(f)
		if strings.Contains(string(text), helperEnv+"=") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// keptRounds reads when each kept round of every record began.
func keptRounds(t *testing.T, dir string) map[int]int64 {
	t.Helper()
	rounds := map[int]int64{}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	require.NoError(t, err)
	for _, f := range files {
		r, err := ReadRecord(f)
		if err != nil {
			require.ErrorContains(t, err, "no whole line")
			continue
		}
		for _, round := range r.Kept() {
			require.NotContains(t, rounds, round.Index, "round %d is kept in two records", round.Index)
			rounds[round.Index] = round.Runs[0].Samples[0].Cost.StartNanoseconds
		}
	}
	return rounds
}
