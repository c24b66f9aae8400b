package child

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// stat holds what this package needs of /proc/PID/stat.
type stat struct {
	State      byte
	Pgid       int
	StartTicks uint64
}

func (s stat) dead() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

// parseStat cuts at the last ')': the name of a process may hold any byte.
func parseStat(b []byte) (stat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return stat{}, fmt.Errorf("stat line %q has no ')'", b)
	}
	f := strings.Fields(string(b[i+1:])) // f[0] is field 3
	if len(f) < 20 || len(f[0]) != 1 {
		return stat{}, fmt.Errorf("stat line %q has %d fields after the name, want 20 or more", b, len(f))
	}
	pgid, err := strconv.Atoi(f[2])
	if err != nil {
		return stat{}, fmt.Errorf("process group in stat line %q: %w", b, err)
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time in stat line %q: %w", b, err)
	}
	return stat{State: f[0][0], Pgid: pgid, StartTicks: start}, nil
}

func procPath(pid int, file string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + file
}

// allPids lists the processes that are visible in /proc.
func allPids() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// exeID names an executable so that another file at the same path differs.
type exeID struct {
	Path   string `json:"path"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

func (a exeID) sameFile(b exeID) bool { return a.Device == b.Device && a.Inode == b.Inode }

// exeOf identifies what a process executes, also when its file was deleted.
func exeOf(pid int) (exeID, error) {
	link := procPath(pid, "exe")
	path, err := os.Readlink(link)
	if err != nil {
		return exeID{}, err
	}
	id, err := fileID(link)
	id.Path = path
	return id, err
}

func fileID(path string) (exeID, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return exeID{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return exeID{Path: path, Device: uint64(st.Dev), Inode: st.Ino}, nil
}
