package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tareperf/tare/loadgen"
)

// Names of tare's generator in its ways.
const (
	tareUniform = "tare uniform"
	tareJitter  = "tare jitter"
	tareCoarse  = "tare coarse"
	tareClosed  = "tare"
)

// atRate compares all tools that have a rate.
func atRate(ctx context.Context, r *rig) (verdicts []verdict, err error) {
	tools := []tool{tare(tareUniform, loadgen.Uniform, 0), tare(tareJitter, loadgen.Jitter, 0)}
	h2load, ok := r.find("h2load")
	if ok {
		coarse, err := r.calibrate(ctx, h2load)
		if err != nil {
			return nil, err
		}
		fmt.Printf("h2load's bunches: one each %v at the recording server, which is tare's coarse interval\n", coarse)
		tools = append(tools, tare(tareCoarse, loadgen.Uniform, coarse), h2load)
	}
	tools = append(tools, vegetaTool)
	if hey, ok := r.find("hey"); ok {
		tools = append(tools, hey)
	}
	for _, server := range r.servers {
		got, err := r.alternate(ctx, tools, job{server: server, rate: rate, length: r.length})
		if err != nil {
			return verdicts, err
		}
		printRate(server, tools, got)
		v, err := judgeRate(server, tools, got)
		verdicts = append(verdicts, v...)
		if err != nil {
			return verdicts, err
		}
	}
	return verdicts, nil
}

// calibrate finds how far apart the bunches of h2load are: that many requests
// at the rate take that long.
func (r *rig) calibrate(ctx context.Context, h2load tool) (time.Duration, error) {
	s, err := r.measure(ctx, h2load, job{server: r.servers[0], rate: rate, length: r.length})
	if err != nil {
		return 0, err
	}
	apart := s.arrivals.Bunches.Seen / rate
	return time.Duration(apart * 1e9).Round(time.Millisecond / 10), nil
}

// saturated compares pairs of tools that send as much as they can.
func saturated(ctx context.Context, r *rig) (verdicts []verdict, err error) {
	for _, pair := range []struct {
		other string
		h2    bool
	}{{"wrk", false}, {"h2load", true}} {
		other, ok := r.find(pair.other)
		if !ok {
			continue
		}
		tools := []tool{tare(tareClosed, loadgen.Jitter, 0), other}
		for _, server := range r.servers {
			if pair.h2 && server.h2c == "" {
				continue
			}
			got, err := r.alternate(ctx, tools, job{server: server, h2: pair.h2, length: r.saturated})
			if err != nil {
				return verdicts, err
			}
			printSaturated(server, pair.h2, tools, got)
			v, err := judgeSaturated(server, pair.h2, other.name, got)
			if err != nil {
				return verdicts, err
			}
			verdicts = append(verdicts, v)
		}
	}
	return verdicts, nil
}
