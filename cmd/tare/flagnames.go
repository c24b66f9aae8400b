package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tareperf/tare/loadgen"
)

// flagOf says which flag a field of the spec or the window comes from.
var flagOf = map[string]string{
	"Window.Rate": "rate", "Window.Duration": "duration", "Window.Drain": "drain", "Window.WarmUp": "warmup", "Window.Ramp": "ramp",
	"Window.InFlight": "in-flight", "Window.Idle": "idle",
	"Search.Low": "rate", "Search.High": "search-high", "Search.Tolerance": "search-tolerance",
	"Spec.Connections": "connections", "Spec.Workers": "workers", "Spec.Arrival": "arrival", "Spec.BurstSize": "burst", "Spec.Coarse": "coarse",
	"Spec.Queue": "queue", "Spec.Reuse": "reuse", "Spec.Churn.Requests": "churn", "Spec.Churn.Together": "churn-together",
	"Spec.Timeout": "timeout", "Spec.MaxLate": "max-late", "Spec.ConnectRate": "connect-rate",
	"Spec.Protocol": "protocol", "Spec.Streams": "streams", "Spec.Pipeline": "pipeline", "Spec.Method": "method", "Spec.Host": "host",
	"Spec.Generated.Count": "header-count", "Spec.Generated.Bytes": "header-size", "Spec.Generated.Sets": "header-sets",
	"Spec.BodyBytes": "body-size", "Spec.Expect.Status": "expect-status", "Spec.Expect.BodyBytes": "expect-bytes", "Spec.Path": "URL",
	"Spec.H2.HeaderTable": "h2-table", "Spec.H2.AnswerHeaderTable": "h2-answer-table", "Spec.H2.StreamWindow": "h2-stream-window", "Spec.H2.ConnectionWindow": "h2-connection-window",
	"Spec.GRPC": "grpc", "Spec.GRPC.Messages": "grpc-messages", "Spec.GRPC.Answers": "grpc-answers", "Spec.GRPC.Status": "grpc-status",
	"Spec.TLS.CAFile": "tls-ca", "Spec.TLS.CertificateFile": "tls-cert", "Spec.TLS.KeyFile": "tls-key", "Spec.TLS.ServerName": "tls-server-name",
	"Spec.TLS.MinVersion": "tls-min", "Spec.TLS.MaxVersion": "tls-max", "Spec.TLS.Ciphers": "tls-ciphers", "Spec.TLS.Curves": "tls-curves", "Spec.TLS.ALPN": "tls-alpn",
}

// flagNames puts the name of the flag into an error about a field.
func flagNames(err error) error {
	var invalid *loadgen.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	field, _, _ := strings.Cut(invalid.Field, "[")
	switch name := flagOf[field]; {
	case field == "Spec.Headers":
		return fmt.Errorf("--header: %s: want %s", invalid.Value, invalid.Want)
	case name == "URL":
		return fmt.Errorf("URL: path %s: want %s", invalid.Value, invalid.Want)
	case name != "":
		return fmt.Errorf("--%s is %s: want %s", name, invalid.Value, invalid.Want)
	}
	return err
}
