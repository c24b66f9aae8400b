// Command init is the first process of the emulated machine: it mounts what
// tests look at, runs the jobs of /jobs.json one after the other, and switches
// the machine off. What it says on the console is read by package pmuvm.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/pmuvm/job"
)

func main() {
	if filepath.Base(os.Args[0]) == job.True {
		return
	}
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "this is the init of an emulated machine: run scripts/pmu-test")
		os.Exit(2)
	}
	if err := run(); err != nil {
		fmt.Println(job.Mark, "failed:", err)
	} else {
		fmt.Println(job.Mark, job.Done)
	}
	unix.Sync()
	// The kernel panics when its first process ends, so this is the last word.
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func run() error {
	for _, m := range []struct{ kind, at string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}, {"tracefs", "/sys/kernel/tracing"}, {"cgroup2", "/sys/fs/cgroup"},
	} {
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	// Without this no cgroup below could have CPUs of its own.
	if err := os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+cpuset +cpu"), 0); err != nil {
		return err
	}
	if err := loopback(); err != nil {
		return fmt.Errorf("bring up the loopback interface: %w", err)
	}
	text, err := os.ReadFile(job.File)
	if err != nil {
		return err
	}
	var jobs []job.Job
	if err := json.Unmarshal(text, &jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		fmt.Println(job.Mark, job.Begin, j.Name)
		began := time.Now()
		err := do(j)
		result := job.OK
		if err != nil {
			result = err.Error()
		}
		fmt.Printf("%s %s %s after %.1f s of its clock: %s\n", job.Mark, job.End, j.Name, time.Since(began).Seconds(), result)
	}
	return nil
}

func do(j job.Job) error {
	p, err := child.Start(context.Background(), child.Spec{
		Name: j.Name, Path: j.Path, Args: j.Args, Dir: "/tmp",
		Env:    append(j.Env, "HOME=/tmp", "TMPDIR=/tmp", "PATH=/"),
		Stdout: os.Stdout, Stderr: os.Stderr, Affinity: j.CPUs,
	})
	if err != nil {
		return err
	}
	if err := p.Release(); err != nil {
		return err
	}
	<-p.Done()
	return p.ExitError()
}

// loopback does what `ip link set lo up` does.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}
