package loadgen

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Remote is a generator in another process, which runs Serve. Its methods
// are those of Generator, and Open in the place of New.
type Remote struct {
	in io.Writer

	mu      sync.Mutex // guards in and what follows
	lastID  int64
	pending map[int64]chan wireAnswer
	gone    error // why no answer will come any more

	progress Progress
}

// NewRemote talks to a Serve through the pipes to its standard input and
// from its standard output.
func NewRemote(in io.Writer, out io.Reader) *Remote {
	r := &Remote{in: in, pending: map[int64]chan wireAnswer{}}
	go r.read(out)
	return r
}

// Open makes the generator in the other process, in the place of one that
// was opened before. Errors are those of New.
func (r *Remote) Open(ctx context.Context, s Spec, targets []Target) error {
	// Checked here too: JSON cannot carry every wrong value, such as NaN.
	if err := s.Validate(); err != nil {
		return err
	}
	_, err := r.call(ctx, wireRequest{Command: commandOpen, Spec: &s, Targets: targets}, answerGrace)
	return err
}

// Connect is Generator.Connect in the other process.
func (r *Remote) Connect(ctx context.Context) error {
	_, err := r.call(ctx, wireRequest{Command: commandConnect}, answerGrace)
	return err
}

// Run is Generator.Run in the other process. When ctx ends it waits for the
// report of the interrupted window.
func (r *Remote) Run(ctx context.Context, w Window) (Report, error) {
	if w.Rate != 0 {
		if err := validateRate("Window.Rate", w.Rate); err != nil {
			return Report{}, err
		}
	}
	r.mu.Lock()
	r.progress = Progress{}
	r.mu.Unlock()
	a, err := r.call(ctx, wireRequest{Command: commandRun, Window: &w}, answerGrace)
	if a.Report == nil {
		return Report{}, err
	}
	return *a.Report, err
}

// Progress is the last one that the other process has told of its running
// window (Window.ProgressEvery), or of the one that was running when it died.
func (r *Remote) Progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress
}

// Close closes the generator, and in where that is an io.Closer, upon which
// Serve returns. A Serve that is gone already is no error.
func (r *Remote) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), answerGrace)
	defer cancel()
	_, err := r.call(ctx, wireRequest{Command: commandClose}, time.Second)
	if errors.Is(err, ErrClosed) {
		err = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, ok := r.in.(io.Closer); ok {
		_ = c.Close() // may be closed already, by the one who owns the process
	}
	return err
}

// answerGrace is how long a canceled command may take to answer: an
// interrupted window drains for at most a second.
const answerGrace = 10 * time.Second

// call sends one request and waits for its answer. The end of ctx cancels
// the command; its answer is still waited for, within grace.
func (r *Remote) call(ctx context.Context, q wireRequest, grace time.Duration) (wireAnswer, error) {
	if err := ctx.Err(); err != nil {
		return wireAnswer{}, fmt.Errorf("loadgen: %s: %w", q.Command, err)
	}
	if at, ok := ctx.Deadline(); ok {
		q.TimeoutNanoseconds = max(1, int64(time.Until(at)))
	}
	answer := make(chan wireAnswer, 1)
	if err := r.send(&q, answer); err != nil {
		return wireAnswer{}, err
	}
	select {
	case a, ok := <-answer:
		return r.take(a, ok)
	case <-ctx.Done():
	}
	_ = r.send(&wireRequest{ID: q.ID, Command: commandCancel}, nil) // a broken pipe ends the wait below
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case a, ok := <-answer:
		a, err := r.take(a, ok)
		if err != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
			err = &endedError{err, context.Cause(ctx)} // only here is known why
		}
		return a, err
	case <-timer.C:
		r.mu.Lock()
		delete(r.pending, q.ID)
		r.mu.Unlock()
		return wireAnswer{}, fmt.Errorf("loadgen: %s: no answer %v after it was canceled: end the generator process: %w", q.Command, grace, context.Cause(ctx))
	}
}

// endedError is an error of a command that the end of the caller's context
// ended.
type endedError struct {
	error
	cause error
}

func (e *endedError) Unwrap() []error { return []error{e.error, e.cause} }

func (r *Remote) take(a wireAnswer, ok bool) (wireAnswer, error) {
	if !ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		return wireAnswer{}, r.gone
	}
	return a, a.Error.error()
}

// send writes q, giving it an id when an answer is wanted.
func (r *Remote) send(q *wireRequest, answer chan wireAnswer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone != nil {
		return r.gone
	}
	if answer != nil {
		r.lastID++
		q.ID = r.lastID
	}
	line, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("loadgen: %s: %w", q.Command, err)
	}
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("loadgen: %s: write to the generator process: %w (%w)", q.Command, err, ErrClosed)
	}
	if answer != nil {
		r.pending[q.ID] = answer
	}
	return nil
}

// read hands out answers until there are no more.
func (r *Remote) read(out io.Reader) {
	in := bufio.NewReader(out)
	var err error
	for {
		var line []byte
		if line, err = in.ReadBytes('\n'); err != nil {
			break
		}
		var a wireAnswer
		if err = json.Unmarshal(line, &a); err != nil {
			err = fmt.Errorf("answer %.100q: %w", line, err)
			break
		}
		r.mu.Lock()
		if a.Progress != nil {
			r.progress = *a.Progress
			r.mu.Unlock()
			continue
		}
		answer := r.pending[a.ID]
		delete(r.pending, a.ID)
		r.mu.Unlock()
		if answer != nil {
			answer <- a
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = fmt.Errorf("loadgen: the generator process is gone (%v): look at its standard error: %w", err, ErrClosed)
	for id, answer := range r.pending {
		close(answer)
		delete(r.pending, id)
	}
}
