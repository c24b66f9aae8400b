//go:build race

package abtest

const raceEnabled = true
