package counters

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tareperf/tare/internal/procfs"
)

// accounting is how the running kernel keeps CPU time, as far as it decides
// what two clocks may differ by. What cannot be found out takes the value that
// allows more.
type accounting struct {
	// interruptsApart: interrupt time may be left out of the clocks of the
	// interrupted threads (CONFIG_IRQ_TIME_ACCOUNTING).
	interruptsApart bool
	// tickNanoseconds is the longest time between updates of a running
	// thread's clock.
	tickNanoseconds int64
}

// readAccounting looks for the kernel's configuration in /proc/config.gz and
// in the directory boot.
func readAccounting(fs procfs.FS, boot string) accounting {
	a := accounting{interruptsApart: true, tickNanoseconds: 1e9 / 100}
	options := kernelOptions(fs, boot, irqTime, hertz)
	if v, known := options[irqTime]; known {
		a.interruptsApart = v == "y"
	}
	if hz, err := strconv.ParseInt(options[hertz], 10, 64); err == nil && hz > 0 {
		a.tickNanoseconds = 1e9 / hz
	}
	// A thread alone on a nohz_full CPU is looked after once a second.
	if list, err := fs.ReadSys("devices/system/cpu/nohz_full"); err == nil {
		if cpus, err := procfs.ParseCPUList(list); err == nil && len(cpus) > 0 {
			a.tickNanoseconds = 1e9
		}
	}
	return a
}

const (
	irqTime = "CONFIG_IRQ_TIME_ACCOUNTING"
	hertz   = "CONFIG_HZ"
)

// kernelOptions looks names up in the build configuration of the running
// kernel, /proc/config.gz or boot/config-RELEASE. What it does not find is not
// in the result.
func kernelOptions(fs procfs.FS, boot string, names ...string) map[string]string {
	proc := fs.Proc
	if proc == "" {
		proc = "/proc"
	}
	if f, err := os.Open(filepath.Join(proc, "config.gz")); err == nil {
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil
		}
		return parseOptions(z, names...)
	}
	release, err := fs.ReadProc("sys/kernel/osrelease")
	if err != nil {
		return nil
	}
	f, err := os.Open(filepath.Join(boot, "config-"+release))
	if err != nil {
		return nil
	}
	defer f.Close()
	return parseOptions(f, names...)
}

// parseOptions reads a kernel configuration up to the last of the wanted
// names: "n" where it says that an option is not set, nothing where it does
// not speak of it.
func parseOptions(config io.Reader, names ...string) map[string]string {
	found := make(map[string]string, len(names))
	lines := bufio.NewScanner(config)
	for len(found) < len(names) && lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "=")
		if !ok {
			name, ok = strings.CutSuffix(strings.TrimPrefix(name, "# "), " is not set")
			value = "n"
		}
		if ok && slices.Contains(names, name) {
			found[name] = strings.Trim(value, `"`)
		}
	}
	return found
}
