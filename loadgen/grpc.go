package loadgen

import "fmt"

// GRPC makes each request a gRPC call, over Protocol "h2" or "h2c". Path is
// "/package.Service/Method", and each message is the Spec's body: encoded by
// the caller, not compressed, the same each time. An answer is right if its
// HTTP status, its gRPC status and its number of messages are. Spec.Expect's
// BodyBytes, and BodyBytes of the report, are those of the messages, without
// the five bytes before each.
//
//	unary              GRPC{}
//	client streaming   GRPC{Messages: 10}
//	server streaming   GRPC{Answers: 10}
//	bidirectional      GRPC{Messages: 10, Answers: 10, Lockstep: true}
type GRPC struct {
	// Messages is how many messages a call sends; 0 = 1.
	Messages int `json:"messages,omitempty"`
	// Answers is how many messages answer it; 0 = 1, or none where Status is
	// not 0; -1 = any number.
	Answers int `json:"answers,omitempty"`
	// Lockstep sends each message when the one before it was answered.
	// Otherwise they go one after the other, as fast as the server takes
	// them.
	Lockstep bool `json:"lockstep,omitempty"`
	// Status is the gRPC status of a right answer: 0 (OK) to 16.
	Status int `json:"status,omitempty"`
}

// withDefaults replaces what zeros stand for.
func (g GRPC) withDefaults() GRPC {
	setDefault(&g.Messages, 1)
	if g.Status == 0 {
		setDefault(&g.Answers, 1)
	}
	return g
}

const maxMessages = 1 << 30

func (g GRPC) validate() error {
	messages := fmt.Sprintf("1 to %d", maxMessages)
	switch {
	case g.Messages < 0 || g.Messages > maxMessages:
		return invalid("Spec.GRPC.Messages", g.Messages, messages)
	case g.Answers < -1 || g.Answers > maxMessages:
		return invalid("Spec.GRPC.Answers", g.Answers, messages+", or -1 (any number)")
	case g.Status < 0 || g.Status > 16:
		return invalid("Spec.GRPC.Status", g.Status, "a gRPC status from 0 (OK) to 16")
	case g.Lockstep && g.Answers >= 0 && g.withDefaults().Answers < g.withDefaults().Messages-1:
		return invalid("Spec.GRPC.Answers", g.Answers, "an answer to each message but the last where they go in lockstep")
	}
	return nil
}
