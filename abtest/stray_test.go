//go:build linux

package abtest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/gate"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/procfs"
)

// listening finds the loopback ports that a process listens on.
func listening(t *testing.T, pid int) []string {
	sockets := map[string]bool{}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if link, err := os.Readlink(fd); err == nil {
			if inode, ok := strings.CutPrefix(link, "socket:["); ok {
				sockets[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	text, err := os.ReadFile("/proc/net/tcp")
	require.NoError(t, err)
	var addresses []string
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) > 9 && f[3] == "0A" && sockets[f[9]] {
			var port int
			_, err := fmt.Sscanf(f[1], "0100007F:%X", &port)
			require.NoError(t, err, line)
			addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", port))
		}
	}
	return addresses
}

// childOf finds a child of this process by the name of its program.
func childOf(t *testing.T, comm string) int {
	pids, err := procfs.FS{}.Processes()
	require.NoError(t, err)
	for _, pid := range pids {
		if p, err := (procfs.FS{}).Process(pid); err == nil && p.PPid == os.Getpid() && p.Comm == comm {
			return pid
		}
	}
	t.Fatalf("no child %s", comm)
	return 0
}

// TestStrayRequest: a single request of another client in a window makes the
// proxy's count differ from the generator's, and the round is not kept.
func TestStrayRequest(t *testing.T) {
	base := envoy.MustParse(minimalEnvoy)
	for name, c := range map[string]struct {
		off, on Target
		pid     func(t *testing.T) int
	}{
		"embedded proxy": {
			EmbeddedProxy{FlushInterval: 50 * time.Millisecond}, EmbeddedProxy{AccessLog: "text", FlushInterval: 50 * time.Millisecond},
			func(t *testing.T) int { return helperPid(t, helperProxy) },
		},
		"envoy": {
			envoy.Proxy{Bootstrap: base}, envoy.Proxy{Bootstrap: base.With(envoy.FileAccessLog("access.log"))},
			func(t *testing.T) int { return childOf(t, "envoy") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := small(t)
			e.Baseline.Target, e.Variants[0].Target = c.off, c.on
			if name == "envoy" {
				_, err := envoy.Find(envoy.FindOptions{})
				need.Skip(t, "envoy", err)
			}
			e.Redo = 1
			done := make(chan struct{})
			e.Log = &trigger{t: t, at: "round  1/", act: func() {
				addresses := listening(t, c.pid(t))
				go func() { // into every window that follows
					defer close(done)
					for range 60 {
						for _, a := range addresses {
							if r, err := http.Get("http://" + a + "/stray"); err == nil {
								r.Body.Close()
							}
						}
						time.Sleep(100 * time.Millisecond)
					}
				}()
			}}
			causes := refused(t, e, gate.NameServed)
			require.Contains(t, causes, "another client")
			<-done
		})
	}
}
