// Package grpcorigin is a gRPC server of grpc-go that answers every method and
// counts exactly: an origin to call through a proxy, and the server against
// which package loadgen's gRPC is tested.
//
//	s, err := grpcorigin.Start(grpcorigin.Options{})
//	defer s.Stop()
//	// ... calls to s.Address() ...
//	stats := s.Stats()
//
// Messages are bytes that it does not look into, so that no schema is needed.
// What it does is said by the last part of the method's name:
//
//	Unary          answers one message with one
//	ClientStream   answers all messages with one, when they have ended
//	ServerStream   answers one message with Options.Answers
//	Echo           answers each message with one at once
//	Status         answers none, with status 9 (FAILED_PRECONDITION)
//
// Each answer has Options.AnswerBytes bytes, or what the message had. Any other
// method is answered UNIMPLEMENTED and counted as such.
//
// It lives in the process of its caller: for a measurement that must be a
// process of its own.
package grpcorigin

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// Options are how the origin serves. The zero value listens on a port of
// 127.0.0.1 without TLS and answers with what it got.
type Options struct {
	// TLS has the certificate of a server with TLS. Nil = none (h2c).
	TLS *tls.Config
	// Answers is how many messages ServerStream answers with; 0 = 1.
	Answers int
	// AnswerBytes is the size of each answer; 0 = that of the message.
	AnswerBytes int
	// MaxStreams is how many calls a connection may have at a time; 0 = grpc-go's
	// own limit.
	MaxStreams uint32
}

// Stats are counts since the start.
type Stats struct {
	Calls       int64 `json:"calls"`        // begun
	Completed   int64 `json:"completed"`    // ended as their method says
	Unknown     int64 `json:"unknown"`      // of another method
	MessagesIn  int64 `json:"messages_in"`  // received
	MessagesOut int64 `json:"messages_out"` // sent
}

// Server is a running origin.
type Server struct {
	options  Options
	server   *grpc.Server
	listener net.Listener
	ended    chan error

	calls, completed, unknown, in, out atomic.Int64
}

// Start listens and serves until Stop.
func Start(o Options) (*Server, error) {
	if o.Answers < 0 || o.AnswerBytes < 0 {
		return nil, fmt.Errorf("grpcorigin: %d answers of %d bytes; give 0 or more", o.Answers, o.AnswerBytes)
	}
	if o.Answers == 0 {
		o.Answers = 1
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("grpcorigin: %w", err)
	}
	s := &Server{options: o, listener: listener, ended: make(chan error, 1)}
	options := []grpc.ServerOption{grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(s.handle)}
	if o.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(o.TLS)))
	}
	if o.MaxStreams > 0 {
		options = append(options, grpc.MaxConcurrentStreams(o.MaxStreams))
	}
	s.server = grpc.NewServer(options...)
	go func() { s.ended <- s.server.Serve(listener) }()
	return s, nil
}

// Address is where it listens, host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Stats reads the counts.
func (s *Server) Stats() Stats {
	return Stats{Calls: s.calls.Load(), Completed: s.completed.Load(), Unknown: s.unknown.Load(), MessagesIn: s.in.Load(), MessagesOut: s.out.Load()}
}

// Stop ends the server and all calls at once.
func (s *Server) Stop() error {
	s.server.Stop()
	return <-s.ended
}

// handle serves one call.
func (s *Server) handle(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	method := full[strings.LastIndexByte(full, '/')+1:]
	s.calls.Add(1)
	var last []byte
	for {
		var message []byte
		err := stream.RecvMsg(&message)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		s.in.Add(1)
		last = message
		if method == "Echo" {
			if err := s.answer(stream, message); err != nil {
				return err
			}
		}
	}
	answers := 0
	switch method {
	case "Echo":
	case "Unary", "ClientStream":
		answers = 1
	case "ServerStream":
		answers = s.options.Answers
	case "Status":
		s.completed.Add(1)
		return status.Error(codes.FailedPrecondition, "as asked")
	default:
		s.unknown.Add(1)
		return status.Errorf(codes.Unimplemented, "no method %s", full)
	}
	for range answers {
		if err := s.answer(stream, last); err != nil {
			return err
		}
	}
	s.completed.Add(1)
	return nil
}

func (s *Server) answer(stream grpc.ServerStream, message []byte) error {
	if s.options.AnswerBytes > 0 {
		message = bytes.Repeat([]byte("x"), s.options.AnswerBytes)
	}
	if err := stream.SendMsg(&message); err != nil {
		return err
	}
	s.out.Add(1)
	return nil
}

// raw is a codec that leaves messages as they are.
type raw struct{}

func (raw) Name() string { return "raw" }

func (raw) Marshal(v any) ([]byte, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("grpcorigin: message of type %T", v)
	}
	return *b, nil
}

func (raw) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("grpcorigin: message of type %T", v)
	}
	*b = bytes.Clone(data)
	return nil
}
