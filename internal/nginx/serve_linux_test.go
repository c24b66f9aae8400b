package nginx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/need"
)

func found(t *testing.T) Binary {
	t.Helper()
	b, err := Find(t.Context())
	need.Skip(t, "nginx", err)
	return b
}

// serve starts an nginx.
func serve(t *testing.T, o Options) (*Command, *child.Process, *Status) {
	t.Helper()
	b := found(t)
	c, err := Prepare(b, filepath.Join(t.TempDir()), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	p, err := child.Start(t.Context(), child.Spec{Name: "nginx", Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Stop(5*time.Second)) })
	require.NoError(t, p.Release())
	s := &Status{Address: c.StatusAddress}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, c.Await(ctx, p.Done(), s))
	require.NoError(t, c.Close())
	return c, p, s
}

func stats(t *testing.T, s *Status) Stats {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := s.Stats(ctx)
	require.NoError(t, err)
	return got
}

func ask(t *testing.T, c net.Conn, r *bufio.Reader, request string) (*http.Response, []byte) {
	t.Helper()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err := io.WriteString(c, request)
	require.NoError(t, err)
	method, _, _ := strings.Cut(request, " ")
	response, err := http.ReadResponse(r, &http.Request{Method: method})
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, body
}

func TestServesAnyPathAndMethodAtEverySize(t *testing.T) {
	for _, size := range []int{0, 1, 4096, 300_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			c, _, _ := serve(t, Options{BodySize: size})
			conn, err := net.Dial("tcp", c.Address)
			require.NoError(t, err)
			defer conn.Close()
			r := bufio.NewReader(conn)
			for _, request := range []string{
				"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
				"GET /deep/er/?q=1 HTTP/1.1\r\nHost: a\r\nRange: bytes=0-0\r\n\r\n",
				"GET /status HTTP/1.1\r\nHost: a\r\n\r\n",
				"POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
				"PUT /put HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
				"GET /headers HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("h", 40_000) + "\r\n\r\n",
			} {
				response, got := ask(t, conn, r, request)
				assert.Equal(t, 200, response.StatusCode, "%.40q", request)
				assert.Equal(t, fmt.Sprint(size), response.Header.Get("Content-Length"))
				assert.Equal(t, body(size), got)
				assert.False(t, response.Close)
			}
			response, got := ask(t, conn, r, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
			assert.EqualValues(t, size, response.ContentLength)
			assert.Empty(t, got)
		})
	}
}

func TestCountsAreExactAndNothingIsClosed(t *testing.T) {
	c, p, status := serve(t, Options{BodySize: 4096})
	before := stats(t, status)
	assert.Equal(t, Stats{}, before, "its own question does not count")
	const conns, each = 4, 1500 // more than the 1,000 after which nginx closes by default
	var wg sync.WaitGroup
	open := make(chan net.Conn, conns)
	for range conns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			conn, err := net.Dial("tcp", c.Address)
			if !assert.NoError(t, err) {
				return
			}
			open <- conn
			r := bufio.NewReader(conn)
			for range each {
				if _, err := io.WriteString(conn, "GET /4k HTTP/1.1\r\nHost: a\r\n\r\n"); !assert.NoError(t, err) {
					return
				}
				response, err := http.ReadResponse(r, nil)
				if !assert.NoError(t, err) {
					return
				}
				n, err := io.Copy(io.Discard, response.Body)
				assert.NoError(t, err)
				assert.EqualValues(t, 4096, n)
			}
		}()
	}
	wg.Wait()
	for range 3 {
		after := stats(t, status)
		d, err := after.Since(before)
		require.NoError(t, err)
		assert.Equal(t, Delta{Accepts: conns, Handled: conns, Requests: conns * each}, d)
		assert.EqualValues(t, conns, after.Active)
		assert.EqualValues(t, conns, after.Waiting)
	}
	for range conns {
		_ = (<-open).Close()
	}
	require.Eventually(t, func() bool { return stats(t, status).Closed() == conns }, 5*time.Second, 5*time.Millisecond)
	assert.True(t, oneProcess(t, p.Pid()), "nginx must be one process with one thread")
	complaints, err := os.ReadFile(c.ErrorLog)
	require.NoError(t, err)
	assert.NotContains(t, string(complaints), "[warn]")
	assert.NotContains(t, string(complaints), "[error]")
	assert.NotContains(t, string(complaints), "[alert]")
}

