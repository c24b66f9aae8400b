package counters

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The test binary runs itself again as the process that is counted: childMode
// says what it does then. Whatever it does ends when its standard input does,
// or after childLife.
const (
	childMode = "TARE_COUNTERS_CHILD"
	childLife = 20 * time.Second
)

func TestMain(m *testing.M) {
	mode := os.Getenv(childMode)
	if mode == "" {
		os.Exit(m.Run())
	}
	time.AfterFunc(childLife, func() { os.Exit(3) })
	name, arg, _ := strings.Cut(mode, ":")
	n, _ := strconv.Atoi(arg)
	switch name {
	case "threads":
		threads(n)
	case "bursts":
		go bursts(time.Duration(n) * time.Microsecond)
	case "exec":
		execAgain()
	case "wait":
	case "limit", "raise", "seccomp":
		restricted(name)
		return
	default:
		fmt.Fprintln(os.Stderr, "unknown mode", mode)
		os.Exit(2)
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}

// threads keeps n threads busy for ever, and beside them one that is always
// new: a locked goroutine that ends takes its thread with it, so each lives for
// about a millisecond.
func threads(n int) {
	runtime.GOMAXPROCS(n + 2)
	for range n {
		go func() {
			runtime.LockOSThread()
			for {
				spin(10 * time.Millisecond)
			}
		}()
	}
	go func() {
		for {
			var w sync.WaitGroup
			w.Add(1)
			go func() {
				defer w.Done()
				runtime.LockOSThread()
				spin(time.Millisecond)
			}()
			w.Wait()
		}
	}()
}

// bursts is a server that is woken for very little work each time.
func bursts(work time.Duration) {
	runtime.LockOSThread()
	for {
		spin(work)
		time.Sleep(200 * time.Microsecond)
	}
}

func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}
