package sys

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PerfBitInheritThread (bit 35 of the attribute bits, Linux 5.13) limits
// inheritance to threads: forked processes are not counted. x/sys names the
// bits only up to 27.
const PerfBitInheritThread uint64 = 1 << 35

// PerfEventOpen opens one perf event with close-on-exec. It fills in
// attr.Size; the kernel accepts a size it does not know when the bytes it does
// not know are zero. groupFD is -1 for a group leader. The caller owns the
// descriptor.
func PerfEventOpen(attr *unix.PerfEventAttr, pid, cpu, groupFD int) (int, error) {
	attr.Size = uint32(unsafe.Sizeof(*attr))
	for {
		fd, err := unix.PerfEventOpen(attr, pid, cpu, groupFD, unix.PERF_FLAG_FD_CLOEXEC)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// PerfEventEnable starts the event fd (and not its group members: those opened
// without the disabled bit follow their leader).
func PerfEventEnable(fd int) error {
	return unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0)
}

// PerfEventDisable stops the event fd.
func PerfEventDisable(fd int) error {
	return unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0)
}

// PerfEventID is the kernel's id of the event fd, as it appears in group reads.
func PerfEventID(fd int) (uint64, error) {
	var id uint64
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id)))
	if errno != 0 {
		return 0, errno
	}
	return id, nil
}

// PerfEventReadGroup reads the group whose leader is fd in one system call.
// The group may have up to n events. A group in error state gives io.EOF.
func PerfEventReadGroup(fd, n int) (PerfGroup, error) {
	// Room for one event more than expected, so that a grown group is seen as
	// one and not as ENOSPC.
	b := make([]byte, PerfGroupSize(n+1))
	for {
		m, err := unix.Read(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return PerfGroup{}, err
		}
		return ParsePerfGroup(b[:m])
	}
}

// Close closes a descriptor that the caller owns. It is not retried after
// EINTR: on Linux the descriptor is gone either way.
func Close(fd int) error { return unix.Close(fd) }

// FileLimit is RLIMIT_NOFILE of this process.
func FileLimit() (soft, hard uint64, err error) {
	var l unix.Rlimit
	if err := prlimit(nil, &l); err != nil {
		return 0, 0, fmt.Errorf("read the descriptor limit: %w", err)
	}
	return l.Cur, l.Max, nil
}

// RaiseFileLimit raises the soft descriptor limit of this process to the hard
// one. Processes started by the Go runtime keep the limit this process was
// started with, which is why the raw call is used: unix.Prlimit would change
// theirs too.
func RaiseFileLimit() (raised bool, err error) {
	var l unix.Rlimit
	if err := prlimit(nil, &l); err != nil {
		return false, fmt.Errorf("read the descriptor limit: %w", err)
	}
	if l.Cur >= l.Max {
		return false, nil
	}
	was := l.Cur
	l.Cur = l.Max
	if err := prlimit(&l, nil); err != nil {
		return false, fmt.Errorf("raise the descriptor limit from %d to %d: %w", was, l.Max, err)
	}
	return true, nil
}

func prlimit(set, get *unix.Rlimit) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
