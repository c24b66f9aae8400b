//go:build !linux

package main

import "io"

func localPorts() int { return 0 }

func isTerminal(io.Writer) (columns int, ok bool) { return 0, false }

func watchIdle(int) func() *float64 { return func() *float64 { return nil } }
