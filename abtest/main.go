package abtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/tareperf/tare/internal/smallorigin"
	"github.com/tareperf/tare/internal/smallproxy"
	"github.com/tareperf/tare/loadgen"
)

// helperEnv tells a process of this binary which helper it is, helperConfigEnv
// its configuration in JSON.
const (
	helperEnv       = "TARE_HELPER"
	helperConfigEnv = "TARE_HELPER_CONFIG"
)

// The helpers that this binary can be started as.
const (
	helperGenerator = "generator"
	helperOrigin    = "origin"
	helperProxy     = "proxy"
)

// hooked is set by RunHelper. It is a property of the program, not of an
// experiment: a binary whose main does not call RunHelper would, started as a
// helper, run its tests again.
var hooked atomic.Bool

// ErrNoMain is returned by Measure in a program that did not call Main or
// RunHelper first: the harness starts this same binary as its helper
// processes, and without the call they would run the program again.
var ErrNoMain = errors.New("abtest.Main was not called; write func TestMain(m *testing.M) { abtest.Main(m) }, or call abtest.RunHelper() first in main")

// Main runs the tests of m and exits. It is the one thing that a test package
// needs beside its experiments:
//
//	func TestMain(m *testing.M) { abtest.Main(m) }
func Main(m *testing.M) {
	RunHelper()
	os.Exit(m.Run())
}

// RunHelper is Main's part for programs that are not tests: call it first in
// main. In a process that was started as a helper it serves until its parent
// ends, and then exits; elsewhere it returns at once.
func RunHelper() {
	name, isHelper := os.LookupEnv(helperEnv)
	if !isHelper {
		hooked.Store(true)
		return
	}
	if err := serveHelper(name); err != nil {
		fmt.Fprintf(os.Stderr, "tare helper %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveHelper(name string) error {
	// A helper that outgrows this is broken; a small machine must not swap.
	debug.SetMemoryLimit(1 << 30)
	config := []byte(os.Getenv(helperConfigEnv))
	switch name {
	case helperGenerator:
		return loadgen.Serve(os.Stdin, os.Stdout)
	case helperOrigin:
		var c smallorigin.Config
		if err := json.Unmarshal(config, &c); err != nil {
			return fmt.Errorf("%s: %w", helperConfigEnv, err)
		}
		return smallorigin.Main(context.Background(), c, os.Stdin, os.Stdout)
	case helperProxy:
		var c smallproxy.Config
		if err := json.Unmarshal(config, &c); err != nil {
			return fmt.Errorf("%s: %w", helperConfigEnv, err)
		}
		return smallproxy.Main(context.Background(), c, os.Stdin, os.Stdout)
	}
	return fmt.Errorf("unknown helper %q in %s", name, helperEnv)
}
