package arrivals

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test binary runs itself again as a recording server.
const serveVariable = "TARE_TEST_ARRIVALS_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		if err := Serve(os.Stdin, os.Stdout, Options{BodySize: 1000}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func startServer(t *testing.T) (*Remote, *exec.Cmd) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), serveVariable+"=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	require.NoError(t, err)
	out, childOut, err := os.Pipe()
	require.NoError(t, err)
	c.Stdout = childOut
	require.NoError(t, c.Start())
	childOut.Close()
	t.Cleanup(func() {
		in.Close()
		require.NoError(t, c.Wait())
		out.Close()
	})
	r, err := NewRemote(in, out)
	require.NoError(t, err)
	return r, c
}

const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

type client struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, r *Remote) client {
	c, err := net.Dial("tcp", r.Address())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	return client{c, bufio.NewReader(c)}
}

func (c client) write(t *testing.T, s string) {
	_, err := io.WriteString(c, s)
	require.NoError(t, err)
}

func (c client) answer(t *testing.T) {
	a, err := http.ReadResponse(c.in, nil)
	require.NoError(t, err)
	require.Equal(t, 200, a.StatusCode)
	body, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	require.Len(t, body, 1000)
}

func TestRecordsEveryRequestHoweverItIsCut(t *testing.T) {
	r, _ := startServer(t)
	require.NoError(t, r.Start(Times))
	c := dial(t, r)
	for cut := 1; cut < len(request); cut++ {
		c.write(t, request[:cut])
		time.Sleep(100 * time.Microsecond) // so that most are two reads
		c.write(t, request[cut:])
		c.answer(t)
	}
	c.write(t, strings.Repeat(request, 7)+request[:3])
	for range 7 {
		c.answer(t)
	}
	c.write(t, request[3:])
	c.answer(t)
	got, err := r.Take()
	require.NoError(t, err)
	want := len(request) - 1 + 8
	require.EqualValues(t, want, got.Requests)
	require.Len(t, got.Times, want)
	require.EqualValues(t, 1, got.Connections)
	require.Zero(t, got.Refused)
	require.LessOrEqual(t, got.Wakes, got.Requests)
	require.IsNonDecreasing(t, got.Times)

	require.NoError(t, r.Start(Counts))
	c.write(t, request)
	c.answer(t)
	got, err = r.Take()
	require.NoError(t, err)
	require.Equal(t, Recording{Requests: 1, Wakes: 1}, got)
}

// The times are the kernel's: a server that was stopped while requests came
// still knows when each did.
func TestArrivalIsWhenTheKernelReceived(t *testing.T) {
	r, c := startServer(t)
	var clients []client
	for range 5 {
		clients = append(clients, dial(t, r))
		clients[len(clients)-1].write(t, request)
		clients[len(clients)-1].answer(t)
	}
	require.NoError(t, r.Start(Times))
	require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
	const apart = 20 * time.Millisecond
	for _, c := range clients {
		c.write(t, request)
		time.Sleep(apart)
	}
	require.NoError(t, c.Process.Signal(syscall.SIGCONT))
	for _, c := range clients {
		c.answer(t)
	}
	got, err := r.Take()
	require.NoError(t, err)
	require.Len(t, got.Times, len(clients))
	for k := 1; k < len(got.Times); k++ {
		// The stop may come a moment after the first of them has been read.
		require.GreaterOrEqual(t, got.Times[k]-got.Times[k-1], int64(apart)-int64(time.Millisecond))
	}
}

func TestWhatIsNoCommandIsAnError(t *testing.T) {
	r, _ := startServer(t)
	_, err := r.ask("dance")
	require.ErrorContains(t, err, `unknown command "dance"`)
	_, err = NewRemote(io.Discard, strings.NewReader(""))
	require.ErrorContains(t, err, "has ended")
	_, err = NewRemote(io.Discard, strings.NewReader(`{"error":"bind: no"}`+"\n"))
	require.ErrorContains(t, err, "bind: no")
	var out strings.Builder
	require.NoError(t, Serve(strings.NewReader(""), &out, Options{BodySize: -1}))
	require.Contains(t, out.String(), "body size is -1")
}

func FuzzHeadEnd(f *testing.F) {
	f.Add([]byte(request+request), uint8(5))
	f.Add([]byte("\r\n\r"), uint8(3))
	f.Add([]byte("\r\r\n\r\n\n"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		want := strings.Count(string(b), "\r\n\r\n")
		var h headEnd
		got, step := 0, int(piece)+1
		for rest := b; len(rest) > 0; {
			n := min(step, len(rest))
			got += h.count(rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, want, got)
	})
}
