package main

import (
	"fmt"
	"math"

	"github.com/tareperf/tare/stats"
)

// demand is what is asked of the interval of a ratio.
type demand string

const (
	atMost         demand = "at most"          // all of it
	notWhollyBelow demand = "not wholly below" // its upper end
	notWhollyAbove demand = "not wholly above" // its lower end
)

// verdict is one comparison and its limit.
type verdict struct {
	what     string
	interval stats.Interval
	mean     float64
	demand   demand
	limit    float64
	note     string
}

const (
	met    = "met"
	open   = "open"
	missed = "missed"
)

func (v verdict) says() string {
	low, high := v.interval.Low <= v.limit, v.interval.High >= v.limit
	switch {
	case v.demand == notWhollyBelow && high, v.demand == notWhollyAbove && low, v.demand == atMost && v.interval.High <= v.limit:
		return met
	case v.demand == atMost && low:
		return open
	}
	return missed
}

func (v verdict) line() string {
	s := fmt.Sprintf("%-6s %s: %.3f [%.3f, %.3f], %s %g", v.says(), v.what, v.mean, v.interval.Low, v.interval.High, v.demand, v.limit)
	if v.note != "" {
		s += " (" + v.note + ")"
	}
	return s
}

func cpuOf(s sample) float64   { return s.steadyCPU() }
func errorOf(s sample) float64 { return float64(s.arrivals.Error.P99) }
func bunchOf(s sample) float64 { return s.arrivals.Bunches.Seen }
func rateOf(s sample) float64  { return s.Rate }

// Limits of CPU per request.
const (
	mostOfVegeta = 0.5
	mostOfH2load = 1.1
)

func judgeRate(server server, tools []tool, got samples) ([]verdict, error) {
	var verdicts []verdict
	add := func(what, a, b string, of func(sample) float64, limit float64, note string) error {
		e, err := got.ratio(a, b, of)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, verdict{fmt.Sprintf("%s, %s over %s, %s", what, a, b, server.name), e.Interval, e.Mean, atMost, limit, note})
		return nil
	}
	for _, own := range []string{tareJitter, tareUniform} {
		if err := add("CPU per request", own, vegetaTool.name, cpuOf, mostOfVegeta, ""); err != nil {
			return verdicts, err
		}
	}
	recorded := got[tareUniform][0].arrivals != nil
	if len(got[tareCoarse]) > 0 {
		note := ""
		if recorded {
			own, other := median(got[tareCoarse], bunchOf), median(got["h2load"], bunchOf)
			note = fmt.Sprintf("bunches of %.1f and %.1f", own, other)
			if math.Abs(own/other-1) > 0.15 {
				note += ", which are not the same"
			}
		}
		if err := add("CPU per request at the same bunches", tareCoarse, "h2load", cpuOf, mostOfH2load, note); err != nil {
			return verdicts, err
		}
	}
	if !recorded {
		return verdicts, nil
	}
	for _, t := range tools {
		if t.name == tareUniform || t.name == tareJitter || t.name == tareCoarse {
			continue
		}
		if err := add("p99 of the arrival error", tareUniform, t.name, errorOf, 1, ""); err != nil {
			return verdicts, err
		}
	}
	return verdicts, nil
}

// Shares of CPUs that make the generator the bottleneck.
const (
	generatorAtLeast = 0.97
	serverAtMost     = 0.90
)

// judgeSaturated compares rates where the generator was the bottleneck in all
// runs, and CPU per request where it was not.
func judgeSaturated(server server, h2 bool, other string, got samples) (verdict, error) {
	v := verdict{what: "rate", demand: notWhollyBelow, limit: 1, note: "the generator was the bottleneck in all runs"}
	of := rateOf
	for _, list := range got {
		for _, s := range list {
			if s.middle.generator < generatorAtLeast || s.middle.server > serverAtMost {
				of, v.what, v.demand = cpuOf, "CPU per request", notWhollyAbove
				v.note = "the generator was not the bottleneck in all runs, so rates do not compare generators"
			}
		}
	}
	e, err := got.ratio(tareClosed, other, of)
	if err != nil {
		return v, err
	}
	v.what = fmt.Sprintf("%s saturated, tare over %s, %s, %s", v.what, other, protocol(h2), server.name)
	v.interval, v.mean = e.Interval, e.Mean
	return v, nil
}

func protocol(h2 bool) string {
	if h2 {
		return "HTTP/2"
	}
	return "HTTP/1.1"
}
