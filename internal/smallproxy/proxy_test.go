//go:build unix

package smallproxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/smallorigin"
	"github.com/tareperf/tare/internal/smallproxy"
	"github.com/tareperf/tare/internal/smallserver"
)

func origin(t *testing.T, size int) *smallorigin.Origin {
	t.Helper()
	o, err := smallorigin.Start(smallorigin.Config{BodySize: size})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, o.Close()) })
	return o
}

// originRest is rest for the origin.
func originRest(t *testing.T, o *smallorigin.Origin) (s smallorigin.Stats) {
	t.Helper()
	require.Eventually(t, func() bool { s = o.Stats(); return s.Active == 0 }, 5*time.Second, time.Millisecond)
	return s
}

func start(t *testing.T, c smallproxy.Config) *smallproxy.Proxy {
	t.Helper()
	p, err := smallproxy.Start(c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// rest reads the counters when nothing is active: an answer may be here a moment
// before it is counted.
func rest(t *testing.T, read func() smallproxy.Stats) (s smallproxy.Stats) {
	t.Helper()
	require.Eventually(t, func() bool { s = read(); return s.Active == 0 }, 5*time.Second, time.Millisecond)
	assert.Equal(t, s.Requests, s.Completed+s.Aborted)
	assert.Equal(t, s.Completed, s.Status2xx+s.Status3xx+s.Status4xx+s.Status5xx)
	return s
}

func client(t *testing.T) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

func get(t *testing.T, c *http.Client, url string) (int, int) {
	t.Helper()
	response, err := c.Get(url)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode, len(body)
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

func TestProxyOriginClientAndLogAgree(t *testing.T) {
	for _, form := range []string{smallproxy.LogOff, smallproxy.LogText, smallproxy.LogJSON} {
		t.Run("log "+form, func(t *testing.T) {
			o := origin(t, 4096)
			path := ""
			if form != smallproxy.LogOff {
				path = filepath.Join(t.TempDir(), "log")
			}
			p, err := smallproxy.Start(smallproxy.Config{Origin: o.Address(), AccessLog: form, AccessLogPath: path})
			require.NoError(t, err)
			c := client(t)
			const users, each = 8, 50
			var wg sync.WaitGroup
			for u := range users {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for i := range each {
						response, err := c.Post(fmt.Sprintf("http://%s/%d/%d", p.Address(), u, i), "text/plain", strings.NewReader("hello"))
						if !assert.NoError(t, err) {
							return
						}
						n, err := io.Copy(io.Discard, response.Body)
						assert.NoError(t, err)
						assert.EqualValues(t, 4096, n)
						_ = response.Body.Close()
					}
				}()
			}
			wg.Wait()
			s := rest(t, p.Stats)
			assert.EqualValues(t, users*each, s.Status2xx)
			served := originRest(t, o)
			assert.EqualValues(t, users*each, served.Completed)
			assert.Zero(t, served.ConnectionsClosed())
			assert.Positive(t, s.OriginConnectionsOpened)
			// A dialled connection is accepted a moment later.
			assert.Eventually(t, func() bool { return o.Stats().ConnectionsOpened == s.OriginConnectionsOpened }, 5*time.Second, time.Millisecond)
			require.NoError(t, p.Close())
			s = p.Stats()
			if form == smallproxy.LogOff {
				assert.Zero(t, s.LogLines)
				return
			}
			assert.EqualValues(t, users*each, s.LogLines)
			assert.EqualValues(t, users*each, s.LogLinesWritten)
			assert.Len(t, lines(t, path), users*each)
		})
	}
}

func TestOriginThatFailsIsA5xxAndCounted(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := gone.Addr().String()
	require.NoError(t, gone.Close())
	p := start(t, smallproxy.Config{Origin: address})
	status, _ := get(t, client(t), "http://"+p.Address()+"/")
	assert.Equal(t, http.StatusBadGateway, status)
	s := rest(t, p.Stats)
	assert.EqualValues(t, 1, s.Status5xx)
	assert.EqualValues(t, 1, s.UpstreamErrors)
}

func TestAnswersThatBreakOffAreNotCompleted(t *testing.T) {
	hold := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/short": // less than it said
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "short")
		case "/chunked":
			for range 3 {
				_, _ = io.WriteString(w, strings.Repeat("c", 3000))
				_ = http.NewResponseController(w).Flush()
			}
		case "/missing":
			http.NotFound(w, r)
		case "/hold":
			<-hold
		}
	}))
	defer upstream.Close()
	defer close(hold)
	path := filepath.Join(t.TempDir(), "log")
	p := start(t, smallproxy.Config{Origin: upstream.Listener.Addr().String(), AccessLog: smallproxy.LogJSON, AccessLogPath: path})
	c := client(t)

	response, err := c.Get("http://" + p.Address() + "/short")
	if err == nil { // the head may or may not have come through
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	assert.Error(t, err)
	s := rest(t, p.Stats)
	assert.EqualValues(t, 1, s.Aborted)
	assert.Zero(t, s.Completed)

	status, n := get(t, c, "http://"+p.Address()+"/chunked")
	assert.Equal(t, 200, status)
	assert.Equal(t, 9000, n)
	status, _ = get(t, c, "http://"+p.Address()+"/missing")
	assert.Equal(t, 404, status)

	rest(t, p.Stats)
	// A client that leaves before the answer is no fault of the origin.
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+p.Address()+"/hold", nil)
	require.NoError(t, err)
	go func() {
		for p.Stats().Active == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err = c.Do(request)
	require.Error(t, err)
	s = rest(t, p.Stats)
	assert.EqualValues(t, 2, s.Aborted)
	assert.EqualValues(t, 2, s.Completed)
	assert.EqualValues(t, 1, s.Status4xx)
	assert.Zero(t, s.UpstreamErrors)

	require.NoError(t, p.Close())
	aborted := 0
	for _, one := range lines(t, path) {
		var l struct{ Aborted bool }
		require.NoError(t, json.Unmarshal([]byte(one), &l))
		if l.Aborted {
			aborted++
		}
	}
	assert.Equal(t, 2, aborted)
	assert.EqualValues(t, 4, p.Stats().LogLines)
}

