package child

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"github.com/tareperf/tare/internal/procfs"
)

// proc reads the /proc of this host: what is signalled is real, so is what is
// read.
var proc procfs.FS

func procPath(pid int, file string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + file
}

// dead reports that nothing of the process runs any more.
func dead(p procfs.Process) bool { return p.State == 'Z' || p.State == 'X' || p.State == 'x' }

func gone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// groupMembers lists who lives in a process group.
func groupMembers(pgid int) ([]int, error) {
	pids, err := proc.Processes()
	if err != nil {
		return nil, err
	}
	var members []int
	for _, pid := range pids {
		// A process that is gone by now is no member.
		if p, err := proc.Process(pid); err == nil && p.Pgid == pgid && !dead(p) {
			members = append(members, pid)
		}
	}
	return members, nil
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
