package nginx

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Prepare writes the configuration and the body into dir, which must exist, and
// holds two ports on 127.0.0.1, chosen by the kernel. In every case the caller
// closes the Command.
func Prepare(b Binary, dir string, o Options) (_ *Command, err error) {
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	c := &Command{Binary: b, Options: o, Path: b.Path, Dir: dir, ErrorLog: filepath.Join(dir, errorFile)}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	if c.Address, err = c.hold(); err != nil {
		return nil, err
	}
	if c.StatusAddress, err = c.hold(); err != nil {
		return nil, err
	}
	text, err := render(b, dir, c.Address, c.StatusAddress, o)
	if err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{configFile: []byte(text), bodyFile: body(o.BodySize)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return nil, fmt.Errorf("nginx: write %s: %w", path, err)
		}
	}
	// Last-Modified is the file's: the same in every run.
	day := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, bodyFile), day, day); err != nil {
		return nil, fmt.Errorf("nginx: date the body: %w", err)
	}
	c.Args = []string{"-p", dir + "/", "-c", filepath.Join(dir, configFile)}
	if b.atLeast(1, 19, 5) {
		// Before it reads the configuration nginx opens the log it was built with,
		// which only root may write.
		c.Args = append(c.Args, "-e", c.ErrorLog)
	}
	// Nothing of the environment reaches nginx; NGINX in it would be obeyed.
	c.Env = []string{"LC_ALL=C"}
	return c, nil
}

// hold binds a socket to a free port and does not listen. With SO_REUSEADDR on
// both sides nginx may bind the same port as long as this one does not listen.
func (c *Command) hold() (address string, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("nginx: hold a port: %w", os.NewSyscallError("socket", err))
	}
	c.held = append(c.held, os.NewFile(uintptr(fd), "port held for nginx"))
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return "", fmt.Errorf("nginx: hold a port: %w", os.NewSyscallError("setsockopt", err))
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", fmt.Errorf("nginx: hold a port: %w", os.NewSyscallError("bind", err))
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return "", fmt.Errorf("nginx: hold a port: %w", os.NewSyscallError("getsockname", err))
	}
	inet, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return "", fmt.Errorf("nginx: hold a port: bound to a %T", name)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(inet.Port)), nil
}

func body(size int) []byte {
	return bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), size/26+1)[:size]
}
