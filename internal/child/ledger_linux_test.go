package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/need"
)

func TestLedgerOfAnOrderlyRun(t *testing.T) {
	state := stateDir(t)
	l, err := OpenLedger(state)
	require.NoError(t, err)
	second, err := OpenLedger(state)
	require.NoError(t, err)
	require.NotEqual(t, l.path, second.path)

	run := filepath.Join(state, "run", "1")
	require.NoError(t, l.AddDir(run), "before it is made")
	p, err := Start(context.Background(), Spec{Name: "nap", Path: "/bin/sleep", Args: []string{"60"}, Ledger: l})
	require.NoError(t, err)
	b, err := os.ReadFile(l.path)
	require.NoError(t, err)
	owner, entries := parseLedger(b)
	require.Equal(t, os.Getpid(), owner.Pid)
	boot, err := proc.BootID()
	require.NoError(t, err)
	require.Equal(t, boot, owner.BootID)
	require.Len(t, entries, 2, "the held process is in the ledger")
	require.Equal(t, p.Pid(), entries[1].Pid)
	require.Equal(t, p.StartTicks(), entries[1].StartTicks)
	require.Equal(t, "nap", entries[1].Name)

	require.NoError(t, p.Release())
	require.NoError(t, p.Stop(time.Second))
	swept, err := Sweep(state)
	require.NoError(t, err)
	require.Empty(t, swept, "the owner is this process")

	require.NoError(t, second.Close())
	require.NoFileExists(t, second.path)
	require.ErrorContains(t, l.Close(), run, "the directory is left")
	require.FileExists(t, l.path)
	require.NoError(t, l.Close(), "again")
	require.ErrorContains(t, l.AddDir(run), "is closed")
	swept, err = Sweep(state)
	require.NoError(t, err)
	require.Empty(t, swept, "the owner still lives")
}

func TestLedgerForgets(t *testing.T) {
	state := stateDir(t)
	l, err := OpenLedger(state)
	require.NoError(t, err)
	outside := t.TempDir()
	require.NoError(t, l.AddDir(outside))
	require.NoError(t, os.RemoveAll(outside))
	require.NoError(t, l.Forget(outside))
	require.NoError(t, l.Close())
	requireNoLedgers(t, state)
}

func TestLedgerRefusesDirectories(t *testing.T) {
	state := stateDir(t)
	l, err := OpenLedger(state)
	require.NoError(t, err)
	defer l.Close()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(t.TempDir(), link))
	toState := filepath.Join(t.TempDir(), "to-state")
	require.NoError(t, os.Symlink(filepath.Dir(state), toState))
	for path, want := range map[string]string{
		"/":                                  "holds the state directory",
		state:                                "holds the state directory",
		filepath.Dir(state):                  "holds the state directory",
		ledgerDir(state):                     "holds the state directory",
		filepath.Join(toState, "state"):      "holds the state directory",
		link:                                 "not a directory",
		"/etc/passwd":                        "not a directory",
		filepath.Join(t.TempDir(), "absent"): "no such file",
	} {
		require.ErrorContains(t, l.AddDir(path), want, path)
	}
	require.ErrorContains(t, l.AddCgroup(filepath.Join(state, "x")), "not on a cgroup file system")
}

// deadLedger writes the ledger of an owner that is dead: this boot, a pid that
// exists with a start time that does not.
func deadLedger(t *testing.T, state string, change func(owner *line), entries ...line) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(ledgerDir(state), 0o700))
	owner, err := self()
	require.NoError(t, err)
	owner.StartTicks--
	if change != nil {
		change(&owner)
	}
	var text []byte
	for _, e := range append([]line{owner}, entries...) {
		b, err := json.Marshal(e)
		require.NoError(t, err)
		text = append(append(text, b...), '\n')
	}
	path := filepath.Join(ledgerDir(state), processKey(owner.Pid, owner.StartTicks)+".jsonl")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// bystander is a process that no ledger wrote about by itself.
