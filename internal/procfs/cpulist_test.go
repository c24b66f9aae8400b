package procfs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseCPUList(t *testing.T) {
	for in, want := range map[string][]int{
		"":               {},
		"\n":             {},
		"0":              {0},
		"0-3\n":          {0, 1, 2, 3},
		"0,":             {0},
		"0 1":            {0, 1},
		"3,1,1-2":        {1, 2, 3},
		"0-1:1/2":        {0},
		"0-7:2/4":        {0, 1, 4, 5},
		"2-9:1/3":        {2, 5, 8},
		"0-3:0/2":        {},
		"0-7,9,11,13,15": {0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15}, // a real machine with CPUs switched off
		"0-2,4-6":        {0, 1, 2, 4, 5, 6},
		"1023,1024,4095": {1023, 1024, 4095}, // beyond the fixed masks of many libraries
	} {
		got, err := ParseCPUList(in)
		require.NoError(t, err, "%q", in)
		require.Equal(t, want, got, "%q", in)
	}
	// The kernel answers EINVAL to these.
	for _, in := range []string{"1-0", "1--3", "-1", "0x1", "none", "0-1:2", "0:1/2", "0-1:2/1", "0-1:1/0", "(null)", "1-", "-", "+1", "0-99999999"} {
		_, err := ParseCPUList(in)
		require.Error(t, err, "%q", in)
	}
}

func TestParseCPUListNeedsTheNumberOfCPUsForOpenLists(t *testing.T) {
	for _, in := range []string{"all", "0-N", "N"} {
		_, err := ParseCPUList(in)
		require.ErrorIs(t, err, ErrOpenList, "%q", in)
	}
	for in, want := range map[string][]int{"all": {0, 1, 2, 3}, "2-N": {2, 3}, "N": {3}, "all:1/2": {0, 2}} {
		got, err := ParseCPUListUpTo(in, 3)
		require.NoError(t, err, "%q", in)
		require.Equal(t, want, got, "%q", in)
	}
	_, err := ParseCPUListUpTo("4", 3)
	require.ErrorContains(t, err, "above the highest CPU 3")
}

func TestFormatCPUList(t *testing.T) {
	require.Equal(t, "", FormatCPUList(nil))
	require.Equal(t, "0-1,3,5-7", FormatCPUList([]int{7, 0, 1, 3, 6, 5, 5}))
}

func FuzzParseCPUList(f *testing.F) {
	for _, s := range []string{"", "0-3,8", "0-7:2/4", "all", "1-0", "0,"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := ParseCPUList(s)
		if err != nil {
			return
		}
		again, err := ParseCPUList(FormatCPUList(list))
		require.NoError(t, err)
		require.Equal(t, list, again)
	})
}
