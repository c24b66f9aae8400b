package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The test binary runs itself again in a network namespace of its own, which
// has ten local ports.
const portsVariable = "TARE_TEST_LOADGEN_PORTS"

type portsResult struct {
	Skip    string // why there are no ten ports
	Class   ConnectClass
	Address bool // the error wraps EADDRNOTAVAIL
	Churn   Report
	Warned  int
}

// envoy#44747, k6#826: no local port is left. Where more connections are
// wanted than ports are there, it is refused before the run by name; where
// churn uses them up, every arrival still has one end.
func TestReportEnvoy44747NoLocalPortLeft(t *testing.T) {
	t.Parallel()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), portsVariable+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Start(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("no network namespace of its own can be made here: %v", err)
	} else {
		require.NoError(t, err)
	}
	require.NoError(t, c.Wait())
	var r portsResult
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	if r.Skip != "" {
		t.Skip(r.Skip)
	}
	require.Equal(t, ConnectPorts, r.Class)
	require.True(t, r.Address)
	require.Equal(t, 1, r.Warned)
	require.NoError(t, r.Churn.Check())
	total := r.Churn.Total()
	require.EqualValues(t, 400, total.Scheduled)
	require.Positive(t, total.ConnectFailuresBy.LocalPort)
	require.Equal(t, total.ConnectFailures, total.ConnectFailuresBy.LocalPort)
	require.Positive(t, total.OverflowDown)
	require.Positive(t, total.Completed)
	require.Zero(t, total.Failed)
	require.Len(t, r.Churn.Warnings, 1)
}

func portsMain() (r portsResult) {
	if err := tenPorts(); err != nil {
		r.Skip = fmt.Sprintf("ten local ports cannot be set up here: %v", err)
		return r
	}
	l, err := net.Listen("tcp", "127.0.0.1:8080") // outside of the range
	if err != nil {
		panic(err)
	}
	go http.Serve(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	targets := []Target{{Name: "server", Address: "127.0.0.1:8080"}}

	many, err := New(Spec{Connections: 20}, targets)
	if err != nil {
		panic(err)
	}
	err = many.Connect(context.Background())
	var failed *ConnectError
	if errors.As(err, &failed) {
		r.Class = failed.Class
	}
	r.Address = errors.Is(err, unix.EADDRNOTAVAIL)
	many.Close()

	// The ports of these were closed by this side, and may be waiting; the
	// number of connections leaves room.
	s := Spec{Connections: 2, Churn: Churn{Requests: 1}, MaxLate: time.Hour}
	w := Window{Rate: 400, Duration: time.Second}
	r.Warned = len(Warnings(s, targets, w))
	g, err := New(s, targets)
	if err != nil {
		panic(err)
	}
	defer g.Close()
	for range 200 { // until a port is back
		if err = g.Connect(context.Background()); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		panic(err)
	}
	if r.Churn, err = g.Run(context.Background(), w); err != nil {
		panic(err)
	}
	return r
}

// tenPorts brings the loopback interface up and narrows the range of local
// ports.
func tenPorts() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("bring lo up: %w", err)
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte("40000 40009"), 0)
}
