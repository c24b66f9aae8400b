//go:build linux

package abtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/need"
)

func sessionLine() Line {
	return Line{Kind: "session", Session: &Session{Name: "x", Arms: []ArmRecord{{Name: "A"}, {Name: "B"}}}}
}

func roundLine(index int, kept bool) Line {
	return Line{Kind: "round", Round: &RoundRecord{Index: index, Attempt: 1, Kept: kept}}
}

func TestRecordRoundTrip(t *testing.T) {
	f, err := newRecordFile(t.TempDir(), "a/b c", time.Unix(0, 0))
	require.NoError(t, err)
	require.Equal(t, "a_b_c-19700101T000000.000Z.jsonl", filepath.Base(f.path))
	for _, l := range []Line{sessionLine(), roundLine(1, false), roundLine(1, true), roundLine(0, true), {Kind: "end", End: &End{Complete: true}}} {
		require.NoError(t, f.append(l))
	}
	require.NoError(t, f.close())
	r, err := ReadRecord(f.path)
	require.NoError(t, err)
	require.False(t, r.Torn)
	require.True(t, r.End.Complete)
	require.Len(t, r.Rounds, 3)
	kept := r.Kept()
	require.Len(t, kept, 2)
	require.Equal(t, 0, kept[0].Index)
}

// TestRecordTorn: the writer was killed inside a line.
func TestRecordTorn(t *testing.T) {
	f, err := newRecordFile(t.TempDir(), "x", time.Now())
	require.NoError(t, err)
	require.NoError(t, f.append(sessionLine()))
	require.NoError(t, f.append(roundLine(0, true)))
	whole := f.size
	_, err = f.file.WriteAt([]byte(`{"v":1,"kind":"round","rou`), whole)
	require.NoError(t, err)

	r, err := ReadRecord(f.path)
	require.NoError(t, err)
	require.True(t, r.Torn)
	require.Len(t, r.Rounds, 1)

	again, err := openRecordFile(r)
	require.NoError(t, err)
	require.NoError(t, again.append(roundLine(1, true)))
	r, err = ReadRecord(f.path)
	require.NoError(t, err)
	require.False(t, r.Torn)
	require.Len(t, r.Rounds, 2)
}

func TestRecordRefuses(t *testing.T) {
	const session = `{"v":1,"kind":"session","time":"2026-01-01T00:00:00Z","session":{"Name":"x"}}` + "\n"
	const round = `{"v":1,"kind":"round","time":"2026-01-01T00:00:00Z","round":{"Index":0,"Kept":true}}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"", "no whole line"},
		"not JSON":      {session + "no\n", "line 2: not a record line"},
		"other version": {strings.Replace(session, `"v":1`, `"v":9`, 1), "schema version 9"},
		"round first":   {round, "the session line comes first"},
		"two sessions":  {session + session, "line 2"},
		"kept twice":    {session + round + round, "line 3: round 0 is kept twice"},
		"unknown kind":  {session + `{"v":1,"kind":"rumour"}` + "\n", `kind "rumour"`},
		"without part":  {session + `{"v":1,"kind":"round"}` + "\n", `kind "round" without its part`},
		"after the end": {session + `{"v":1,"kind":"end","end":{}}` + "\n" + round, "after the end line"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.jsonl")
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
			_, err := ReadRecord(path)
			var re *RecordError
			require.ErrorAs(t, err, &re)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, path)
		})
	}
}

// TestDiskFull fills a real file system while a record is written: the round is
// lost, the file stays readable, and there is room again to go on.
func TestDiskFull(t *testing.T) {
	dir := smallDisk(t)
	f, err := newRecordFile(dir, "x", time.Now())
	require.NoError(t, err)
	defer f.close()
	require.NoError(t, f.append(sessionLine()))
	require.NoError(t, f.append(roundLine(0, true)))

	filler := filepath.Join(dir, "filler")
	require.ErrorIs(t, os.WriteFile(filler, make([]byte, 4<<20), 0o600), syscall.ENOSPC)
	big := roundLine(1, true)
	big.Round.Interrupted = strings.Repeat("x", 64<<10)
	err = f.append(big)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, "the round is lost")

	r, err := ReadRecord(f.path)
	require.NoError(t, err)
	require.False(t, r.Torn)
	require.Len(t, r.Rounds, 1)

	require.NoError(t, os.Remove(filler))
	require.NoError(t, f.append(big))
	r, err = ReadRecord(f.path)
	require.NoError(t, err)
	require.Len(t, r.Rounds, 2)
}

// smallDisk mounts a file system of one MiB.
func smallDisk(t *testing.T) string {
	dir := t.TempDir()
	if err := syscall.Mount("tare-test", dir, "tmpfs", 0, "size=1m"); err != nil {
		need.Skip(t, "root", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(errors.Join(err, syscall.Unmount(dir, syscall.MNT_DETACH)))
		}
	})
	return dir
}

func FuzzParseRecord(f *testing.F) {
	f.Add(`{"v":1,"kind":"session","session":{"Name":"x","Arms":[{"Name":"A"},{"Name":"B"}]}}` + "\n" + `{"v":1,"kind":"round","round":{"Kept":true}}` + "\n")
	f.Add("\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRecord(strings.NewReader(text))
		if err != nil {
			return
		}
		if r.size > int64(len(text)) {
			t.Fatalf("read %d of %d bytes", r.size, len(text))
		}
		_, _ = Analyze(r) // whatever it says, it does not panic
	})
}
