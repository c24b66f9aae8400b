package arrivals

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

// Serve is the whole main function of a recording server: it listens on a port
// of 127.0.0.1 that the kernel chooses, and obeys the Remote whose pipes in and
// out are, until in ends. It expects to have the process to itself.
func Serve(in io.Reader, out io.Writer, o Options) error {
	s, err := newServer(o)
	if err != nil {
		return writeLine(out, ready{Error: err.Error()})
	}
	defer s.close()
	address, err := s.listen()
	if err != nil {
		return writeLine(out, ready{Error: err.Error()})
	}
	// The heap grows by the times only. A collection would be the only thing
	// here that takes long.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(1 << 30)
	if err := writeLine(out, ready{Address: address}); err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- s.serve() }()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		s.commands <- lines.Text()
		s.wake()
		select {
		case answer := <-s.answers:
			if err := writeLine(out, answer); err != nil {
				return err
			}
		case err := <-served:
			return err
		}
	}
	close(s.commands)
	s.wake()
	return <-served
}

func writeLine(out io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("arrivals: encode answer: %w", err)
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("arrivals: write answer: %w", err)
	}
	return nil
}

// Tokens of descriptors that are no connections; a connection's is its
// descriptor.
const (
	listenToken = -1
	wakeToken   = -2
)

// server is one thread with its descriptors.
type server struct {
	epfd, listenfd, wakefd int

	answer  []byte
	heads   []headEnd // by descriptor
	buf     []byte
	oob     []byte
	events  []sys.EpollEvent
	stamped bool // recording times

	commands chan string
	answers  chan Recording

	recording Recording
	offset    int64 // wall clock less monotonic clock at the start
}

func newServer(o Options) (*server, error) {
	if o.BodySize < 0 || o.BodySize > MaxBodySize {
		return nil, fmt.Errorf("body size is %d bytes; give 0 to %d", o.BodySize, MaxBodySize)
	}
	body := strings.Repeat("x", o.BodySize)
	return &server{
		epfd: -1, listenfd: -1, wakefd: -1,
		answer:   []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " + strconv.Itoa(o.BodySize) + "\r\n\r\n" + body),
		buf:      make([]byte, 64<<10),
		oob:      make([]byte, unix.CmsgSpace(16)), // one timespec
		events:   make([]sys.EpollEvent, 256),
		commands: make(chan string, 1),
		answers:  make(chan Recording),
	}, nil
}

func (s *server) listen() (string, error) {
	var err error
	if s.listenfd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return "", fmt.Errorf("socket: %w", err)
	}
	if err := unix.Bind(s.listenfd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", fmt.Errorf("bind: %w", err)
	}
	// Connections inherit it, so that no first request comes before it is set.
	if err := unix.SetsockoptInt(s.listenfd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return "", fmt.Errorf("SO_TIMESTAMPNS: %w", err)
	}
	if err := unix.Listen(s.listenfd, 4096); err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	if s.epfd, err = sys.EpollCreate(); err != nil {
		return "", fmt.Errorf("epoll_create1: %w", err)
	}
	if s.wakefd, err = sys.EventFD(); err != nil {
		return "", fmt.Errorf("eventfd: %w", err)
	}
	if err := sys.EpollAdd(s.epfd, s.listenfd, unix.EPOLLIN, listenToken); err != nil {
		return "", fmt.Errorf("epoll_ctl: %w", err)
	}
	if err := sys.EpollAdd(s.epfd, s.wakefd, unix.EPOLLIN|unix.EPOLLET, wakeToken); err != nil {
		return "", fmt.Errorf("epoll_ctl: %w", err)
	}
	name, err := unix.Getsockname(s.listenfd)
	if err != nil {
		return "", fmt.Errorf("getsockname: %w", err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*unix.SockaddrInet4).Port)), nil
}

func (s *server) wake() {
	_, _ = unix.Write(s.wakefd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only when it is readable already
}

// serve is the server's thread. It holds its processor of the Go scheduler
// through polls and gives it up to wait.
func (s *server) serve() error {
	runtime.LockOSThread()
	for {
		n, errno := sys.EpollWaitMilliseconds(s.epfd, s.events, -1)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return fmt.Errorf("arrivals: epoll_wait: %w", errno)
		}
		before := s.recording.Requests
		for _, e := range s.events[:n] {
			switch e.Fd {
			case listenToken:
				s.accept()
			case wakeToken:
				if !s.command() {
					return nil
				}
			default:
				s.receive(int(e.Fd))
			}
		}
		if s.recording.Requests > before {
			s.recording.Wakes++
		}
	}
}

// command obeys at most one; false at the end.
func (s *server) command() bool {
	select {
	case c, more := <-s.commands:
		if !more {
			return false
		}
		s.answers <- s.obey(c)
	default: // the wake of one that was taken already
	}
	return true
}

func (s *server) close() {
	for fd := range s.heads {
		if s.heads[fd].open {
			sys.SocketClose(fd)
		}
	}
	for _, fd := range []int{s.epfd, s.listenfd, s.wakefd} {
		if fd >= 0 {
			sys.SocketClose(fd)
		}
	}
}
