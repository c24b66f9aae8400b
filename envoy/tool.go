package envoy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/tareperf/tare/internal/child"
)

// toolTimeout bounds a command that answers and ends.
const toolTimeout = 30 * time.Second

type tool struct {
	name, path string
	args, env  []string
	dir        string
	timeout    time.Duration // default: toolTimeout
}

// runTool runs a command to its end and returns what it wrote to standard
// output and standard error together. An exit code other than 0 is an error
// that ends in the last lines.
func runTool(ctx context.Context, t tool) (string, error) {
	if t.timeout == 0 {
		t.timeout = toolTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	f, err := os.CreateTemp("", "tare-envoy-*.out")
	if err != nil {
		return "", err
	}
	defer f.Close()
	// Without a name from the start: a kill leaves nothing behind.
	if err := os.Remove(f.Name()); err != nil {
		return "", err
	}
	p, err := child.Start(ctx, child.Spec{Name: t.name, Path: t.path, Args: t.args, Env: t.env, Dir: t.dir, Stdout: f, Stderr: f})
	if err != nil {
		return "", err
	}
	if err := p.Release(); err != nil {
		return "", errors.Join(err, p.Stop(0))
	}
	select {
	case <-p.Done():
		err = p.ExitError()
	case <-ctx.Done():
		err = errors.Join(fmt.Errorf("%s did not end: %w", t.name, ctx.Err()), p.Stop(0))
	}
	text, readErr := readHead(f, 1<<20)
	if err != nil {
		if last := lastLines(text, 8); last != "" {
			err = fmt.Errorf("%w: %s", err, last)
		}
		return text, err
	}
	return text, readErr
}

func readHead(f *os.File, most int64) (string, error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, most))
	return strings.ToValidUTF8(string(text), "?"), err
}

// lastLines gives the last n lines that say something, on one line.
func lastLines(text string, n int) string {
	var lines []string
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, clip(l, 400))
		}
	}
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, " | ")
}