func TestPipelinedRequestsConnectionCloseAndConnect(t *testing.T) {
	o := origin(t, 10)
	p := start(t, smallproxy.Config{Origin: o.Address()})
	c, err := net.Dial("tcp", p.Address())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(c, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"+
		"GET /2 HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"+
		"HEAD /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	require.NoError(t, err)
	r := bufio.NewReader(c)
	for _, method := range []string{"GET", "GET", "HEAD"} {
		response, err := http.ReadResponse(r, &http.Request{Method: method})
		require.NoError(t, err)
		assert.Equal(t, 200, response.StatusCode)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
	}
	_, err = r.ReadByte()
	assert.ErrorIs(t, err, io.EOF)

	c, err = net.Dial("tcp", p.Address())
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n")
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusNotImplemented, response.StatusCode)

	s := rest(t, p.Stats)
	assert.EqualValues(t, 3, s.Status2xx)
	assert.EqualValues(t, 1, s.Status5xx)
	assert.EqualValues(t, 3, originRest(t, o).Completed)
}

func TestBadConfigIsNamed(t *testing.T) {
	for want, c := range map[string]smallproxy.Config{
		"Origin":        {},
		"Workers":       {Origin: "127.0.0.1:1", Workers: -1},
		"FlushInterval": {Origin: "127.0.0.1:1", FlushInterval: -1},
		"AccessLog":     {Origin: "127.0.0.1:1", AccessLog: "xml", AccessLogPath: "x"},
		"AccessLogPath": {Origin: "127.0.0.1:1", AccessLog: smallproxy.LogText},
		"off":           {Origin: "127.0.0.1:1", AccessLogPath: "x"},
		"open":          {Origin: "127.0.0.1:1", AccessLog: smallproxy.LogText, AccessLogPath: "/nowhere/log"},
		"listen":        {Origin: "127.0.0.1:1", Listen: "127.0.0.1:999999"},
	} {
		_, err := smallproxy.Start(c)
		assert.ErrorContains(t, err, want)
	}
}

// process runs the test binary as a proxy.
func process(t *testing.T, c smallproxy.Config) (*exec.Cmd, io.WriteCloser, io.Reader) {
	t.Helper()
	raw, err := json.Marshal(c)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProxy+"="+string(raw), "GOMAXPROCS=7", "GOGC=off", "HTTP_PROXY=http://127.0.0.1:1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, in, out
}

func TestProcessWritesTheRestOfItsLogAtTheEnd(t *testing.T) {
	for name, end := range map[string]func(*exec.Cmd, io.WriteCloser) error{
		"stdin ends": func(_ *exec.Cmd, in io.WriteCloser) error { return in.Close() },
		"SIGTERM":    func(c *exec.Cmd, _ io.WriteCloser) error { return c.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			o := origin(t, 4096)
			path := filepath.Join(t.TempDir(), "log")
			cmd, in, out := process(t, smallproxy.Config{Origin: o.Address(), AccessLog: smallproxy.LogText, AccessLogPath: path, FlushInterval: time.Hour})
			ready, err := smallserver.ReadReady(out, smallproxy.Name)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			c := client(t)
			for range 20 {
				status, n := get(t, c, "http://"+ready.Address+"/4k")
				require.Equal(t, 200, status)
				require.Equal(t, 4096, n)
			}
			s, err := smallproxy.ReadAtRest(ctx, ready)
			require.NoError(t, err)
			assert.EqualValues(t, 20, s.Completed)
			assert.EqualValues(t, 20, s.LogLines)
			assert.Zero(t, s.LogLinesWritten)
			assert.Equal(t, 1, s.Config.Runtime.Workers)
			assert.Equal(t, time.Hour, s.Config.Config.FlushInterval)
			require.NoError(t, end(cmd, in))
			require.NoError(t, cmd.Wait(), "exit status")
			assert.Len(t, lines(t, path), 20)
		})
	}
}

func TestProcessThatCannotStartSaysWhy(t *testing.T) {
	cmd, _, out := process(t, smallproxy.Config{Origin: "127.0.0.1:1", Listen: "127.0.0.1:999999"})
	_, err := smallserver.ReadReady(out, smallproxy.Name)
	var start *smallserver.StartError
	require.ErrorAs(t, err, &start)
	assert.Contains(t, start.Reason, "999999")
	assert.Error(t, cmd.Wait())
}

func TestProcessEndsInTimeWithARequestThatHangs(t *testing.T) {
	hold := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer upstream.Close()
	defer close(hold)
	path := filepath.Join(t.TempDir(), "log")
	cmd, _, out := process(t, smallproxy.Config{Origin: upstream.Listener.Addr().String(), AccessLog: smallproxy.LogText, AccessLogPath: path})
	ready, err := smallserver.ReadReady(out, smallproxy.Name)
	require.NoError(t, err)
	c, err := net.Dial("tcp", ready.Address)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		s, err := smallproxy.ReadStats(t.Context(), ready)
		return err == nil && s.Active == 1
	}, 5*time.Second, 5*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(15 * time.Second):
		t.Fatal("still there 15 s after SIGTERM")
	}
	got := lines(t, path)
	require.Len(t, got, 1)
	assert.Contains(t, got[0], "aborted")
}
