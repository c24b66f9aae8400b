package realserver

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ports are sockets that are bound and do not listen. The kernel gives their
// ports to nobody who asks for any, while a server that sets SO_REUSEADDR, as
// all of these do, may bind them by number.
type ports struct{ held []*os.File }

func (p *ports) hold() (address string, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("realserver: hold a port: %w", err)
	}
	p.held = append(p.held, os.NewFile(uintptr(fd), "held port"))
	for _, option := range []int{unix.SO_REUSEADDR, unix.SO_REUSEPORT} { // HAProxy sets both
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 1); err != nil {
			return "", fmt.Errorf("realserver: hold a port: %w", err)
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", fmt.Errorf("realserver: hold a port: %w", err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return "", fmt.Errorf("realserver: hold a port: %w", err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*unix.SockaddrInet4).Port)), nil
}

// holdFor fills in the addresses of a server and, with a fifth one, where it
// answers questions.
func (p *ports) holdFor(s *Server, status *string) error {
	for _, a := range []*string{&s.Plain, &s.H2C, &s.TLS, status} {
		if a == nil {
			continue
		}
		var err error
		if *a, err = p.hold(); err != nil {
			return err
		}
	}
	return nil
}

func (p *ports) release() {
	for _, f := range p.held {
		_ = f.Close() // nothing is written
	}
}
