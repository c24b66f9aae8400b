package gate

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"strconv"
	"strings"
)

// IdleStatesEvidence is the part of the evidence that the gate [IdleStates]
// reads.
func (e HostEvidence) IdleStatesEvidence() IdleStatesEvidence {
	return IdleStatesEvidence{Start: e.IdleStart, End: e.IdleEnd, Error: e.IdleError}
}

// LookAtOrigin reads the process of an origin. The caller asks it a request
// and sets Answered, and Error when it did not answer.
func LookAtOrigin(fs FS, name string, pid int) OriginEvidence {
	e := OriginEvidence{Name: name, Pid: pid}
	p, err := fs.Process(pid)
	if err != nil {
		_, alive := fs.Processes()
		e.Gone = alive == nil && errors.Is(err, iofs.ErrNotExist)
		e.Error = err.Error()
		return e
	}
	e.Comm, e.State, e.LastCPU = p.Comm, string(p.State), p.LastCPU
	return e
}

// ThreadRun is the run time of one thread at one moment.
type ThreadRun struct {
	Tid            int
	Comm           string
	RunNanoseconds int64
}

// ThreadRuns reads the run time of every thread of a process whose name begins
// with prefix (all threads when it is empty).
func ThreadRuns(fs FS, pid int, prefix string) ([]ThreadRun, error) {
	threads, err := fs.ThreadRuns(pid)
	if err != nil {
		return nil, fmt.Errorf("gate: threads of process %d: %w", pid, err)
	}
	var runs []ThreadRun
	for _, th := range threads {
		if strings.HasPrefix(th.Comm, prefix) {
			runs = append(runs, ThreadRun{Tid: th.Tid, Comm: th.Comm, RunNanoseconds: th.RunNanoseconds})
		}
	}
	return runs, nil
}

// WorkersSince gives the evidence of the gate [Spread] from two readings of
// the worker threads. A worker that came or went in the window is an error.
func WorkersSince(start, end []ThreadRun) ([]WorkerTime, error) {
	before := map[int]ThreadRun{}
	for _, t := range start {
		before[t.Tid] = t
	}
	if len(start) != len(end) {
		return nil, fmt.Errorf("gate: %d workers at the start of the window and %d at its end", len(start), len(end))
	}
	var workers []WorkerTime
	for _, t := range end {
		old, ok := before[t.Tid]
		if !ok || t.RunNanoseconds < old.RunNanoseconds {
			return nil, fmt.Errorf("gate: worker %q (tid %d) is not the one that was there at the start", t.Comm, t.Tid)
		}
		workers = append(workers, WorkerTime{Name: t.Comm + " (tid " + strconv.Itoa(t.Tid) + ")", RunNanoseconds: t.RunNanoseconds - old.RunNanoseconds})
	}
	return workers, nil
}
