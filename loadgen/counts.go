package loadgen

import (
	"fmt"
	"reflect"
)

// Counts are exact. Scheduled = Sent + Overflow, and
// Sent = Completed + Failed + InFlightAtEnd.
type Counts struct {
	// Planned is what the whole window would schedule.
	Planned int64 `json:"planned"`
	// Scheduled is arrivals that were due: Planned, unless interrupted.
	Scheduled int64 `json:"scheduled"`
	// Sent is arrivals that were written to a connection, each once.
	Sent int64 `json:"sent"`
	// Queued is those of them that waited for a connection first (Spec.Queue).
	Queued int64 `json:"queued"`
	// Overflow is arrivals that were not sent at all, because
	Overflow      int64 `json:"overflow"`
	OverflowBusy  int64 `json:"overflow_busy"`  // every open connection had as many requests in flight as it takes, and the queue was full
	OverflowDown  int64 `json:"overflow_down"`  // no connection was open
	OverflowLate  int64 `json:"overflow_late"`  // the generator woke more than MaxLate too late
	OverflowQueue int64 `json:"overflow_queue"` // it was still in the queue at the end

	Completed     int64    `json:"completed"` // right answers
	Failed        int64    `json:"failed"`
	FailedBy      Failures `json:"failed_by"`
	InFlightAtEnd int64    `json:"in_flight_at_end"`
	MaxInFlight   int64    `json:"max_in_flight"` // with several workers, the sum of each one's own

	// Resent is requests that were written again: lost on a reused
	// connection, which the server closed before a byte of the answer, or
	// not processed by the server's own word (HTTP/2). Each counts once
	// above, and in the first case the server may have seen it twice.
	Resent int64 `json:"resent"`

	// ConnectionsOpened are those that replaced others inside the window,
	// ConnectionsBefore those opened since the window before, by Connect or
	// as replacements.
	ConnectionsOpened int64 `json:"connections_opened"`
	ConnectionsBefore int64 `json:"connections_before"`
	// ConnectionsClosed are those the server closed, or asked to close, in
	// the window; ConnectionsClosedBefore, since the window before.
	ConnectionsClosed       int64 `json:"connections_closed"`
	ConnectionsClosedBefore int64 `json:"connections_closed_before"`
	// ConnectionsChurned are those the generator closed for Spec.Churn.
	ConnectionsChurned int64 `json:"connections_churned"`
	// ConnectFailures are attempts inside the window that failed.
	ConnectFailures   int64           `json:"connect_failures"`
	ConnectFailuresBy ConnectFailures `json:"connect_failures_by"`
	// Unsolicited is connections that were given up for bytes that answered
	// no request, ProtocolErrors those on which HTTP/2 was broken.
	Unsolicited    int64 `json:"unsolicited"`
	ProtocolErrors int64 `json:"protocol_errors"`

	// Handshakes of TLS in the window, and since the window before.
	HandshakesFull          int64 `json:"handshakes_full"`
	HandshakesResumed       int64 `json:"handshakes_resumed"`
	HandshakesFailed        int64 `json:"handshakes_failed"`
	HandshakesFullBefore    int64 `json:"handshakes_full_before"`
	HandshakesResumedBefore int64 `json:"handshakes_resumed_before"`

	// What the server did to streams and connections of HTTP/2.
	StreamsRefused int64 `json:"streams_refused"`
	Resets         int64 `json:"resets"`
	GoAways        int64 `json:"goaways"`

	BytesOut  int64 `json:"bytes_out"`  // as HTTP, before TLS
	BytesIn   int64 `json:"bytes_in"`   // as HTTP, heads and frames included
	BodyBytes int64 `json:"body_bytes"` // of completed answers
	// Header sections of HTTP/2 as they were encoded (HPACK).
	HeaderBytesOut int64 `json:"header_bytes_out"`
	HeaderBytesIn  int64 `json:"header_bytes_in"`
	// What TLS made of it, with handshakes.
	TLSBytesOut int64 `json:"tls_bytes_out"`
	TLSBytesIn  int64 `json:"tls_bytes_in"`
	// Messages of gRPC.
	MessagesOut int64 `json:"messages_out"`
	MessagesIn  int64 `json:"messages_in"`
}

