package loadgen

// H2 tune HTTP/2.
type H2 struct{}

func (o H2) validate() error { return nil }
