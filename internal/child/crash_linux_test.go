package child

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// SIGKILL of the parent ends its children at once, held or running, and Sweep
// finds what these had forked.
func TestKilledParent(t *testing.T) {
	t.Run("ptrace", func(t *testing.T) { testKilledParent(t, "sleep", "") })
	t.Run("gate", func(t *testing.T) { testKilledParent(t, "sh", "1") })
}

func testKilledParent(t *testing.T, heldComm, gate string) {
	state := stateDir(t)
	c, out := run(t, "parent", stateEnv+"="+state, gateEnv+"="+gate)
	var pids []int
	require.NoError(t, json.Unmarshal([]byte(readLine(t, out)), &pids))
	require.Len(t, pids, 5)
	for _, pid := range pids {
		require.True(t, alive(pid), "pid %d lives as long as its parent", pid)
	}
	held, err := proc.Process(pids[0])
	require.NoError(t, err)
	require.Equal(t, heldComm, held.Comm)

	swept, err := Sweep(state)
	require.NoError(t, err)
	require.Empty(t, swept, "the owner lives")

	kill9(t, c)
	requireGone(t, 2*time.Second, pids[:3]...)
	require.True(t, alive(pids[3]) && alive(pids[4]), "the kernel does not reach what the children forked")

	swept, err = Sweep(state)
	require.NoError(t, err)
	actions := map[int]string{}
	for _, s := range swept {
		actions[s.Pid] = s.Action
	}
	for _, pid := range pids[:3] {
		require.Equal(t, "already gone", actions[pid])
	}
	require.Equal(t, "killed", actions[pids[3]])
	require.Equal(t, "killed", actions[pids[4]])
	require.Equal(t, "removed", actions[c.Process.Pid])
	require.False(t, alive(pids[3]) || alive(pids[4]))
	requireNoLedgers(t, state)
}

func requireNoLedgers(t *testing.T, state string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(ledgerDir(state), "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// SIGKILL of the parent at random moments around Start, Release and Stop: what
// it started is gone by itself, what that forked and the directories are gone
// after the next Sweep.
func TestKilledParentAtRandomMoments(t *testing.T) {
	moments := 20
	if testing.Short() {
		moments = 3
	}
	for range moments {
		state := stateDir(t)
		mark := stateEnv + "=" + state
		c, out := run(t, "busy-parent", mark)
		require.Equal(t, "ready", readLine(t, out))
		time.Sleep(time.Duration(rand.Int64N(int64(30 * time.Millisecond))))
		kill9(t, c)

		// The shells are children; the sleeps are what they forked.
		require.Eventually(t, func() bool {
			for _, p := range withVariable(mark) {
				if p.Comm != "sleep" {
					return false
				}
			}
			return true
		}, 2*time.Second, 5*time.Millisecond, "%+v", withVariable(mark))
		_, err := Sweep(state)
		require.NoError(t, err)
		require.Empty(t, withVariable(mark))
		requireNoLedgers(t, state)
		dirs, err := os.ReadDir(filepath.Join(state, "run"))
		if !os.IsNotExist(err) {
			require.NoError(t, err)
		}
		require.Empty(t, dirs)
	}
}
