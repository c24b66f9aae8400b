package loadgen

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Warnings foresees what would go wrong with a window on this host: closing
// connections faster than local ports come back. It is nil where nothing is
// foreseen, or where the host does not say. Report.Warnings has the same.
func Warnings(s Spec, targets []Target, w Window) []string {
	return readLocalPorts("/proc/sys/net/ipv4/").warnPorts(s, targets, w)
}

// readLocalPorts leaves at zero what cannot be read.
func readLocalPorts(dir string) localPorts {
	fields := func(name string) []int {
		b, err := os.ReadFile(dir + name)
		if err != nil {
			return nil
		}
		var all []int
		for _, f := range strings.Fields(string(b)) {
			n, err := strconv.Atoi(f)
			if err != nil {
				return nil
			}
			all = append(all, n)
		}
		return all
	}
	l := localPorts{hold: timeWait, holdLoopback: timeWait}
	if r := fields("ip_local_port_range"); len(r) == 2 && r[1] >= r[0] {
		l.count = r[1] - r[0] + 1
	}
	// tcp_tw_reuse lets a new connection take over a port after one second
	// (tcp_tw_reuse_delay, since Linux 6.14): 1 always, 2 on loopback.
	delay := time.Second
	if d := fields("tcp_tw_reuse_delay"); len(d) == 1 {
		delay = time.Duration(d[0]) * time.Millisecond
	}
	if reuse := fields("tcp_tw_reuse"); len(reuse) == 1 && reuse[0] > 0 {
		l.holdLoopback = delay
		if reuse[0] == 1 {
			l.hold = delay
		}
	}
	return l
}
