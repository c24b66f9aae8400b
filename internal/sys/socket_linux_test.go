package sys

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A socket of each family connects, sends, is told of the answer and of the
// end, through these calls alone.
func TestSocketsAndEpoll(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("no %s here: %v", address, err)
			continue
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 4)
			c.Read(b)
			c.Write(b)
			c.Close()
		}()
		a := NewSocketAddress(l.Addr().(*net.TCPAddr).AddrPort())
		fd, err := ConnectStart(&a)
		require.NoError(t, err)
		epfd, err := EpollCreate()
		require.NoError(t, err)
		require.NoError(t, EpollAdd(epfd, fd, unix.EPOLLOUT, 7))
		events := make([]EpollEvent, 4)
		n, errno := EpollWaitMilliseconds(epfd, events, 5000)
		require.Zero(t, errno)
		require.Equal(t, 1, n)
		require.EqualValues(t, 7, events[0].Fd)
		require.Zero(t, SocketError(fd))
		n, errno = SocketSend(fd, []byte("ping"))
		require.Zero(t, errno)
		require.Equal(t, 4, n)
		b := make([]byte, 16)
		require.Eventually(t, func() bool {
			n, errno = SocketReceive(fd, b)
			return errno != unix.EAGAIN
		}, 5*time.Second, time.Millisecond)
		require.Zero(t, errno)
		require.Equal(t, "ping", string(b[:n]))
		require.Eventually(t, func() bool {
			n, errno = SocketReceive(fd, b)
			return errno != unix.EAGAIN
		}, 5*time.Second, time.Millisecond)
		require.Zero(t, errno)
		require.Zero(t, n)
		SocketClose(fd)
		SocketClose(epfd)
		l.Close()
	}
}

func TestConnectRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	at := l.Addr().(*net.TCPAddr).AddrPort()
	l.Close()
	a := NewSocketAddress(netip.AddrPortFrom(netip.MustParseAddr("::ffff:127.0.0.1"), at.Port())) // IPv4 in disguise
	fd, err := ConnectStart(&a)
	if err == nil {
		defer SocketClose(fd)
		require.Eventually(t, func() bool { err = SocketError(fd); return err != unix.Errno(0) }, 5*time.Second, time.Millisecond)
	}
	require.ErrorIs(t, err, unix.ECONNREFUSED)
}

// All waits end by themselves; a timer descriptor wakes one without a limit.
func TestWaits(t *testing.T) {
	epfd, err := EpollCreate()
	require.NoError(t, err)
	defer SocketClose(epfd)
	events := make([]EpollEvent, 1)
	n, errno := EpollPoll(epfd, events)
	require.Zero(t, n)
	require.Zero(t, errno)
	for _, wait := range []func(int, []EpollEvent, int64) (int, unix.Errno){EpollWaitNanoseconds, EpollWaitHolding} {
		before, err := MonotonicNanoseconds()
		require.NoError(t, err)
		n, errno = wait(epfd, events, 3_000_000)
		if errno == unix.ENOSYS || errno == unix.EINTR {
			continue // before Linux 5.11; a signal of the Go scheduler
		}
		require.Zero(t, errno)
		require.Zero(t, n)
		after, err := MonotonicNanoseconds()
		require.NoError(t, err)
		require.GreaterOrEqual(t, after-before, int64(3_000_000))
	}
	fd, err := TimerFD()
	require.NoError(t, err)
	defer SocketClose(fd)
	require.NoError(t, EpollAdd(epfd, fd, unix.EPOLLIN, -2))
	now, err := MonotonicNanoseconds()
	require.NoError(t, err)
	require.NoError(t, TimerFDSet(fd, now+2_000_000))
	for n = 0; n == 0 || errno == unix.EINTR; {
		n, errno = EpollWaitMilliseconds(epfd, events, -1)
	}
	require.Zero(t, errno)
	require.EqualValues(t, -2, events[0].Fd)
}
