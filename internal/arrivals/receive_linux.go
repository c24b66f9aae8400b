package arrivals

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/tareperf/tare/internal/sys"
	"golang.org/x/sys/unix"
)

// obey begins or ends a recording.
func (s *server) obey(command string) Recording {
	offset, err := wallOffset()
	if err != nil {
		return Recording{Error: err.Error()}
	}
	switch command {
	case string(Times), string(Counts):
		s.stamped = command == string(Times)
		s.recording = Recording{}
		s.offset = offset
		return Recording{}
	case commandTake:
		got := s.recording
		if moved := offset - s.offset; s.stamped && (moved > maxStep || moved < -maxStep) {
			return Recording{Error: fmt.Sprintf("the wall clock, by which the kernel stamps segments, was set by %v during the recording; record again", time.Duration(moved))}
		}
		s.stamped = false
		s.recording = Recording{}
		for k := len(got.Times) - 1; k >= 0; k-- {
			got.Times[k] -= got.Times[0]
		}
		return got
	}
	return Recording{Error: fmt.Sprintf("unknown command %q", command)}
}

// maxStep is what two readings of the difference of two clocks may differ by
// without one of them having been set: a preemption between them.
const maxStep = int64(time.Millisecond)

// wallOffset is how far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. Both are
// slewed alike, so it changes only when the first is set.
func wallOffset() (int64, error) {
	var best, shortest int64 = 0, 1<<63 - 1
	for range 8 {
		before, err := sys.MonotonicNanoseconds()
		if err != nil {
			return 0, err
		}
		wall := time.Now().UnixNano()
		after, err := sys.MonotonicNanoseconds()
		if err != nil {
			return 0, err
		}
		if took := after - before; took < shortest {
			shortest, best = took, wall-before-took/2
		}
	}
	return best, nil
}

// accept takes the connections that wait.
func (s *server) accept() {
	for {
		fd, _, err := unix.Accept4(s.listenfd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return // EAGAIN; anything else shows as a connection that the client misses
		}
		for len(s.heads) <= fd {
			s.heads = append(s.heads, headEnd{})
		}
		s.heads[fd] = headEnd{open: true}
		s.recording.Connections++
		if unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) != nil || sys.EpollAdd(s.epfd, fd, unix.EPOLLIN, int32(fd)) != nil {
			s.refuse(fd)
		}
	}
}

func (s *server) refuse(fd int) {
	s.recording.Refused++
	s.end(fd)
}

func (s *server) end(fd int) {
	s.heads[fd].open = false
	sys.SocketClose(fd)
}

// receive reads once: what is left, or comes, makes another event.
func (s *server) receive(fd int) {
	n, at, err := s.read(fd)
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	if err != nil || n == 0 {
		s.end(fd)
		return
	}
	requests := s.heads[fd].count(s.buf[:n])
	for range requests {
		if s.stamped {
			if at == 0 { // a time that is not known must not look like one
				s.refuse(fd)
				return
			}
			s.recording.Times = append(s.recording.Times, at)
		}
		s.recording.Requests++
		if sent, errno := sys.SocketSend(fd, s.answer); errno != 0 || sent < len(s.answer) {
			s.refuse(fd)
			return
		}
	}
}

// read returns the bytes and, while times are recorded, when the last of them
// was received; 0 is unknown.
func (s *server) read(fd int) (n int, at int64, err error) {
	if !s.stamped {
		n, errno := sys.SocketReceive(fd, s.buf)
		if errno != 0 {
			return 0, 0, errno
		}
		return n, 0, nil
	}
	n, oobn, _, _, err := unix.Recvmsg(fd, s.buf, s.oob, unix.MSG_DONTWAIT)
	if err != nil || oobn == 0 {
		return n, 0, err
	}
	header, data, _, err := unix.ParseOneSocketControlMessage(s.oob[:oobn])
	if err != nil || header.Level != unix.SOL_SOCKET || header.Type != unix.SCM_TIMESTAMPNS || len(data) < 16 {
		return n, 0, err
	}
	return n, int64(binary.NativeEndian.Uint64(data))*1e9 + int64(binary.NativeEndian.Uint64(data[8:])), nil
}

// headEnd finds the ends of heads in the bytes of one connection.
type headEnd struct {
	open    bool
	matched int // of the empty line
}

var emptyLine = []byte("\r\n\r\n")

// count returns how many heads end in b.
func (h *headEnd) count(b []byte) int {
	if h.matched == 0 && len(b) >= len(emptyLine) && bytes.Index(b, emptyLine) == len(b)-len(emptyLine) {
		return 1 // one whole request, as nearly always
	}
	count := 0
	for _, c := range b {
		switch {
		case c == emptyLine[h.matched]:
			h.matched++
		case c == '\r':
			h.matched = 1
		default:
			h.matched = 0
		}
		if h.matched == len(emptyLine) {
			count++
			h.matched = 0
		}
	}
	return count
}
