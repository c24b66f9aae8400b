package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// EpollEvent is the kernel's struct epoll_event as x/sys declares it.
type EpollEvent = unix.EpollEvent

// EpollCreate returns a new close-on-exec epoll descriptor.
func EpollCreate() (int, error) {
	return unix.EpollCreate1(unix.EPOLL_CLOEXEC)
}

// EpollAdd registers fd with the given events; token comes back in Fd of
// each event.
func EpollAdd(epfd, fd int, events uint32, token int32) error {
	event := unix.EpollEvent{Events: events, Fd: token}
	return unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, fd, &event)
}

// EpollPoll collects events without waiting. It does not tell the Go
// scheduler about the call, because the call cannot block: callers on a hot
// path save the hand-off.
func EpollPoll(epfd int, events []EpollEvent) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	return int(n), errno
}

// EpollWaitNanoseconds waits with epoll_pwait2, whose time-out has nanosecond
// resolution. A negative timeout waits without end. Kernels before 5.11
// answer ENOSYS.
func EpollWaitNanoseconds(epfd int, events []EpollEvent, timeoutNanoseconds int64) (int, syscall.Errno) {
	var limit *unix.Timespec
	spec := unix.NsecToTimespec(timeoutNanoseconds)
	if timeoutNanoseconds >= 0 {
		limit = &spec
	}
	n, _, errno := syscall.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)),
		uintptr(unsafe.Pointer(limit)), 0, 0)
	return int(n), errno
}

// EpollWaitHolding is EpollWaitNanoseconds without telling the Go scheduler,
// for waits so short that its hand-off, and the monitor thread that a long
// system call keeps awake, would cost more than the processor that is held
// meanwhile. A signal of the scheduler ends it with EINTR.
func EpollWaitHolding(epfd int, events []EpollEvent, timeoutNanoseconds int64) (int, syscall.Errno) {
	spec := unix.NsecToTimespec(max(timeoutNanoseconds, 0))
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)),
		uintptr(unsafe.Pointer(&spec)), 0, 0)
	return int(n), errno
}

// EpollWaitMilliseconds waits with epoll_pwait, which every kernel has. A
// negative timeout waits without end.
func EpollWaitMilliseconds(epfd int, events []EpollEvent, timeoutMilliseconds int) (int, syscall.Errno) {
	n, _, errno := syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)),
		uintptr(timeoutMilliseconds), 0, 0)
	return int(n), errno
}

// EpollDelete takes fd out of epfd, which forgets its events.
func EpollDelete(epfd, fd int) error {
	return unix.EpollCtl(epfd, unix.EPOLL_CTL_DEL, fd, nil)
}
