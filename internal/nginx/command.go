package nginx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Command is an nginx that is ready to be started, once, in the foreground. It
// ends at SIGTERM and SIGQUIT, both at once: a single process does not drain.
type Command struct {
	Binary  Binary
	Options Options
	// Path, Args (without the program's name), Env (the whole environment) and Dir
	// (working and run directory) are for the starter of processes.
	Path string
	Args []string
	Env  []string
	Dir  string
	// Address is the host:port that serves, StatusAddress that of the status.
	Address       string
	StatusAddress string
	// ErrorLog is the file with nginx's own messages, "warn" and above.
	ErrorLog string

	held []*os.File
}

// ExitedError says that nginx ended before it served. Its last words follow; the
// port taken by another is among the possible ones, and then a new Prepare helps.
type ExitedError struct{ Complaints string }

func (e *ExitedError) Error() string {
	return "nginx ended before it was ready; its error log says: " + e.Complaints
}

// Await returns when nginx serves and answers for its status, which is asked
// through s. done is closed when the process has ended; then the error is an
// *ExitedError. ctx bounds the wait.
func (c *Command) Await(ctx context.Context, done <-chan struct{}, s *Status) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		select { // first: another's nginx on the port must not pass for a dead one
		case <-done:
			return &ExitedError{Complaints: c.Complaints()}
		default:
		}
		_, err := s.Stats(ctx)
		if err == nil {
			return nil
		}
		// Refused at first; reset when nginx gives up. The loop ends by done or ctx.
		select {
		case <-done:
			return &ExitedError{Complaints: c.Complaints()}
		case <-ctx.Done():
			return fmt.Errorf("nginx is not ready (%w; its error log says: %q): %w", err, c.Complaints(), ctx.Err())
		case <-time.After(pause):
		}
	}
}

// Close gives the ports up here; those that nginx listens on are not touched. Call
// it when nginx serves or is not going to.
func (c *Command) Close() error {
	var errs []error
	for _, f := range c.held {
		errs = append(errs, f.Close())
	}
	c.held = nil
	return errors.Join(errs...)
}

// Complaints are the last lines of nginx's error log, empty when there are none.
func (c *Command) Complaints() string {
	f, err := os.Open(c.ErrorLog)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 4 << 10
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd) // at worst the first lines instead of the last
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
