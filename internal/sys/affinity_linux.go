package sys

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

const wordBits = bits.UintSize // the kernel's mask is an array of unsigned long

// SetAffinity lets one thread run on the given CPUs only; tid 0 is the calling
// thread. The kernel silently drops CPUs that the thread's cpuset does not
// have and answers EINVAL when none is left, so a caller that must know reads
// the mask back. Any CPU number is allowed, above 1023 too.
func SetAffinity(tid int, cpus []int) error {
	if len(cpus) == 0 {
		return fmt.Errorf("sched_setaffinity(%d): no CPUs given: %w", tid, unix.EINVAL)
	}
	if least := slices.Min(cpus); least < 0 {
		return fmt.Errorf("sched_setaffinity(%d): CPU %d: %w", tid, least, unix.EINVAL)
	}
	mask := make([]uint, slices.Max(cpus)/wordBits+1)
	for _, cpu := range cpus {
		mask[cpu/wordBits] |= 1 << (cpu % wordBits)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, uintptr(tid), uintptr(len(mask)*wordBits/8), uintptr(unsafe.Pointer(&mask[0])))
	runtime.KeepAlive(mask)
	if errno != 0 {
		return fmt.Errorf("sched_setaffinity(%d): %w", tid, errno)
	}
	return nil
}

// GetAffinity lists the CPUs that one thread may run on, ascending; tid 0 is
// the calling thread.
func GetAffinity(tid int) ([]int, error) {
	// The kernel answers EINVAL until the buffer holds all the CPUs that it
	// was built for, which nothing tells: 2^16 is beyond any build.
	for words := 1024 / wordBits; ; words *= 2 {
		mask := make([]uint, words)
		n, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, uintptr(tid), uintptr(words*wordBits/8), uintptr(unsafe.Pointer(&mask[0])))
		runtime.KeepAlive(mask)
		if errno == 0 {
			return maskCPUs(mask[:int(n)*8/wordBits]), nil
		}
		if !errors.Is(errno, unix.EINVAL) || words*wordBits >= 1<<16 {
			return nil, fmt.Errorf("sched_getaffinity(%d): %w", tid, errno)
		}
	}
}

func maskCPUs(mask []uint) []int {
	var cpus []int
	for i, word := range mask {
		for word != 0 {
			cpus = append(cpus, i*wordBits+bits.TrailingZeros(word))
			word &= word - 1
		}
	}
	return cpus
}
