package envoy

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/tareperf/tare/internal/procfs"
)

// Worker is one worker thread and the CPU time that it has used. Envoy counts
// connections by worker, but not requests: how evenly the load lay on the
// workers shows in their CPU time only.
type Worker struct {
	Index          int   // N of the thread's name, wrk:worker_N
	Tid            int   // thread id
	RunNanoseconds int64 // time on a CPU since the thread began
}

// WorkerRunNanoseconds reads the worker threads of an Envoy, by index. It
// does not ask Envoy and costs it nothing.
func WorkerRunNanoseconds(pid int) ([]Worker, error) {
	threads, err := procfs.FS{}.Threads(pid)
	if err != nil {
		return nil, fmt.Errorf("workers of pid %d: %w", pid, err)
	}
	return workersOf(pid, threads)
}

const workerPrefix = "wrk:worker_"

func workersOf(pid int, threads []procfs.Thread) ([]Worker, error) {
	var workers []Worker
	for _, t := range threads {
		number, ok := strings.CutPrefix(t.Comm, workerPrefix)
		if !ok {
			continue
		}
		index, err := strconv.Atoi(number)
		if err != nil || index < 0 {
			return nil, fmt.Errorf("workers of pid %d: thread %d is called %q, want %sN", pid, t.Tid, t.Comm, workerPrefix)
		}
		workers = append(workers, Worker{Index: index, Tid: t.Tid, RunNanoseconds: t.RunNanoseconds})
	}
	if len(workers) == 0 {
		return nil, fmt.Errorf("pid %d has no thread called %sN among its %d: is it an Envoy that has started its workers", pid, workerPrefix, len(threads))
	}
	sort.Slice(workers, func(i, j int) bool { return workers[i].Index < workers[j].Index })
	for i, w := range workers {
		if w.Index != i {
			return nil, fmt.Errorf("workers of pid %d: want one each of 0 to %d, worker %d is missing or there twice", pid, len(workers)-1, i)
		}
	}
	return workers, nil
}
