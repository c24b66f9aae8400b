//go:build unix

package smallorigin_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/smallorigin"
	"github.com/tareperf/tare/internal/smallserver"
)

func start(t *testing.T, c smallorigin.Config) *smallorigin.Origin {
	t.Helper()
	o, err := smallorigin.Start(c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, o.Close()) })
	return o
}

// rest reads the counters when nothing is active: an answer may be here a moment
// before it is counted.
func rest(t *testing.T, read func() smallorigin.Stats) (s smallorigin.Stats) {
	t.Helper()
	require.Eventually(t, func() bool { s = read(); return s.Active == 0 }, 5*time.Second, time.Millisecond)
	assert.Equal(t, s.Requests, s.Completed+s.Aborted)
	assert.Equal(t, s.ConnectionsOpened, s.ConnectionsActive+s.ConnectionsClosed())
	return s
}

func dial(t *testing.T, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return c, bufio.NewReader(c)
}

func answer(t *testing.T, r *bufio.Reader, method string) (*http.Response, int) {
	t.Helper()
	response, err := http.ReadResponse(r, &http.Request{Method: method})
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, len(body)
}

func TestCountsAreExactUnderConcurrency(t *testing.T) {
	o := start(t, smallorigin.Config{BodySize: 4096})
	const conns, each = 16, 200
	var wg sync.WaitGroup
	for range conns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c, err := net.Dial("tcp", o.Address())
			if !assert.NoError(t, err) {
				return
			}
			defer c.Close()
			r := bufio.NewReader(c)
			for i := range each {
				_, err := fmt.Fprintf(c, "POST /x/%d HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", i)
				if !assert.NoError(t, err) {
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
	require.Eventually(t, func() bool { return o.Stats().ConnectionsActive == 0 }, 5*time.Second, time.Millisecond)
	s := rest(t, o.Stats)
	assert.EqualValues(t, conns*each, s.Completed)
	assert.EqualValues(t, conns, s.ConnectionsClosedByPeer)
	assert.Zero(t, s.ConnectionsClosedByOrigin)
	assert.Zero(t, s.Malformed)
}

func TestOneConnectionKeptThroughEveryKindOfRequest(t *testing.T) {
	o := start(t, smallorigin.Config{BodySize: 100})
	c, r := dial(t, o.Address())

	for _, b := range []byte("GET /one HTTP/1.1\r\nHost: split everywhere\r\n\r\n") {
		_, err := c.Write([]byte{b})
		require.NoError(t, err)
	}
	response, n := answer(t, r, "GET")
	assert.Equal(t, 100, n)
	assert.Equal(t, "100", response.Header.Get("Content-Length"))
	_, err := http.ParseTime(response.Header.Get("Date"))
	assert.NoError(t, err)

	_, err = io.WriteString(c, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET /pipelined HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	response, n = answer(t, r, "HEAD")
	assert.Zero(t, n)
	assert.EqualValues(t, 100, response.ContentLength)
	_, n = answer(t, r, "GET")
	assert.Equal(t, 100, n)

	_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
	require.NoError(t, err)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "HTTP/1.1 100 Continue\r\n", line)
	_, err = r.ReadString('\n')
	require.NoError(t, err)
	_, err = io.WriteString(c, "400\r\n"+strings.Repeat("x", 1024)+"\r\n0\r\n\r\n")
	require.NoError(t, err)
	_, n = answer(t, r, "POST")
	assert.Equal(t, 100, n)

	// A body and a head that are larger than the buffer.
	_, err = fmt.Fprintf(c, "PUT / HTTP/1.1\r\nA: %s\r\nContent-Length: 300000\r\n\r\n%s", strings.Repeat("h", 40000), strings.Repeat("b", 300000))
	require.NoError(t, err)
	_, n = answer(t, r, "PUT")
	assert.Equal(t, 100, n)

	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	response, n = answer(t, r, "GET")
	assert.Equal(t, 100, n)
	assert.True(t, response.Close)
	_, err = r.ReadByte()
	assert.ErrorIs(t, err, io.EOF)
	_ = c.Close()

	require.Eventually(t, func() bool { return o.Stats().ConnectionsActive == 0 }, 5*time.Second, time.Millisecond)
	s := rest(t, o.Stats)
	assert.EqualValues(t, 6, s.Completed)
	assert.EqualValues(t, 1, s.ConnectionsClosedByOrigin)
}

func TestMalformedAndBrokenRequestsAreToldApart(t *testing.T) {
	o := start(t, smallorigin.Config{})
	c, r := dial(t, o.Address())
	_, err := io.WriteString(c, "GET / HTTP/3.0\r\n\r\n")
	require.NoError(t, err)
	response, _ := answer(t, r, "GET")
	assert.Equal(t, 505, response.StatusCode)
	_, err = r.ReadByte()
	assert.ErrorIs(t, err, io.EOF)

	c, _ = dial(t, o.Address())
	_, err = io.WriteString(c, "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return o.Stats().Requests == 1 }, 5*time.Second, time.Millisecond)
	require.NoError(t, c.Close())
	s := rest(t, o.Stats)
	assert.EqualValues(t, 1, s.Malformed)
	assert.EqualValues(t, 1, s.Aborted)
	assert.Zero(t, s.Completed)
}

func TestCloseEndsIdleAndHalfSentConnections(t *testing.T) {
	o, err := smallorigin.Start(smallorigin.Config{BodySize: 10})
	require.NoError(t, err)
	idle, idleReader := dial(t, o.Address())
	_, err = io.WriteString(idle, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	answer(t, idleReader, "GET")
	half, halfReader := dial(t, o.Address())
	_, err = io.WriteString(half, "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return o.Stats().Requests == 2 }, 5*time.Second, time.Millisecond)
	require.NoError(t, o.Close())
	for _, r := range []*bufio.Reader{idleReader, halfReader} {
		_, err := r.ReadByte()
		assert.Error(t, err)
	}
	s := o.Stats()
	assert.Zero(t, s.ConnectionsActive)
	assert.Zero(t, s.Active)
	assert.EqualValues(t, 2, s.ConnectionsClosedByOrigin)
	assert.EqualValues(t, 1, s.Aborted)
	_, err = net.Dial("tcp", o.Address())
	assert.Error(t, err)
}

func TestBadConfigIsNamed(t *testing.T) {
	for _, c := range []smallorigin.Config{{BodySize: -1}, {BodySize: smallorigin.MaxBodySize + 1}, {Workers: -2}, {Listen: "127.0.0.1:999999"}} {
		_, err := smallorigin.Start(c)
		assert.ErrorContains(t, err, "origin: ")
	}
}

// process runs the test binary as an origin.
func process(t *testing.T) (*exec.Cmd, io.WriteCloser, smallserver.Ready) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asOrigin+"=1", "GOMAXPROCS=7", "GOGC=off")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ready, err := smallserver.ReadReady(out, smallorigin.Name)
	require.NoError(t, err)
	require.Equal(t, cmd.Process.Pid, ready.Pid)
	return cmd, in, ready
}

func TestProcessServesAndEndsWithItsParent(t *testing.T) {
	for name, end := range map[string]func(*exec.Cmd, io.WriteCloser) error{
		"stdin ends": func(_ *exec.Cmd, in io.WriteCloser) error { return in.Close() },
		"SIGTERM":    func(c *exec.Cmd, _ io.WriteCloser) error { return c.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			cmd, in, ready := process(t)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			c, r := dial(t, ready.Address)
			for range 5 {
				_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
				require.NoError(t, err)
				_, n := answer(t, r, "GET")
				require.Equal(t, 4096, n)
			}
			s, err := smallorigin.ReadAtRest(ctx, ready)
			require.NoError(t, err)
			assert.EqualValues(t, 5, s.Completed)
			var effective smallorigin.Effective
			require.NoError(t, smallserver.Get(ctx, ready, "/config", &effective))
			assert.Equal(t, 1, effective.Runtime.Workers)
			assert.Equal(t, 100, effective.Runtime.GCPercent)

			require.NoError(t, end(cmd, in))
			require.NoError(t, cmd.Wait(), "exit status")
			_, err = smallorigin.ReadStats(ctx, ready)
			assert.Error(t, err)
		})
	}
}
