package counters

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
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
	if config, err := kernelConfig(fs, boot); err == nil {
		if v, known := configOption(config, "CONFIG_IRQ_TIME_ACCOUNTING"); known {
			a.interruptsApart = v == "y"
		}
		if v, known := configOption(config, "CONFIG_HZ"); known {
			if hz, err := strconv.ParseInt(v, 10, 64); err == nil && hz > 0 {
				a.tickNanoseconds = 1e9 / hz
			}
		}
	}
	// A thread alone on a nohz_full CPU is looked after once a second.
	if list, err := fs.ReadSys("devices/system/cpu/nohz_full"); err == nil {
		if cpus, err := procfs.ParseCPUList(list); err == nil && len(cpus) > 0 {
			a.tickNanoseconds = 1e9
		}
	}
	return a
}

// kernelConfig reads the build configuration of the running kernel from
// /proc/config.gz or from boot/config-RELEASE.
func kernelConfig(fs procfs.FS, boot string) ([]byte, error) {
	proc := fs.Proc
	if proc == "" {
		proc = "/proc"
	}
	f, err := os.Open(filepath.Join(proc, "config.gz"))
	if err == nil {
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(z, 16<<20))
	}
	release, err := fs.ReadProc("sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(boot, "config-"+release))
}

// configOption gives the value of an option, "n" where the file says that it is
// not set. known is false where the file does not speak of it.
func configOption(config []byte, name string) (value string, known bool) {
	lines := bufio.NewScanner(bytes.NewReader(config))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if v, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.Trim(v, `"`), true
		}
		if line == "# "+name+" is not set" {
			return "n", true
		}
	}
	return "", false
}
