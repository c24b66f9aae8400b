package smallserver

import (
	"math"
	"runtime"
	"runtime/debug"
)

// Runtime is how the Go runtime of a server runs, part of its /config.
type Runtime struct {
	// Go is the version of the toolchain that built the server.
	Go string `json:"go"`
	// Workers is GOMAXPROCS: how many threads run Go code at the same time.
	Workers int `json:"workers"`
	// GCPercent is the growth of the heap, in percent of what lives, that starts
	// a collection. There is no memory limit.
	GCPercent int `json:"gc_percent"`
	// BallastBytes live from start to end and are never touched, so they cost no
	// memory; they are what the percentage is taken of.
	BallastBytes int `json:"ballast_bytes"`
}

const (
	gcPercent    = 100
	ballastBytes = 16 << 20
)

// Tune sets the Go runtime of this process, whatever GOMAXPROCS, GOGC and
// GOMEMLIMIT of the environment say, and returns what it set. keep must stay
// reachable as long as the server runs.
//
// Two arms whose live heaps differ by a log buffer would be collected at
// different rates, and the difference would be charged to the log. Against a
// ballast of 16 MiB the buffer is nothing: both are collected once per 16 MiB
// allocated, about once a second under the loads meant here.
func Tune(workers int) (settings Runtime, keep any) {
	runtime.GOMAXPROCS(workers)
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(math.MaxInt64)
	ballast := make([]byte, ballastBytes)
	runtime.GC() // the goal of the next collection knows the ballast from here on
	return Runtime{Go: runtime.Version(), Workers: workers, GCPercent: gcPercent, BallastBytes: ballastBytes}, &ballast
}
