package envoy

import (
	"context"
	"fmt"
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
	text, err := child.Output(ctx, child.Spec{Name: t.name, Path: t.path, Args: t.args, Env: t.env, Dir: t.dir}, 1<<20)
	text = strings.ToValidUTF8(text, "?")
	if last := lastLines(text, 8); err != nil && last != "" {
		err = fmt.Errorf("%w: %s", err, last)
	}
	return text, err
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
