package loadgen

// GRPC makes each request a gRPC call.
type GRPC struct{}

func (g GRPC) validate() error { return nil }
