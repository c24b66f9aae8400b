package main

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// entry reads one entry as the kernel does (init/initramfs.c), by the offsets
// of its header.
func entry(t *testing.T, b []byte) (name string, mode uint64, data, rest []byte) {
	t.Helper()
	require.Equal(t, "070701", string(b[:6]))
	field := func(i int) int {
		v, err := strconv.ParseUint(string(b[6+8*i:14+8*i]), 16, 32)
		require.NoError(t, err)
		return int(v)
	}
	up := func(n int) int { return (n + 3) &^ 3 }
	size, length := field(6), field(11)
	name = string(b[110 : 110+length])
	at := up(110 + length)
	return name, uint64(field(1)), b[at : at+size], b[up(at+size):]
}

func TestArchive(t *testing.T) {
	var b bytes.Buffer
	a := archive{w: &b}
	a.directory("dev")
	a.character("dev/console", 5, 1)
	for n := range 9 { // every padding
		a.file(strings.Repeat("n", n+1), 0o755, bytes.Repeat([]byte{'d'}, n))
	}
	require.NoError(t, a.end())

	name, mode, _, rest := entry(t, b.Bytes())
	require.Equal(t, "dev\x00", name)
	require.EqualValues(t, 0o040755, mode)
	device := rest
	name, mode, _, rest = entry(t, rest)
	require.Equal(t, "dev/console\x00", name)
	require.EqualValues(t, 0o020600, mode)
	require.Equal(t, "0000000500000001", string(device[6+8*9:6+8*11]), "major and minor number")
	for n := range 9 {
		var data []byte
		name, mode, data, rest = entry(t, rest)
		require.Equal(t, strings.Repeat("n", n+1)+"\x00", name)
		require.EqualValues(t, 0o100755, mode)
		require.Equal(t, strings.Repeat("d", n), string(data))
	}
	name, _, _, rest = entry(t, rest)
	require.Equal(t, "TRAILER!!!\x00", name)
	require.Empty(t, rest)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestArchiveError(t *testing.T) {
	a := archive{w: full{}}
	a.directory("dev")
	require.EqualError(t, a.end(), "no space")
}