func bystander(t *testing.T) (*exec.Cmd, line) {
	t.Helper()
	c := exec.Command("/bin/sleep", "60")
	require.NoError(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	st, err := proc.Process(c.Process.Pid)
	require.NoError(t, err)
	// os/exec returns once exec is certain, so this is sleep.
	exe, err := exeOf(c.Process.Pid)
	require.NoError(t, err)
	return c, line{Kind: kindProcess, Name: "bystander", Pid: st.Pid, StartTicks: st.StartTicks, Pgid: st.Pid, Exes: []exeID{exe}}
}

func actions(swept []Swept) (list []string) {
	for _, s := range swept {
		if s.Kind != kindLedger {
			list = append(list, fmt.Sprintf("%s: %s", s.Kind, s.Action))
		}
	}
	return list
}

func TestSweepKillsOnlyWhatMatches(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*line)
		want   string
		killed bool
	}{
		{"match", func(*line) {}, "process: killed", true},
		{"start time", func(e *line) { e.StartTicks++ }, "process: already gone: the pid now belongs to another process", false},
		{"executable", func(e *line) { e.Exes[0].Inode++ }, "process: left alone: it executes", false},
		{"device", func(e *line) { e.Exes[0].Device++ }, "process: left alone: it executes", false},
		{"no executable", func(e *line) { e.Exes = nil }, "process: left alone: it executes", false},
		{"second executable", func(e *line) { e.Exes = append([]exeID{{}}, e.Exes...) }, "process: killed", true},
		{"pid", func(e *line) { e.Pid = 1 << 30 }, "process: already gone", false},
		{"pid 1", func(e *line) { e.Pid = 1 }, "process: already gone: the pid now belongs to another process", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := stateDir(t)
			cmd, e := bystander(t)
			c.change(&e)
			path := deadLedger(t, state, nil, e)
			swept, err := Sweep(state)
			require.NoError(t, err)
			require.Len(t, actions(swept), 1, "%v", swept)
			require.Contains(t, actions(swept)[0], c.want)
			require.Equal(t, !c.killed, alive(cmd.Process.Pid))
			require.NoFileExists(t, path)
			if c.killed {
				require.Error(t, cmd.Wait())
			}
		})
	}
}

func TestSweepTellsWhoIsAlive(t *testing.T) {
	_, e := bystander(t)
	for _, c := range []struct {
		name   string
		change func(*line)
		want   []string
	}{
		{"the owner lives", func(o *line) { o.StartTicks++ }, nil},
		{"another boot", func(o *line) { o.BootID = "another" }, nil}, // processes are not looked at
		{"another pid namespace", func(o *line) { o.PidNamespace = "pid:[1]" }, nil},
		{"the number is free", func(o *line) { o.Pid = 1 << 30 }, []string{"process: already gone: the pid now belongs to another process"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := stateDir(t)
			other := e
			other.StartTicks++
			path := deadLedger(t, state, c.change, other)
			swept, err := Sweep(state)
			require.NoError(t, err)
			require.Equal(t, c.want, actions(swept))
			switch c.name {
			case "the owner lives", "another pid namespace":
				require.FileExists(t, path)
			default:
				require.NoFileExists(t, path)
			}
		})
	}
}

// A kill can cut the file anywhere, a full disk in the middle of a line.
func TestSweepOfCutLedgers(t *testing.T) {
	state := stateDir(t)
	cmd, e := bystander(t)
	path := deadLedger(t, state, nil, e, line{Kind: kindDir, Path: filepath.Join(state, "run")})
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	first := strings.IndexByte(string(whole), '\n') + 1
	for n := 0; n < len(whole)-200; n += 7 { // the entry of the process is cut too
		if n > first+50 {
			break
		}
		require.NoError(t, os.WriteFile(path, whole[:n], 0o600))
		_, err := Sweep(state)
		require.NoError(t, err, "cut at %d", n)
		require.NoFileExists(t, path)
		require.True(t, alive(cmd.Process.Pid))
	}
	require.NoError(t, os.WriteFile(path, append(append([]byte{}, whole[:first]...), append([]byte("{\"kind\":\"proc\n\n"), whole[first:]...)...), 0o600))
	_, err = Sweep(state)
	require.NoError(t, err)
	require.False(t, alive(cmd.Process.Pid), "the lines after a cut one count")
}

