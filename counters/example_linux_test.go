package counters_test

import (
	"bufio"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/tareperf/tare/counters"
)

// What one line of input costs a shell that counts to 20,000 for each.
func Example() {
	cmd := exec.Command("/bin/sh", "-c",
		`while read line; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done; done`)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	answers := bufio.NewReader(out)

	// Start it stopped at its exec. A traced process belongs to the thread that
	// started it, so this goroutine keeps its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer cmd.Wait()
	defer in.Close()
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		fmt.Println("not stopped at exec:", err)
		return
	}

	// Attach, then let it go.
	c, openErr := counters.OpenHeld(pid, counters.Options{Metric: counters.CPUTime})
	if err := syscall.PtraceDetach(pid); err != nil || openErr != nil {
		fmt.Println(openErr, err)
		return
	}
	defer c.Close()

	ask := func() {
		fmt.Fprintln(in, "go")
		answers.ReadString('\n')
	}
	ask() // warm up
	before, err := c.Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 5 {
		ask()
	}
	after, err := c.Read()
	if err != nil {
		fmt.Println(err)
		return
	}
	cost, err := after.Since(before)
	if err != nil {
		fmt.Println("no value:", err)
		return
	}
	perLine := cost.Value / 5
	fmt.Println("unit:", cost.Metric.Unit())
	fmt.Println("between 1 and 1000 ms a line:", perLine > 1e6 && perLine < 1e9)
	// Output:
	// unit: ns
	// between 1 and 1000 ms a line: true
}
