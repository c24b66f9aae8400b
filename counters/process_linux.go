package counters

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/procfs"
)

// readProcess reads /proc/PID/stat. A process that has ended, also one that
// was not waited for yet, is a GoneError.
func readProcess(fs procfs.FS, pid int) (p procfs.Process, stackStart uint64, err error) {
	stat, err := fs.ReadProc(filepath.Join(strconv.Itoa(pid), "stat"))
	if err != nil {
		return p, 0, gone(pid, err)
	}
	if p, err = procfs.ParseProcessStat(stat); err != nil {
		return p, 0, err
	}
	switch p.State {
	case 'Z', 'X', 'x':
		return p, 0, &GoneError{Pid: pid}
	}
	stackStart, err = parseStackStart(stat)
	return p, stackStart, err
}

// program identifies the executable of a process.
func program(fs procfs.FS, pid int) (Program, error) {
	proc := fs.Proc
	if proc == "" {
		proc = "/proc"
	}
	var st unix.Stat_t
	path := filepath.Join(proc, strconv.Itoa(pid), "exe")
	if err := unix.Stat(path, &st); err != nil {
		return Program{}, gone(pid, &os.PathError{Op: "stat", Path: path, Err: err})
	}
	return Program{Device: uint64(st.Dev), Inode: st.Ino}, nil
}

// parseStackStart takes field 28 (startstack) from /proc/PID/stat. The kernel
// shows 0 to readers who may not trace the process.
func parseStackStart(stat string) (uint64, error) {
	const after, field = 3, 28 // number of the first field after the name; wanted field
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= field-after {
		return 0, fmt.Errorf("/proc/PID/stat has %d fields after the name, want more than %d", len(fields), field-after)
	}
	v, err := strconv.ParseUint(fields[field-after], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/PID/stat: start of the stack: %w", err)
	}
	return v, nil
}

// outside reads stolen and interrupt time of the allowed CPUs.
func outside(fs procfs.FS, allowed []int, apart bool) ([]Outside, error) {
	times, err := fs.CPUTimes()
	if err != nil {
		return nil, err
	}
	may := make(map[int]bool, len(allowed))
	for _, cpu := range allowed {
		may[cpu] = true
	}
	var out []Outside
	for _, t := range times {
		if !may[t.CPU] {
			continue
		}
		o := Outside{CPU: t.CPU, StealNanoseconds: t.StealNanoseconds, ResolutionNanoseconds: procfs.TickNanoseconds}
		if apart {
			o.InterruptNanoseconds = t.IRQNanoseconds + t.SoftIRQNanoseconds
		}
		out = append(out, o)
	}
	return out, nil
}
