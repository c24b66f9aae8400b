package loadgen

import (
	"errors"
	"fmt"
)

// ErrNotSupported is wrapped by every error that says this system cannot
// generate load at all.
var ErrNotSupported = errors.New("loadgen: not supported on this system")

// ErrClosed is wrapped by the error of a call on a closed generator, or on a
// Remote whose other end is gone.
var ErrClosed = errors.New("loadgen: closed")

// InvalidError is the one problem of a Spec, a Target or a Window that was
// found first. Nothing was started.
type InvalidError struct {
	Field string // as in Go, for example "Spec.Rate"
	Value string // what it was
	Want  string // what it must be
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("loadgen: %s is %s: want %s", e.Field, e.Value, e.Want)
}

// unquoted is a value whose text stands in an error as it is; that of a
// string is quoted.
type unquoted string

func invalid(field string, value any, want string) error {
	if s, ok := value.(string); ok {
		value = fmt.Sprintf("%q", s)
	}
	return &InvalidError{Field: field, Value: fmt.Sprint(value), Want: want}
}

// ConnectClass says why connections could not be had.
type ConnectClass string

const (
	ConnectRefused ConnectClass = "refused"    // nothing listens on the address
	ConnectResolve ConnectClass = "resolve"    // the host name has no address
	ConnectPorts   ConnectClass = "local_port" // no local port is left
	ConnectFiles   ConnectClass = "files"      // the limit of open files is too low
	ConnectTimeout ConnectClass = "timeout"    // not connected by the deadline
	ConnectTLS     ConnectClass = "tls"        // the handshake failed, for example over a certificate that does not verify
	ConnectOther   ConnectClass = "other"      // see the cause
)

// ConnectError says that the connections of a target could not be opened.
// The generator holds none afterwards.
type ConnectError struct {
	Class  ConnectClass
	Target Target
	Want   int // connections wanted to this target
	Have   int // connections it had when it failed
	Err    error
}

func (e *ConnectError) Error() string {
	hint := map[ConnectClass]string{
		ConnectRefused: "start the server, or correct the address",
		ConnectResolve: "correct the host name, or use an address",
		ConnectPorts:   "wait for ports in TIME_WAIT, use fewer connections, or widen net.ipv4.ip_local_port_range",
		ConnectFiles:   "use fewer connections, or raise the limit (ulimit -n)",
		ConnectTimeout: "look whether the server accepts, or give more time",
		ConnectTLS:     "see the cause, and the options of Spec.TLS",
		ConnectOther:   "see the cause",
	}[e.Class]
	return fmt.Sprintf("loadgen: connect to target %q at %s: %s: %d of %d connections: %v: %s",
		e.Target.Name, e.Target.Address, e.Class, e.Have, e.Want, e.Err, hint)
}

func (e *ConnectError) Unwrap() error { return e.Err }
