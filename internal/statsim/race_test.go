//go:build race

package main

// share of the repetitions of the short simulation: the race detector makes each
// ten times as dear. Fewer repetitions make the limits wider by themselves.
const share = 20
