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

// Serve is the whole main function of a generator process: it obeys the
// Remote whose pipes in and out are, until in ends. The death of the parent
// ends in too, and with it a window that runs. The error is of the protocol
// or the pipes; those of a command go to the Remote.
//
// Serve expects to have the process to itself: it switches the garbage
// collector off for each window.
func Serve(in io.Reader, out io.Writer) error {
	s := &server{encoder: json.NewEncoder(out), commands: make(chan wireRequest, 16)}
	s.base, s.stop = context.WithCancel(context.Background())
	finished := make(chan error, 1)
	go func() { finished <- s.execute() }()
	err := s.read(bufio.NewReader(in))
	s.stop()
	close(s.commands)
	return errors.Join(err, <-finished)
}

type server struct {
	encoder  *json.Encoder
	commands chan wireRequest
	base     context.Context // ends with in
	stop     context.CancelFunc

	generator *Generator

	writing sync.Mutex // guards encoder

	mu       sync.Mutex
	canceled map[int64]bool // by id: commands that were given up before they began
	running  int64
	cancel   context.CancelFunc
}

// read takes requests apart until in ends; a cancel is obeyed at once.
func (s *server) read(in *bufio.Reader) error {
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil // a half line is what a killed parent leaves
		}
		if err != nil {
			return fmt.Errorf("loadgen: read commands: %w", err)
		}
		var r wireRequest
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("loadgen: command %.100q: %w", line, err)
		}
		if r.Command == commandCancel {
			s.cancelCommand(r.ID)
			continue
		}
		s.commands <- r
	}
}

func (s *server) cancelCommand(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == id {
		s.cancel()
		return
	}
	if s.canceled == nil {
		s.canceled = map[int64]bool{}
	}
	s.canceled[id] = true
}

// begin makes the context of a command.
func (s *server) begin(r wireRequest) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(s.base)
	if r.TimeoutNanoseconds > 0 {
		ctx, cancel = context.WithTimeout(s.base, time.Duration(r.TimeoutNanoseconds))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.cancel = r.ID, cancel
	if s.canceled[r.ID] {
		cancel()
	}
	clear(s.canceled) // older ids have been answered
	return ctx, cancel
}

// execute runs one command after the other.
func (s *server) execute() error {
	var broken error
	for r := range s.commands {
		if broken != nil {
			continue
		}
		answer := s.answer(r)
		if err := s.write(answer); err != nil && s.base.Err() == nil {
			broken = fmt.Errorf("loadgen: write answer: %w", err)
		}
	}
	if s.generator != nil {
		_ = s.generator.Close() // returns nil
	}
	return broken
}

func (s *server) write(a wireAnswer) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.encoder.Encode(a)
}

// tellProgress writes the progress of a window until stop, where the window
// asks for it.
func (s *server) tellProgress(r wireRequest) (stop func()) {
	every := r.Window.ProgressEvery
	if every <= 0 {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				p := s.generator.Progress()
				if s.write(wireAnswer{ID: r.ID, Progress: &p}) != nil {
					return // the answer meets the same error
				}
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

func (s *server) answer(r wireRequest) wireAnswer {
	ctx, cancel := s.begin(r)
	defer cancel()
	a := wireAnswer{ID: r.ID}
	var err error
	switch {
	case r.Command == commandOpen && r.Spec != nil:
		err = s.open(*r.Spec, r.Targets)
	case r.Command == commandClose:
		if s.generator != nil {
			err = s.generator.Close()
			s.generator = nil
		}
	case s.generator == nil:
		err = fmt.Errorf("loadgen: command %q before open: %w", r.Command, ErrClosed)
	case r.Command == commandConnect:
		err = s.generator.Connect(ctx)
	case r.Command == commandRun && r.Window != nil:
		var report Report
		stop := s.tellProgress(r)
		report, err = s.generator.Run(ctx, *r.Window)
		stop()
		a.Report = &report
	default:
		err = fmt.Errorf("loadgen: command %q is not known or not complete", r.Command)
	}
	a.Error = toWire(err)
	return a
}

func (s *server) open(spec Spec, targets []Target) error {
	g, err := New(spec, targets)
	if err != nil {
		return err
	}
	if s.generator != nil {
		_ = s.generator.Close() // returns nil
	}
	g.setOwnProcess()
	s.generator = g
	return nil
}
