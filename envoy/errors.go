package envoy

import "github.com/tareperf/tare/internal/child"

// ErrNotSupported is wrapped by errors that say conclusively that this host
// cannot do what was asked, such as starting a process off Linux.
var ErrNotSupported = child.ErrNotSupported
