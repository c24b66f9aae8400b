//go:build linux

package child_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/tareperf/tare/internal/child"
)

func Example() {
	stateDir, err := os.MkdirTemp("", "tare-example") // the library's own: child.StateDir()
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(stateDir)
	ledger, err := child.OpenLedger(stateDir)
	if err != nil {
		panic(err)
	}
	p, err := child.Start(context.Background(), child.Spec{
		Name:   "origin",
		Path:   "/bin/sh",
		Args:   []string{"-c", "echo it runs; sleep 60"},
		Stdout: os.Stdout,
		Ledger: ledger,
	})
	if err != nil {
		panic(err)
	}
	// Nothing of the program was executed so far: place it and attach counters
	// to p.Pid() here.
	if err := p.Release(); err != nil {
		panic(err)
	}
	time.Sleep(100 * time.Millisecond) // real users wait for what shows readiness
	fmt.Println("stop:", p.Stop(time.Second))
	<-p.Done()
	fmt.Println("close:", ledger.Close())
	// Output:
	// it runs
	// stop: <nil>
	// close: <nil>
}
