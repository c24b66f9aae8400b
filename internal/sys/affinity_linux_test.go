package sys

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestAffinity(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	all, err := GetAffinity(0)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	// A CPU that does not exist is dropped by the kernel, also far above 1023.
	last := all[len(all)-1]
	require.NoError(t, SetAffinity(0, []int{last, 5000}))
	got, err := GetAffinity(unix.Gettid())
	require.NoError(t, err)
	require.Equal(t, []int{last}, got)
	require.ErrorIs(t, SetAffinity(0, []int{5000}), unix.EINVAL)
	require.ErrorIs(t, SetAffinity(0, nil), unix.EINVAL)
	require.ErrorIs(t, SetAffinity(0, []int{-1}), unix.EINVAL)
	require.NoError(t, SetAffinity(0, all))
}

func TestMaskCPUs(t *testing.T) {
	mask := make([]uint, 4096/wordBits)
	for _, cpu := range []int{0, 63, 64, 1023, 1024, 4095} {
		mask[cpu/wordBits] |= 1 << (cpu % wordBits)
	}
	require.Equal(t, []int{0, 63, 64, 1023, 1024, 4095}, maskCPUs(mask))
}