func TestSweepRemovesDirectories(t *testing.T) {
	state := stateDir(t)
	precious := t.TempDir()
	file := filepath.Join(precious, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	l, err := OpenLedger(state)
	require.NoError(t, err)

	inside := filepath.Join(state, "run", "1")
	require.NoError(t, l.AddDir(inside))
	require.NoError(t, os.MkdirAll(filepath.Join(inside, "a", "b"), 0o700))
	require.NoError(t, os.Symlink(precious, filepath.Join(inside, "a", "link")))
	never := filepath.Join(state, "run", "never")
	require.NoError(t, l.AddDir(never))
	outside := t.TempDir()
	require.NoError(t, l.AddDir(outside))
	replaced := filepath.Join(t.TempDir(), "replaced")
	require.NoError(t, os.Mkdir(replaced, 0o700))
	require.NoError(t, l.AddDir(replaced))
	require.NoError(t, os.Rename(replaced, replaced+".old"))
	require.NoError(t, os.Mkdir(replaced, 0o700))
	linked := filepath.Join(t.TempDir(), "linked")
	require.NoError(t, os.Mkdir(linked, 0o700))
	require.NoError(t, l.AddDir(linked))
	require.NoError(t, os.Remove(linked))
	require.NoError(t, os.Symlink(precious, linked))
	through := filepath.Join(state, "through", "precious")
	require.NoError(t, l.AddDir(through))
	require.NoError(t, os.Symlink(filepath.Dir(precious), filepath.Join(state, "through")))
	through2 := filepath.Join(state, "through", filepath.Base(precious))

	b, err := os.ReadFile(l.path)
	require.NoError(t, err)
	_, entries := parseLedger(b)
	entries = append(entries, line{Kind: kindDir, Path: through2}, line{Kind: kindDir, Path: state}, line{Kind: kindDir, Path: "/"})
	dead := deadLedger(t, state, nil, entries...)
	swept, err := Sweep(state)
	require.NoError(t, err)
	got := map[string]string{}
	for _, s := range swept {
		got[s.What] = s.Action
	}
	require.Equal(t, map[string]string{
		inside: "removed", never: "already gone", outside: "removed",
		replaced: "left alone: it is not the directory that was recorded",
		linked:   "left alone: it is no directory any more",
		through:  "already gone",
		through2: "left alone: it leads through a link to " + precious,
		state:    "left alone: it holds the state directory",
		"/":      "left alone: it holds the state directory",
		dead:     "removed",
	}, got)
	require.NoDirExists(t, inside)
	require.NoDirExists(t, outside)
	require.DirExists(t, replaced)
	require.FileExists(t, file)
	require.Error(t, l.Close())
}

func TestSweepEmptiesCgroups(t *testing.T) {
	parent, err := writableCgroup()
	need.Skip(t, "cgroup", err)
	state := stateDir(t)
	cmd, e := bystander(t)
	path := filepath.Join(parent, fmt.Sprintf("tare-child-test-%d", os.Getpid()))
	l, err := OpenLedger(state)
	require.NoError(t, err)
	require.NoError(t, l.AddCgroup(path), "before it is made")
	require.NoError(t, l.Forget(path))
	require.NoError(t, l.Close())

	require.NoError(t, os.Mkdir(path, 0o755))
	defer syscall.Rmdir(path)
	require.NoError(t, os.WriteFile(filepath.Join(path, "cgroup.procs"), fmt.Append(nil, e.Pid), 0))
	deadLedger(t, state, func(o *line) { o.BootID = "another" }, line{Kind: kindCgroup, Path: path})
	swept, err := Sweep(state)
	require.NoError(t, err)
	require.Equal(t, []string{"cgroup: already gone: it was of another boot"}, actions(swept))
	require.DirExists(t, path)

	deadLedger(t, state, nil, line{Kind: kindCgroup, Path: path}, line{Kind: kindCgroup, Path: path + "-never"}, line{Kind: kindCgroup, Path: state})
	swept, err = Sweep(state)
	require.NoError(t, err)
	got := actions(swept)
	require.Len(t, got, 3)
	require.Contains(t, got[0], "cgroup: left alone: "+state+" is not on a cgroup file system")
	require.Equal(t, []string{"cgroup: already gone", "cgroup: removed, 1 processes moved to the parent"}, got[1:])
	require.NoDirExists(t, path)
	require.True(t, alive(cmd.Process.Pid))
}

// writableCgroup finds a cgroup directory in which a group can be made that
// takes processes without further settings.
func writableCgroup() (string, error) {
	mounts, err := proc.SelfMounts()
	if err != nil {
		return "", err
	}
	why := errors.New("no cgroup file system is mounted")
	for _, m := range mounts {
		if m.FSType != "cgroup2" && !(m.FSType == "cgroup" && m.Has("pids")) {
			continue
		}
		probe := filepath.Join(m.MountPoint, fmt.Sprintf("tare-child-probe-%d", os.Getpid()))
		if why = os.Mkdir(probe, 0o755); why == nil {
			return m.MountPoint, os.Remove(probe)
		}
	}
	return "", why
}

func TestSweepOfNothing(t *testing.T) {
	swept, err := Sweep(filepath.Join(t.TempDir(), "absent"))
	require.NoError(t, err)
	require.Empty(t, swept)

	state := stateDir(t)
	require.NoError(t, os.MkdirAll(ledgerDir(state), 0o700))
	notes := filepath.Join(ledgerDir(state), "notes.jsonl")
	require.NoError(t, os.WriteFile(notes, nil, 0o600))
	_, err = Sweep(state)
	require.NoError(t, err)
	require.FileExists(t, notes, "no ledger's name")

	require.NoError(t, os.Chmod(ledgerDir(state), 0o777))
	_, err = Sweep(state)
	require.ErrorContains(t, err, "chmod 0700")
}

// Any content: never a panic, and entries only from whole lines.
func FuzzParseLedger(f *testing.F) {
	f.Add([]byte("{\"kind\":\"owner\",\"pid\":1}\n{\"kind\":\"process\",\"pid\":2,\"start_ticks\":3}\n"))
	f.Add([]byte("{\"kind\":\"directory\",\"path\":\"/a\"}\n{\"kind\":\"forget\",\"key\":\"/a\"}\n{\"kind\":"))
	f.Add([]byte("\n\n{}\n[]\nnull\n{\"kind\":\"process\",\"pid\":-1}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, entries := parseLedger(b)
		for _, e := range entries {
			if e.Kind == kindProcess && e.Pid <= 0 {
				t.Errorf("entry for pid %d", e.Pid)
			}
		}
	})
}
