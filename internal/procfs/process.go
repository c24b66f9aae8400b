package procfs

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Process is one process as /proc/PID/stat tells it.
type Process struct {
	Pid, PPid, Pgid int
	Comm            string // the name of the main thread, up to 15 bytes, any bytes
	State           byte   // R, S, D, T, t, Z, X, I ...
	Threads         int    // number of threads
	StartTicks      uint64 // since boot, in ticks of 10 ms; with the pid and the boot id it names a process
	LastCPU         int    // the CPU that the main thread ran on last
	Exe             string // target of /proc/PID/exe; empty for kernel threads and where it may not be read
}

// Thread is one thread of a process.
type Thread struct {
	Tid             int
	Comm            string
	State           byte
	StartTicks      uint64 // as in Process
	RunNanoseconds  int64  // time on a CPU since the thread began, user and kernel together
	WaitNanoseconds int64  // time spent runnable and waiting for a CPU
	LastCPU         int
	AllowedCPUs     []int // Cpus_allowed_list: affinity within the cpuset
}

// Process reads one process. A pid that is not there gives an error for which
// errors.Is(err, fs.ErrNotExist) holds.
func (fs FS) Process(pid int) (Process, error) {
	p, err := fs.ProcessStat(pid)
	if err != nil {
		return Process{}, err
	}
	p.Exe = fs.Exe(pid)
	return p, nil
}

// ProcessStat is Process without Exe, at half the cost.
func (fs FS) ProcessStat(pid int) (Process, error) {
	b, err := os.ReadFile(fs.proc(strconv.Itoa(pid), "stat"))
	if err != nil {
		return Process{}, gone(err)
	}
	return ParseProcessStat(string(b))
}

// Exe reads the path of a process's executable: empty for kernel threads and
// where it may not be read. A file that is no more ends in " (deleted)".
func (fs FS) Exe(pid int) string {
	exe, _ := os.Readlink(fs.proc(strconv.Itoa(pid), "exe"))
	return exe
}

// ParseProcessStat reads the content of /proc/PID/stat or of a thread's stat.
// The name is everything up to the last parenthesis of the file, because a
// name may hold parentheses, spaces and newlines of its own.
func ParseProcessStat(s string) (Process, error) {
	open, last := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if open < 0 || last < open {
		return Process{}, fmt.Errorf("procfs: stat %q has no name in parentheses", clip(s))
	}
	fields := strings.Fields(s[last+1:])
	const first = 3 // number, in proc(5), of the first field after the name
	if len(fields) <= 39-first {
		return Process{}, fmt.Errorf("procfs: stat %q has %d fields after the name, want at least %d", clip(s), len(fields), 39-first+1)
	}
	p := Process{Comm: s[open+1 : last]}
	if len(fields[0]) != 1 {
		return Process{}, fmt.Errorf("procfs: stat %q: state %q is not one letter", clip(s), fields[0])
	}
	p.State = fields[0][0]
	var err error
	number := func(text, what string) int {
		n, e := strconv.Atoi(text)
		if e != nil && err == nil {
			err = fmt.Errorf("procfs: stat %q: %s %q is not a number", clip(s), what, text)
		}
		return n
	}
	p.Pid = number(strings.TrimSpace(s[:open]), "pid")
	p.PPid = number(fields[4-first], "ppid")
	p.Pgid = number(fields[5-first], "pgrp")
	p.Threads = number(fields[20-first], "num_threads")
	p.LastCPU = number(fields[39-first], "processor")
	start, e := strconv.ParseUint(fields[22-first], 10, 64)
	if e != nil && err == nil {
		err = fmt.Errorf("procfs: stat %q: start time %q is not a number", clip(s), fields[22-first])
	}
	p.StartTicks = start
	if err != nil {
		return Process{}, err
	}
	return p, nil
}

// Threads reads every thread of a process. Threads that end during the read
// are left out; a process that is gone is an error (fs.ErrNotExist).
func (fs FS) Threads(pid int) ([]Thread, error) {
	return fs.threads(pid, true)
}

// ThreadRuns is Threads without AllowedCPUs, at two thirds of the cost.
func (fs FS) ThreadRuns(pid int) ([]Thread, error) {
	return fs.threads(pid, false)
}