func oneProcess(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	require.NoError(t, err)
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if errors.Is(err, os.ErrNotExist) { // a kernel without CONFIG_PROC_CHILDREN
		err = nil
	}
	require.NoError(t, err)
	return len(threads) == 1 && len(children) == 0
}

// While the ports are held, nobody who asks for any port gets one of them.
func TestHeldPortsAreGivenToNobody(t *testing.T) {
	c, err := Prepare(Binary{}, t.TempDir(), Options{})
	require.NoError(t, err)
	defer c.Close()
	assert.NotEqual(t, c.Address, c.StatusAddress)
	for range 2000 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		require.NotEqual(t, c.Address, l.Addr().String())
		require.NotEqual(t, c.StatusAddress, l.Addr().String())
		require.NoError(t, l.Close())
	}
}

func TestPortTakenByNumberIsTold(t *testing.T) {
	b := found(t)
	c, err := Prepare(b, t.TempDir(), Options{})
	require.NoError(t, err)
	defer c.Close()
	thief, err := net.Listen("tcp4", c.Address) // SO_REUSEADDR, as nginx
	require.NoError(t, err)
	defer thief.Close()
	p, err := child.Start(t.Context(), child.Spec{Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir})
	require.NoError(t, err)
	defer p.Stop(0)
	require.NoError(t, p.Release())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = c.Await(ctx, p.Done(), &Status{Address: c.StatusAddress})
	var exited *ExitedError
	require.ErrorAs(t, err, &exited)
	assert.Contains(t, exited.Complaints, "Address already in use")
}

func TestEndsAtOnceAndFreesThePort(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			c, p, status := serve(t, Options{BodySize: 10})
			conn, err := net.Dial("tcp", c.Address)
			require.NoError(t, err)
			defer conn.Close()
			ask(t, conn, bufio.NewReader(conn), "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
			stats(t, status)
			require.NoError(t, p.Signal(sig))
			select {
			case <-p.Done():
			case <-time.After(10 * time.Second):
				t.Fatal("still there")
			}
			if sig != syscall.SIGKILL {
				assert.NoError(t, p.ExitError())
			}
			_, err = net.Dial("tcp", c.Address)
			assert.ErrorIs(t, err, syscall.ECONNREFUSED)
			_, err = status.Stats(t.Context())
			assert.Error(t, err)
		})
	}
}

func TestAnotherNginxBehindTheStatusIsRefused(t *testing.T) {
	_, _, first := serve(t, Options{})
	for range 5 {
		stats(t, first)
	}
	second, _, _ := serve(t, Options{})
	first.Address = second.StatusAddress
	_, err := first.Stats(t.Context())
	assert.ErrorContains(t, err, "another nginx")
}

func TestFailedQuestionMakesTheWindowUncertain(t *testing.T) {
	_, p, status := serve(t, Options{})
	before := stats(t, status)
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := status.Stats(ctx)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, p.Signal(syscall.SIGCONT))
	after := stats(t, status)
	_, err = after.Since(before)
	var uncertain *UncertainError
	assert.ErrorAs(t, err, &uncertain)
	_, err = stats(t, status).Since(after)
	assert.NoError(t, err, "the next window is exact again")
}

func TestStartThatFailsIsExplained(t *testing.T) {
	b := found(t)
	dir := t.TempDir()
	c, err := Prepare(b, dir, Options{})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, os.WriteFile(filepath.Join(dir, configFile), []byte("nonsense on;"), 0o644))
	p, err := child.Start(t.Context(), child.Spec{Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir})
	require.NoError(t, err)
	defer p.Stop(0)
	require.NoError(t, p.Release())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = c.Await(ctx, p.Done(), &Status{Address: c.StatusAddress})
	var exited *ExitedError
	require.ErrorAs(t, err, &exited)
	assert.Contains(t, exited.Complaints, `unknown directive "nonsense"`)
}
