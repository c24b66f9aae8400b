package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/tareperf/tare/loadgen"
)

// load is the command tare load.
func load(args []string, s streams) int {
	o, set, err := parseLoad(args)
	var wrong usageError
	switch {
	case errors.Is(err, flag.ErrHelp):
		io.WriteString(s.out, loadUsage)
		set.help(s.out)
		io.WriteString(s.out, loadStatuses)
		return exitOK
	case errors.As(err, &wrong):
		fmt.Fprintf(s.err, "tare load: %v\n(tare load -h explains the flags)\n", wrong.error)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	for _, warning := range loadgen.Warnings(o.spec, []loadgen.Target{o.target}, o.window) {
		fmt.Fprintf(s.err, "tare load: %s\n", warning)
	}
	res, err := o.run(ctx, s)
	if err != nil {
		return o.failed(err, s)
	}
	if o.json {
		err = writeJSON(s.out, res)
	} else {
		err = res.text(s.out)
	}
	if err != nil {
		fmt.Fprintf(s.err, "tare load: write the result: %v\n", err)
		return exitError
	}
	return res.Exit
}

// failed says why there was no load.
func (o loadOptions) failed(err error, s streams) int {
	status := exitError
	var invalid *loadgen.InvalidError
	var connect *loadgen.ConnectError
	switch {
	case errors.As(err, &invalid):
		status, err = exitUsage, flagNames(err)
	case errors.As(err, &connect) && connect.Class == loadgen.ConnectTLS:
		err = fmt.Errorf("%w (--tls-ca trusts another authority, --tls-server-name expects another name, --tls-insecure takes everything)", err)
	case errors.Is(err, context.Canceled):
		status = exitInterrupted
	}
	fmt.Fprintf(s.err, "tare load: %v\n", err)
	if o.json {
		res := errorResult{URL: o.url, Error: err.Error(), Exit: status}
		var lost *lostError
		if errors.As(err, &lost) {
			res.LastSeen = &lost.progress
		}
		if err := writeJSON(s.out, res); err != nil {
			fmt.Fprintf(s.err, "tare load: write the result: %v\n", err)
		}
	}
	return status
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// run loads, in a generator process.
func (o loadOptions) run(ctx context.Context, s streams) (res *loadResult, err error) {
	p, err := startGenerator(ctx, o.cpus)
	if err != nil {
		return nil, err
	}
	defer func() {
		if endErr := p.end(); endErr != nil && err == nil {
			err = fmt.Errorf("end the generator: %w", endErr)
		}
	}()
	if err := p.Open(ctx, o.spec, []loadgen.Target{o.target}); err != nil {
		return nil, err
	}
	if err := p.Connect(ctx); err != nil {
		return nil, err
	}
	if o.search.Low > 0 {
		return o.runSearch(ctx, p, s)
	}
	return o.window1(ctx, p, o.window, s)
}

// lostError is a generator that ended inside a window.
type lostError struct {
	error
	progress loadgen.Progress
}

func (e *lostError) Unwrap() error { return e.error }

func (e *lostError) Error() string {
	p := e.progress
	return fmt.Sprintf("%v (last seen: %d scheduled, %d sent, %d overflow, %d completed, %d failed, %d in flight)",
		e.error, p.Scheduled, p.Sent, p.Overflow, p.Completed, p.Failed, p.InFlight)
}

// window1 runs and judges one window.
func (o loadOptions) window1(ctx context.Context, p *process, w loadgen.Window, s streams) (*loadResult, error) {
	w.ProgressEvery = progressEvery
	live := startLive(s.err, w, p)
	report, err := p.Run(ctx, w)
	live()
	switch {
	case err == nil, report.Interrupted:
		return newLoadResult(o, report), nil
	case errors.Is(err, loadgen.ErrClosed):
		return nil, &lostError{err, p.Progress()}
	}
	return nil, err
}
