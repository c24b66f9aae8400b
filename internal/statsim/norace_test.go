//go:build !race

package main

// share of the repetitions of the short simulation: all of them.
const share = 1
