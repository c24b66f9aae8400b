package counters

import (
	"bufio"
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
	case "exec":
		go onInput(execAgain)
	case "forks":
		go onInput(forkSpinner)
	case "spin":
		spin(time.Duration(n) * time.Millisecond)
		return
	case "wait":
	case "limit", "raise", "seccomp", "nobody":
		restricted(name)
		return
	default:
		fmt.Fprintln(os.Stderr, "unknown mode", mode)
		os.Exit(2)
	}
	fmt.Println("ready")
	if name == "exec" || name == "forks" {
		select {} // the other goroutine reads
	}
	io.Copy(io.Discard, os.Stdin)
}

// onInput does something at each line of input and ends with it.
func onInput(do func()) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		do()
	}
	os.Exit(0)
}

// threads keeps n threads busy for ever, and beside them one that is always
// new: a locked goroutine that ends takes its thread with it, so each lives for
// about a millisecond.
func threads(n int) {
	runtime.GOMAXPROCS(n + 2)
	var started sync.WaitGroup
	started.Add(n)
	defer started.Wait()
	for range n {
		go func() {
			runtime.LockOSThread()
			started.Done()
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

func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}
