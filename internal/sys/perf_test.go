package sys

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func words(w ...uint64) []byte {
	var b []byte
	for _, v := range w {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

func TestParsePerfGroup(t *testing.T) {
	g, err := ParsePerfGroup(words(2, 100, 90, 11, 7, 12, 8))
	require.NoError(t, err)
	require.Equal(t, PerfGroup{EnabledNanoseconds: 100, RunningNanoseconds: 90, Values: []PerfValue{{11, 7}, {12, 8}}}, g)

	_, err = ParsePerfGroup(nil)
	require.ErrorIs(t, err, io.EOF)

	for name, b := range map[string][]byte{
		"short header":       words(1, 2),
		"one event missing":  words(2, 1, 1, 5, 5),
		"one event too many": words(0, 1, 1, 5, 5),
		"half an event":      words(1, 1, 1, 5),
		"odd bytes":          append(words(1, 1, 1, 5, 5), 0),
		"count that wraps":   words(1<<60, 1, 1, 5, 5),
	} {
		_, err := ParsePerfGroup(b)
		require.ErrorIs(t, err, ErrPerfFormat, name)
	}
}

func FuzzParsePerfGroup(f *testing.F) {
	f.Add([]byte{})
	f.Add(words(0, 0, 0))
	f.Add(words(2, 100, 90, 11, 7, 12, 8))
	f.Add(words(1<<63, 1, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := ParsePerfGroup(b)
		if err == nil && PerfGroupSize(len(g.Values)) != len(b) {
			t.Fatalf("%d values from %d bytes", len(g.Values), len(b))
		}
	})
}
