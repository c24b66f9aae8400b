package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tareperf/tare/internal/procfs"
	"golang.org/x/sys/unix"
)

// localPorts is how many ports a connect can choose from; 0 = unknown.
func localPorts() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0
	}
	var low, high int
	if _, err := fmt.Sscan(strings.TrimSpace(string(text)), &low, &high); err != nil {
		return 0
	}
	return high - low + 1
}

// isTerminal tells whether w is a terminal, and how many columns it has.
func isTerminal(w io.Writer) (columns int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}

// watchIdle begins to watch the CPUs that a process may use. The function it
// returns says for what part of the time since then they were idle, whoever
// used them; nil when that cannot be read.
func watchIdle(pid int) func() *float64 {
	unknown := func() *float64 { return nil }
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		return unknown
	}
	fs := procfs.FS{}
	before, err := fs.CPUBusy()
	if err != nil {
		return unknown
	}
	return func() *float64 {
		after, err := fs.CPUBusy()
		if err != nil {
			return nil
		}
		d, err := after.Since(before)
		if err != nil {
			return nil
		}
		busy, cpus := int64(0), int64(0)
		for cpu, ns := range d.Nanoseconds {
			if set.IsSet(cpu) {
				busy += ns
				cpus++
			}
		}
		if cpus == 0 {
			return nil
		}
		idle := min(1, max(0, 1-float64(busy)/float64(cpus*d.WallNanoseconds)))
		return &idle
	}
}
