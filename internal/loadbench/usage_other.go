//go:build !unix

package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/tareperf/tare/loadgen"
)

func childrenCPU() (time.Duration, error) {
	return 0, fmt.Errorf("%w (%s)", loadgen.ErrNotSupported, runtime.GOOS)
}
