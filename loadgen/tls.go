package loadgen

// TLS is the security layer of connections.
type TLS struct{}

func (t TLS) validate() error { return nil }
