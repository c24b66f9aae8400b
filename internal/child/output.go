package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Output runs a command to its end and returns the first most bytes of what it
// wrote to standard output and standard error together, also beside an error:
// an exit code other than 0 (*ExitError), or the end of ctx, which ends the
// command too. Stdout and Stderr of s are not used.
func Output(ctx context.Context, s Spec, most int64) (string, error) {
	f, err := os.CreateTemp("", "tare-output-*")
	if err != nil {
		return "", err
	}
	defer f.Close()
	// Without a name from the start: a kill leaves nothing behind.
	if err := os.Remove(f.Name()); err != nil {
		return "", err
	}
	s.Stdout, s.Stderr = f, f
	p, err := Start(ctx, s)
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
		err = errors.Join(fmt.Errorf("%s did not end: %w", s.Name, ctx.Err()), p.Stop(0))
	}
	text, readErr := io.ReadAll(io.NewSectionReader(f, 0, most))
	return string(text), errors.Join(err, readErr)
}
