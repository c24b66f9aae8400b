package gate

import (
	"errors"
	"io/fs"
	"os"
	"slices"
)

func selfPid() int { return os.Getpid() }

func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func sortedPids(tasks map[int]*task) []int {
	pids := make([]int, 0, len(tasks))
	for pid := range tasks {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}
