//go:build !linux

package main

import "io"

// isTerminal is not built for this system, which cannot generate load either.
func isTerminal(io.Writer) (columns int, ok bool) { return 0, false }
