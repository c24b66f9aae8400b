// Command pmuvm proves package counters on hardware counters where the machine
// has none: it boots an arm64 kernel under qemu, whose emulated processor
// counts cycles and instructions exactly, and runs tests of this module in it.
//
//	go run ./internal/pmuvm -kernel FILE [-mutants]
//
// scripts/pmu-test finds the kernel and calls this. The machine has two CPUs, no
// network, no disk: its files are a cpio archive made here, with the test
// binaries in it.
//
// Time there is counted, not measured: each instruction takes two virtual
// nanoseconds (-icount shift=1) and a cycle is one virtual nanosecond, so cycles
// are twice the instructions, how busy the host is does not matter, and nothing
// is stolen. Idle time is skipped (sleep=off). What it cannot show is what
// caches, speculation and frequencies do.
//
// With -mutants, faults are put into package counters one at a time, and the
// tests that are named for each must fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tareperf/tare/internal/pmuvm/job"
)

type options struct {
	kernel, qemu string
	timeout      time.Duration
	mutants      bool
}

func main() {
	var o options
	flag.StringVar(&o.kernel, "kernel", "", "arm64 kernel image `file`")
	flag.StringVar(&o.qemu, "qemu", "qemu-system-aarch64", "qemu `program`")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "bound for the machine, which a busy host makes slow")
	flag.BoolVar(&o.mutants, "mutants", false, "put faults into the counters and demand that tests fail")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "pmuvm:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) (err error) {
	if o.kernel == "" {
		return errors.New("no kernel: run scripts/pmu-test, or pass -kernel")
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tare-pmuvm-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := builder{root: root, dir: dir}
	if o.mutants {
		return o.runMutants(ctx, b)
	}
	began := time.Now()
	programs, jobs, err := b.suites(ctx)
	if err != nil {
		return err
	}
	built := time.Now()
	text, err := o.boot(ctx, dir, programs, jobs, os.Stdout)
	fmt.Printf("built in %.1f s, the machine ran for %.1f s\n", built.Sub(began).Seconds(), time.Since(built).Seconds())
	if err != nil {
		return err
	}
	return parse(text).verdict(jobs)
}

// testsMachine is in the environment of every job.
const testsMachine = "TARE_PMU_MACHINE=1"

// required: what is absent in the machine is a failure there.
const required = "TARE_REQUIRE=pmu,emulated pmu,perf,ptrace,root,cgroup,cpuset,cpus"

// testJob lists the tests that match, and runs them.
func testJob(name, path, pattern string, cpus []int, args ...string) []job.Job {
	env := []string{testsMachine, required}
	return []job.Job{
		{Name: name + listSuffix, Path: path, Args: []string{"-test.list", pattern}, Env: env},
		{Name: name, Path: path, Args: append([]string{"-test.run", pattern, "-test.v", "-test.timeout", "240s"}, args...), Env: env, CPUs: cpus},
	}
}

// Tests of package counters: those that need hardware counters, which faults are
// tried on, and with them those that ask the kernel how it counts.
const (
	hardwareTests = "^TestPMU"
	countersTests = "^Test(PMU|Probe|Cycles|EveryThread|NoInheritance|ChildProcesses|Exec|Errno|OpenAllOrNothing)"
)

// countersJob runs the tests of package counters. What they move to other CPUs
// they move themselves.
func countersJob(name, path, pattern string, args ...string) []job.Job {
	return testJob(name, path, pattern, []int{0}, args...)
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod here or above: run it inside the module")
		}
		dir = filepath.Dir(dir)
	}
}
