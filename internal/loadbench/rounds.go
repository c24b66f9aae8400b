package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/tareperf/tare/stats"
)

// samples are the runs of each tool in the order of rounds.
type samples map[string][]sample

// alternate runs every tool once in each round, beginning with the next one in
// each and going backwards in every second.
func (r *rig) alternate(ctx context.Context, tools []tool, j job) (samples, error) {
	got := samples{}
	for round := range r.rounds {
		j.round = round
		for _, t := range order(tools, round) {
			s, err := r.measure(ctx, t, j)
			if err != nil {
				return got, err
			}
			got[t.name] = append(got[t.name], s)
		}
		fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", j.server.name, round+1, r.rounds)
	}
	return got, nil
}

func order(tools []tool, round int) []tool {
	k := round / 2 % len(tools)
	turned := append(slices.Clone(tools[k:]), tools[:k]...)
	if round%2 == 1 {
		slices.Reverse(turned)
	}
	return turned
}

// ratio is the mean over rounds of a's value over b's, with its interval.
func (s samples) ratio(a, b string, of func(sample) float64) (stats.Estimate, error) {
	if len(s[a]) == 0 || len(s[a]) != len(s[b]) {
		return stats.Estimate{}, fmt.Errorf("%d runs of %s and %d of %s", len(s[a]), a, len(s[b]), b)
	}
	var ratios []float64
	for k := range s[a] {
		ratios = append(ratios, of(s[a][k])/of(s[b][k]))
	}
	e, err := stats.MeanOfRatios(ratios, stats.Options{})
	if err != nil {
		return e, fmt.Errorf("%s over %s: %w", a, b, err)
	}
	return e, nil
}

func median(list []sample, of func(sample) float64) float64 {
	var v []float64
	for _, s := range list {
		v = append(v, of(s))
	}
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
