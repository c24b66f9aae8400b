package loadgen

import (
	"context"
	"errors"
	"syscall"
)

// The protocol between a Remote and Serve: one JSON object per line, requests
// one way and one answer to each the other way. "cancel" has no answer: it
// makes the running command answer early.
type command string

const (
	commandOpen    command = "open"
	commandConnect command = "connect"
	commandRun     command = "run"
	commandCancel  command = "cancel"
	commandClose   command = "close"
)

type wireRequest struct {
	ID      int64    `json:"id"`
	Command command  `json:"command"`
	Spec    *Spec    `json:"spec,omitempty"`
	Targets []Target `json:"targets,omitempty"`
	Window  *Window  `json:"window,omitempty"`
	// TimeoutNanoseconds is what is left of the caller's deadline; 0 = none.
	TimeoutNanoseconds int64 `json:"timeout_ns,omitempty"`
}

type wireAnswer struct {
	ID int64 `json:"id"`
	// Progress comes before the answer, where the window asks for it.
	Progress *Progress  `json:"progress,omitempty"`
	Report   *Report    `json:"report,omitempty"`
	Error    *wireError `json:"error,omitempty"`
}

// wireError carries an error of this package to the other process so that
// it is the same type there, and matches the same errno and sentinel.
type wireError struct {
	Kind    string        `json:"kind"`
	Message string        `json:"message"`
	Errno   syscall.Errno `json:"errno,omitempty"`
	Invalid *InvalidError `json:"invalid,omitempty"`
	Connect *wireConnect  `json:"connect,omitempty"`
}

type wireConnect struct {
	Class  ConnectClass `json:"class"`
	Target Target       `json:"target"`
	Want   int          `json:"want"`
	Have   int          `json:"have"`
	Cause  *wireError   `json:"cause"`
}

// errorKinds are the sentinels that survive the way.
var errorKinds = []struct {
	kind string
	err  error
}{
	{"not supported", ErrNotSupported},
	{"closed", ErrClosed},
	{"canceled", context.Canceled},
	{"deadline", context.DeadlineExceeded},
}

func toWire(err error) *wireError {
	if err == nil {
		return nil
	}
	e := &wireError{Message: err.Error()}
	var connect *ConnectError
	if errors.As(err, &e.Invalid) {
		e.Kind = "invalid"
		return e
	}
	if errors.As(err, &connect) {
		e.Kind = "connect"
		e.Connect = &wireConnect{connect.Class, connect.Target, connect.Want, connect.Have, toWire(connect.Err)}
		return e
	}
	errors.As(err, &e.Errno)
	for _, k := range errorKinds {
		if errors.Is(err, k.err) {
			e.Kind = k.kind
			break
		}
	}
	return e
}

func (e *wireError) error() error {
	switch {
	case e == nil:
		return nil
	case e.Invalid != nil:
		return e.Invalid
	case e.Connect != nil:
		c := e.Connect
		return &ConnectError{Class: c.Class, Target: c.Target, Want: c.Want, Have: c.Have, Err: c.Cause.error()}
	}
	r := &remoteError{message: e.Message}
	if e.Errno != 0 {
		r.causes = append(r.causes, e.Errno)
	}
	for _, k := range errorKinds {
		if k.kind == e.Kind {
			r.causes = append(r.causes, k.err)
		}
	}
	return r
}

// remoteError has the text of an error in the other process, and its causes
// as far as they mean the same here.
type remoteError struct {
	message string
	causes  []error
}

func (e *remoteError) Error() string   { return e.message }
func (e *remoteError) Unwrap() []error { return e.causes }
