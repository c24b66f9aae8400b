package child

import (
	"context"
	"runtime"
	"sync"
)

// The kernel ties two things to one thread: PR_SET_PDEATHSIG fires when the
// thread that created the process ends, and only the thread that traces a
// process may detach from it. So one thread, which never ends, does both for
// every process. It is a fact of the operating-system process, hence the one
// package-level variable.
var spawner struct {
	once sync.Once
	work chan func()
}

// onSpawner runs f on the spawner thread and waits for its end. When ctx ends
// before the thread is free, f is not run.
func onSpawner(ctx context.Context, f func()) error {
	spawner.once.Do(func() {
		spawner.work = make(chan func())
		go func() {
			runtime.LockOSThread() // and never unlocked
			for f := range spawner.work {
				f()
			}
		}()
	})
	done := make(chan struct{})
	select {
	case spawner.work <- func() { defer close(done); f() }:
		<-done
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