// OnlyThread is ThreadRuns for a process that p says has one thread, at a
// third of the cost: it reads nothing again that p tells.
func (fs FS) OnlyThread(p Process) (Thread, error) {
	t := Thread{Tid: p.Pid, Comm: p.Comm, State: p.State, StartTicks: p.StartTicks, LastCPU: p.LastCPU}
	err := fs.readRuns(fs.proc(strconv.Itoa(p.Pid)), &t)
	return t, err
}

func (fs FS) threads(pid int, allowed bool) ([]Thread, error) {
	tids, err := numberedDirs(fs.proc(strconv.Itoa(pid), "task"))
	if err != nil {
		return nil, gone(err)
	}
	threads := make([]Thread, 0, len(tids))
	for _, tid := range tids {
		t, err := fs.thread(pid, tid, allowed)
		if errors.Is(err, iofs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		threads = append(threads, t)
	}
	if len(threads) == 0 {
		return nil, fmt.Errorf("procfs: process %d ended: %w", pid, iofs.ErrNotExist)
	}
	return threads, nil
}

func (fs FS) thread(pid, tid int, allowed bool) (Thread, error) {
	dir := fs.proc(strconv.Itoa(pid), "task", strconv.Itoa(tid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Thread{}, gone(err)
	}
	p, err := ParseProcessStat(string(stat))
	if err != nil {
		return Thread{}, err
	}
	t := Thread{Tid: tid, Comm: p.Comm, State: p.State, StartTicks: p.StartTicks, LastCPU: p.LastCPU}
	if err := fs.readRuns(dir, &t); err != nil {
		return Thread{}, err
	}
	if !allowed {
		return t, nil
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return Thread{}, gone(err)
	}
	if t.AllowedCPUs, err = ParseAllowedCPUs(string(status)); err != nil {
		return Thread{}, err
	}
	return t, nil
}

func (fs FS) readRuns(dir string, t *Thread) error {
	sched, err := os.ReadFile(filepath.Join(dir, "schedstat"))
	if err = gone(err); err != nil {
		if _, e := os.Stat(dir); errors.Is(err, iofs.ErrNotExist) && e == nil {
			return fmt.Errorf("procfs: thread %d has no schedstat: the kernel was built without CONFIG_SCHED_INFO: %w", t.Tid, ErrNotSupported)
		}
		return err
	}
	t.RunNanoseconds, t.WaitNanoseconds, err = ParseSchedstat(string(sched))
	return err
}

// ParseSchedstat reads the content of /proc/PID/task/TID/schedstat: time on a
// CPU and time runnable but waiting, in nanoseconds.
func ParseSchedstat(s string) (run, wait int64, err error) {
	fields := strings.Fields(s)
	if len(fields) < 2 {
		return 0, 0, fmt.Errorf("procfs: schedstat %q has %d fields, want at least 2", clip(s), len(fields))
	}
	run, err1 := strconv.ParseInt(fields[0], 10, 64)
	wait, err2 := strconv.ParseInt(fields[1], 10, 64)
	if err := errors.Join(err1, err2); err != nil || run < 0 || wait < 0 {
		return 0, 0, fmt.Errorf("procfs: schedstat %q does not begin with two counts of nanoseconds", clip(s))
	}
	return run, wait, nil
}

// ParseAllowedCPUs reads Cpus_allowed_list from the content of
// /proc/PID/status.
func ParseAllowedCPUs(s string) ([]int, error) {
	for _, line := range strings.Split(s, "\n") {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return ParseCPUList(list)
		}
	}
	return nil, fmt.Errorf("procfs: status has no Cpus_allowed_list: %w", ErrNotSupported)
}

// AllowedCPUs reads the CPUs that one thread (or a process's main thread) may
// run on.
func (fs FS) AllowedCPUs(tid int) ([]int, error) {
	b, err := os.ReadFile(fs.proc(strconv.Itoa(tid), "status"))
	if err != nil {
		return nil, gone(err)
	}
	return ParseAllowedCPUs(string(b))
}

// Processes lists the pids of the host's processes, ascending.
func (fs FS) Processes() ([]int, error) {
	return numberedDirs(fs.proc())
}

func numberedDirs(dir string) ([]int, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, name := range names {
		if id, err := strconv.Atoi(name); err == nil && id > 0 && strconv.Itoa(id) == name {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
