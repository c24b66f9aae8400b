package procfs

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// TickNanoseconds is the length of one USER_HZ tick, the unit of the times in
// /proc/stat and /proc/PID/stat.
const TickNanoseconds = 10_000_000

// CPUTime is one cpuN line of /proc/stat, in nanoseconds but cut to ticks of
// 10 ms. Any of them may go backwards on some kernels; the reader of a
// difference has to refuse that.
type CPUTime struct {
	CPU                int // from the name of the line, not from its place
	UserNanoseconds    int64
	NiceNanoseconds    int64
	SystemNanoseconds  int64
	IdleNanoseconds    int64
	IOWaitNanoseconds  int64
	IRQNanoseconds     int64
	SoftIRQNanoseconds int64
	StealNanoseconds   int64
	GuestNanoseconds   int64 // included in User by the kernel
}

// CPUTimes reads the times of every CPU that is online.
func (fs FS) CPUTimes() ([]CPUTime, error) {
	b, err := os.ReadFile(fs.proc("stat"))
	if err != nil {
		return nil, err
	}
	return ParseCPUTimes(string(b))
}

// ParseCPUTimes reads the content of /proc/stat.
func ParseCPUTimes(s string) ([]CPUTime, error) {
	var times []CPUTime
	seen := map[int]bool{}
	for _, line := range strings.Split(s, "\n") {
		rest, ok := strings.CutPrefix(line, "cpu")
		if !ok || rest == "" || rest[0] < '0' || rest[0] > '9' {
			continue
		}
		fields := strings.Fields(rest)
		cpu, err := parseCPU(fields[0], -1)
		if err != nil {
			return nil, fmt.Errorf("procfs: /proc/stat: line %q: %w", line, err)
		}
		if seen[cpu] {
			return nil, fmt.Errorf("procfs: /proc/stat: cpu%d is there twice", cpu)
		}
		seen[cpu] = true
		// user nice system idle came first, the others one by one until 2.6.33.
		if len(fields) < 9 {
			return nil, fmt.Errorf("procfs: /proc/stat: line %q has %d columns, want at least 9", line, len(fields))
		}
		t := CPUTime{CPU: cpu}
		for i, to := range []*int64{
			&t.UserNanoseconds, &t.NiceNanoseconds, &t.SystemNanoseconds, &t.IdleNanoseconds, &t.IOWaitNanoseconds,
			&t.IRQNanoseconds, &t.SoftIRQNanoseconds, &t.StealNanoseconds, &t.GuestNanoseconds,
		} {
			if i+1 >= len(fields) {
				break
			}
			ticks, err := strconv.ParseInt(fields[i+1], 10, 64)
			if err != nil || ticks < 0 || ticks > 1<<62/TickNanoseconds {
				return nil, fmt.Errorf("procfs: /proc/stat: line %q: column %d is not a number of ticks", line, i+1)
			}
			*to = ticks * TickNanoseconds
		}
		times = append(times, t)
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("procfs: /proc/stat has no cpuN line")
	}
	return times, nil
}
