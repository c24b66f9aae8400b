package loadgen

import (
	"errors"
	"os"
	"time"

	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/sys"
)

// evidence is what is read outside of the workers at both ends of the
// measured part.
type evidence struct {
	process    int64
	processErr error
	busy       procfs.Busy
	busyErr    error
	handshakes int64 // CPU of the threads that shake hands
}

func readEvidence() (e evidence) {
	e.process, e.processErr = sys.ProcessCPUClock(os.Getpid())
	e.busy, e.busyErr = procfs.FS{}.CPUBusy()
	return e
}

// watchStart reads the evidence at the start of the measured part: now, or at
// the end of the lead unless stopped before.
func watchStart(lead time.Duration, read func() evidence) (stop func() evidence) {
	first := read()
	if lead == 0 {
		return func() evidence { return first }
	}
	quit, done := make(chan struct{}), make(chan evidence, 1)
	go func() {
		select {
		case <-time.After(lead):
			done <- read()
		case <-quit:
			done <- first
		}
	}()
	return func() evidence {
		close(quit)
		return <-done
	}
}

// headroom fills in what was left of the CPUs that the workers may use.
// What cannot be told stays nil.
func (r *GeneratorReport) headroom(first, last evidence) error {
	if err := errors.Join(first.processErr, last.processErr); err != nil {
		return err
	}
	r.ProcessCPUNanoseconds = last.process - first.process
	r.HandshakeCPUNanoseconds = last.handshakes - first.handshakes
	if first.busyErr != nil || last.busyErr != nil {
		return nil
	}
	d, err := last.busy.Since(first.busy)
	if err != nil || d.WallNanoseconds <= 0 {
		return nil
	}
	busy := int64(0)
	for _, cpu := range r.CPUs {
		n, ok := d.Nanoseconds[cpu]
		if !ok {
			return nil
		}
		busy += n
	}
	if len(r.CPUs) == 0 {
		return nil
	}
	idle := 1 - float64(busy)/float64(d.WallNanoseconds)/float64(len(r.CPUs))
	idle = min(max(idle, 0), 1)
	left := min(idle, max(0, 1-r.BusyShare()))
	r.CPUsIdleShare, r.Headroom = &idle, &left
	return nil
}
