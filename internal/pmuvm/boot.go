package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/tareperf/tare/internal/child"
	"github.com/tareperf/tare/internal/pmuvm/job"
)

// machine is the command line but for the files. Pointer authentication by
// qemu's own algorithm instead of the architecture's makes the kernel run four
// times faster.
var machine = []string{
	"-M", "virt", "-cpu", "max,pauth-impdef=on", "-smp", "2", "-m", "1024",
	"-icount", "shift=1,sleep=off",
	"-nic", "none", "-nographic", "-no-reboot",
	"-append", "console=ttyAMA0 loglevel=4 panic=-1",
}

// boot runs the jobs in the machine and returns what its console said, which
// it copies to show line by line.
func (o options) boot(ctx context.Context, dir string, p programs, jobs []job.Job, show io.Writer) (string, error) {
	qemu, err := exec.LookPath(o.qemu)
	if err != nil {
		return "", err
	}
	files := filepath.Join(dir, "files.cpio")
	if err := p.archive(files, o.kernel, jobs); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("the machine did not end within %v", o.timeout))
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	vm, err := child.Start(ctx, child.Spec{
		Path: qemu, Args: append(machine[:len(machine):len(machine)], "-kernel", o.kernel, "-initrd", files),
		Stdout: w, Stderr: w,
	})
	w.Close()
	if err != nil {
		r.Close()
		return "", err
	}
	said := make(chan string, 1)
	go func() { said <- console(r, show) }()
	err = finish(ctx, vm)
	text := <-said
	return text, errors.Join(err, r.Close())
}

// console reads to the end, without the carriage returns that a terminal adds.
func console(r io.Reader, show io.Writer) string {
	var all bytes.Buffer
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadBytes('\n')
		line = bytes.ReplaceAll(line, []byte("\r"), nil)
		all.Write(line)
		show.Write(line)
		if err != nil {
			return all.String()
		}
	}
}
