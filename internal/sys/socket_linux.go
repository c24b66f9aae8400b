package sys

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SocketAddress is a prepared sockaddr: connecting with it allocates nothing.
type SocketAddress struct {
	raw    unix.RawSockaddrInet6 // large enough for both families
	length uint32
	family uint16
}

// NewSocketAddress prepares the TCP address a.
func NewSocketAddress(a netip.AddrPort) SocketAddress {
	var s SocketAddress
	port := [2]byte{byte(a.Port() >> 8), byte(a.Port())}
	if ip := a.Addr().Unmap(); ip.Is4() {
		v4 := (*unix.RawSockaddrInet4)(unsafe.Pointer(&s.raw))
		v4.Family = unix.AF_INET
		v4.Port = *(*uint16)(unsafe.Pointer(&port))
		v4.Addr = ip.As4()
		s.length, s.family = unix.SizeofSockaddrInet4, unix.AF_INET
		return s
	}
	s.raw.Family = unix.AF_INET6
	s.raw.Port = *(*uint16)(unsafe.Pointer(&port))
	s.raw.Addr = a.Addr().As16()
	s.length, s.family = unix.SizeofSockaddrInet6, unix.AF_INET6
	return s
}

// ConnectStart opens a non-blocking, close-on-exec TCP socket without delayed
// sends and starts to connect it. The connection is there, or has failed
// (SocketError), once the socket is writable.
func ConnectStart(a *SocketAddress) (int, error) {
	fd, _, errno := syscall.RawSyscall(unix.SYS_SOCKET, uintptr(a.family),
		unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if errno != 0 {
		return -1, errno
	}
	one := int32(1)
	_, _, errno = syscall.RawSyscall6(unix.SYS_SETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_NODELAY,
		uintptr(unsafe.Pointer(&one)), unsafe.Sizeof(one), 0)
	if errno == 0 {
		_, _, errno = syscall.RawSyscall(unix.SYS_CONNECT, fd, uintptr(unsafe.Pointer(&a.raw)), uintptr(a.length))
	}
	if errno != 0 && errno != unix.EINPROGRESS {
		SocketClose(int(fd))
		return -1, errno
	}
	return int(fd), nil
}

// SocketError takes the pending error of a socket, 0 when there is none.
func SocketError(fd int) syscall.Errno {
	var value int32
	size := uint32(unsafe.Sizeof(value))
	_, _, errno := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_ERROR,
		uintptr(unsafe.Pointer(&value)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return errno
	}
	return syscall.Errno(value)
}

// SocketSend writes b to a non-blocking socket without telling the Go
// scheduler and without SIGPIPE. It returns how much the kernel took.
func SocketSend(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// SocketReceive reads from a non-blocking socket without telling the Go
// scheduler. Zero bytes without an errno is the end of the stream.
func SocketReceive(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// SocketClose closes fd.
func SocketClose(fd int) {
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}
