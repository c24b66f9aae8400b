package smallserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Causes of the end of a server's life, see [context.Cause].
var (
	ErrStdinEnded = errors.New("standard input ended: the parent is gone")
	ErrSignal     = errors.New("ended by a signal")
)

// Until returns a context that ends with ctx, when stdin ends, and on SIGTERM or
// SIGINT. Whatever stdin carries is thrown away. The returned function gives the
// signals back to their default; call it only when the server has ended, so that
// a second SIGTERM does not cut the last log lines off.
func Until(ctx context.Context, stdin io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("%w: %v", ErrSignal, s))
		case <-ctx.Done():
		}
	}()
	go func() {
		// A read error is as good as the end: nobody is there to be waited for.
		_, _ = io.Copy(io.Discard, stdin)
		cancel(ErrStdinEnded)
	}()
	return ctx, func() {
		cancel(context.Canceled)
		signal.Stop(signals)
	}
}
