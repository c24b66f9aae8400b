package procfs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseCPUTimesTakesTheNumberFromTheName(t *testing.T) {
	got, err := ParseCPUTimes("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu8 10 0 0 90 0 0 0 0 0 0\nintr 1 2 3\n")
	require.NoError(t, err)
	require.Equal(t, CPUTime{
		CPU: 0, UserNanoseconds: 1e7, NiceNanoseconds: 2e7, SystemNanoseconds: 3e7, IdleNanoseconds: 4e7, IOWaitNanoseconds: 5e7,
		IRQNanoseconds: 6e7, SoftIRQNanoseconds: 7e7, StealNanoseconds: 8e7, GuestNanoseconds: 9e7,
	}, got[0])
	require.Equal(t, 8, got[1].CPU, "CPUs 1 to 7 are offline")
	for _, in := range []string{"", "cpu 1 2 3", "cpu0 1 2 3", "cpu0 1 2 3 4 5 6 x 8 9", "cpu0 -1 2 3 4 5 6 7 8 9", "cpu0 1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8"} {
		_, err := ParseCPUTimes(in)
		require.Error(t, err, "%q", in)
	}
}

func FuzzParseCPUTimes(f *testing.F) {
	f.Add("cpu0 1 2 3 4 5 6 7 8 9 10\n")
	f.Fuzz(func(t *testing.T, s string) {
		times, err := ParseCPUTimes(s)
		if err == nil {
			require.NotEmpty(t, times)
		}
	})
}