// Failures are the failed requests by class; each is in exactly one.
type Failures struct {
	Status  int64 `json:"status"`  // another status than expected
	Body    int64 `json:"body"`    // another body length than expected
	Framing int64 `json:"framing"` // not a well-formed answer
	Closed  int64 `json:"closed"`  // the connection ended or broke inside the answer, or before one on a fresh connection
	Lost    int64 `json:"lost"`    // a reused connection ended before a byte of the answer, or it was not processed, and it could not be sent again
	Timeout int64 `json:"timeout"` // no whole answer within Spec.Timeout
	Reset   int64 `json:"reset"`   // the server reset its stream
	GRPC    int64 `json:"grpc"`    // another gRPC status than OK, or none
}

// failure is a class of Failures.
type failure uint8

const (
	failStatus failure = iota
	failBody
	failFraming
	failClosed
	failLost
	failTimeout
	failReset
	failGRPC
	failures
)

func (f *Failures) of(class failure) *int64 {
	return [failures]*int64{&f.Status, &f.Body, &f.Framing, &f.Closed, &f.Lost, &f.Timeout, &f.Reset, &f.GRPC}[class]
}

// ByClass is the classes that there were, by the names that the JSON has.
func (f Failures) ByClass() map[string]int64 {
	names := [failures]string{"status", "body", "framing", "closed", "lost", "timeout", "reset", "grpc"}
	by := map[string]int64{}
	for class, name := range names {
		if n := *f.of(failure(class)); n > 0 {
			by[name] = n
		}
	}
	return by
}

// Total is the sum over the classes.
func (f Failures) Total() int64 {
	return f.Status + f.Body + f.Framing + f.Closed + f.Lost + f.Timeout + f.Reset + f.GRPC
}

// ConnectFailures are attempts to connect that failed, by class.
type ConnectFailures struct {
	Refused   int64 `json:"refused"`
	LocalPort int64 `json:"local_port"` // no local port was left
	Files     int64 `json:"files"`      // no descriptor was left
	Timeout   int64 `json:"timeout"`
	TLS       int64 `json:"tls"`
	Other     int64 `json:"other"`
}

func (f *ConnectFailures) of(class ConnectClass) *int64 {
	switch class {
	case ConnectRefused:
		return &f.Refused
	case ConnectPorts:
		return &f.LocalPort
	case ConnectFiles:
		return &f.Files
	case ConnectTimeout:
		return &f.Timeout
	case ConnectTLS:
		return &f.TLS
	}
	return &f.Other
}

// Total is the sum over the classes.
func (f ConnectFailures) Total() int64 {
	return f.Refused + f.LocalPort + f.Files + f.Timeout + f.TLS + f.Other
}

// Check returns an error that names the identity that does not hold, with
// its numbers.
func (c Counts) Check() error {
	switch {
	case c.Scheduled != c.Sent+c.Overflow:
		return fmt.Errorf("loadgen: scheduled %d is not sent %d + overflow %d: the report cannot be trusted", c.Scheduled, c.Sent, c.Overflow)
	case c.Sent != c.Completed+c.Failed+c.InFlightAtEnd:
		return fmt.Errorf("loadgen: sent %d is not completed %d + failed %d + in flight at end %d: the report cannot be trusted", c.Sent, c.Completed, c.Failed, c.InFlightAtEnd)
	case c.Failed != c.FailedBy.Total():
		return fmt.Errorf("loadgen: failed %d is not the %d of its classes: the report cannot be trusted", c.Failed, c.FailedBy.Total())
	case c.Overflow != c.OverflowBusy+c.OverflowDown+c.OverflowLate+c.OverflowQueue:
		return fmt.Errorf("loadgen: overflow %d is not busy %d + down %d + late %d + queue %d: the report cannot be trusted", c.Overflow, c.OverflowBusy, c.OverflowDown, c.OverflowLate, c.OverflowQueue)
	case c.ConnectFailures != c.ConnectFailuresBy.Total():
		return fmt.Errorf("loadgen: connect failures %d are not the %d of their classes: the report cannot be trusted", c.ConnectFailures, c.ConnectFailuresBy.Total())
	case c.Scheduled > c.Planned:
		return fmt.Errorf("loadgen: scheduled %d is above planned %d: the report cannot be trusted", c.Scheduled, c.Planned)
	}
	return nil
}

// add adds every count of o to c.
func (c *Counts) add(o *Counts) { addFields(reflect.ValueOf(c).Elem(), reflect.ValueOf(o).Elem()) }

func addFields(to, from reflect.Value) {
	for i := range to.NumField() {
		if f := to.Field(i); f.Kind() == reflect.Struct {
			addFields(f, from.Field(i))
		} else {
			f.SetInt(f.Int() + from.Field(i).Int())
		}
	}
}
