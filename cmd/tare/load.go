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
	"time"

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

	for _, warning := range o.warnings() {
		fmt.Fprintf(s.err, "tare load: %s\n", warning)
	}
	report, idle, err := o.run(ctx, s)
	if err != nil && !report.Interrupted {
		return o.failed(err, s)
	}
	res := newLoadResult(o, report, idle)
	if o.json {
		err = writeJSON(s.out, res)
	} else {
		err = res.text(s.out)
	}
	if err != nil {
		fmt.Fprintf(s.err, "tare load: write the result: %v\n", err)
		return exitError
	}
	return res.exit
}

// failed says why there was no load.
func (o loadOptions) failed(err error, s streams) int {
	status := exitError
	var invalid *loadgen.InvalidError
	switch {
	case errors.As(err, &invalid):
		status, err = exitUsage, flagNames(err)
	case errors.Is(err, context.Canceled):
		status = exitInterrupted
	}
	fmt.Fprintf(s.err, "tare load: %v\n", err)
	if o.json {
		if err := writeJSON(s.out, errorResult{URL: o.url, Error: err.Error(), Exit: status}); err != nil {
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

// run loads, in a generator process. idle is the part of the time that the
// generator's CPUs were idle; nil when that could not be read.
func (o loadOptions) run(ctx context.Context, s streams) (r loadgen.Report, idle *float64, err error) {
	p, err := startGenerator(ctx, o.cpus)
	if err != nil {
		return r, nil, err
	}
	defer func() {
		if endErr := p.end(); endErr != nil && err == nil {
			err = fmt.Errorf("end the generator: %w", endErr)
		}
	}()
	if err := p.Open(ctx, o.spec, []loadgen.Target{o.target}); err != nil {
		return r, nil, err
	}
	if err := p.Connect(ctx); err != nil {
		return r, nil, err
	}
	live := startLive(s.err, o, p.Pid())
	watch := watchIdle(p.Pid())
	r, err = p.Run(ctx, o.window)
	idle = watch()
	live()
	return r, idle, err
}

// warnings are what can be known to go wrong before it is tried.
func (o loadOptions) warnings() (list []string) {
	if o.spec.Churn.Requests > 0 && o.window.Rate > 0 {
		perSecond := o.window.Rate / float64(o.spec.Churn.Requests)
		// A closed connection keeps its local port for a minute (TIME_WAIT).
		need := perSecond * min(o.window.Duration+o.window.WarmUp+o.window.Ramp, time.Minute).Seconds()
		if ports := localPorts(); ports > 0 && need > float64(ports) {
			list = append(list, fmt.Sprintf(
				"--churn %d at this rate opens %.0f connections a second, and within a minute needs %.0f local ports where %d can be used: connects may fail (class local_port); raise --churn, lower --rate, or widen net.ipv4.ip_local_port_range",
				o.spec.Churn.Requests, perSecond, need, ports))
		}
	}
	return list
}
