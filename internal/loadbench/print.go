package main

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"
)

// printRate writes the table of one server; every figure is a median over
// rounds.
func printRate(server server, tools []tool, got samples) {
	fmt.Printf("\n%s at %v/s, %d connections, HTTP/1.1\n", server.name, rate, connections)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	recorded := got[tools[0].name][0].arrivals != nil
	fmt.Fprint(w, "tool\trate\tCPU/request\twhole life\tgenerator busy\tserver busy\tfailed")
	if recorded {
		fmt.Fprint(w, "\tbunch\tarrival error p50\tp99")
	}
	fmt.Fprintln(w, "\ttail")
	for _, t := range tools {
		list := got[t.name]
		row(w, t.name, list, func(s sample) float64 {
			if s.arrivals != nil {
				return s.arrivals.Rate
			}
			return s.Rate
		})
		if recorded {
			fmt.Fprintf(w, "\t%.2f\t%s\t%s", median(list, bunchOf),
				short(time.Duration(median(list, func(s sample) float64 { return float64(s.arrivals.Error.P50) }))),
				short(time.Duration(median(list, errorOf))))
		}
		fmt.Fprintf(w, "\t%s\n", tail(list))
	}
	w.Flush()
}

func row(w *tabwriter.Writer, name string, list []sample, rate func(sample) float64) {
	failed := int64(0)
	for _, s := range list {
		failed += s.Failed
	}
	fmt.Fprintf(w, "%s\t%.1f\t%.2fµs\t%.2fµs\t%.0f%%\t%.0f%%\t%d", name, median(list, rate), median(list, cpuOf)/1e3, median(list, sample.wholeCPU)/1e3,
		100*median(list, func(s sample) float64 { return s.middle.generator }),
		100*median(list, func(s sample) float64 { return s.middle.server }), failed)
}

// tail is what the tool says of its slowest answers, as a median.
func tail(list []sample) string {
	var o outcome
	o.P99 = time.Duration(median(list, func(s sample) float64 { return float64(s.P99) }))
	o.Max = time.Duration(median(list, func(s sample) float64 { return float64(s.Max) }))
	return o.tail()
}

func printSaturated(server server, h2 bool, tools []tool, got samples) {
	load := fmt.Sprintf("%d connections", connections)
	if h2 {
		load = fmt.Sprintf("%d connections with %d streams", h2Connections, h2Streams)
	}
	fmt.Printf("\n%s saturated, %s, %s\n", server.name, load, protocol(h2))
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tool\trate\tCPU/request\twhole life\tgenerator busy\tserver busy\tfailed\tleast generator busy\tmost server busy\ttail")
	for _, t := range tools {
		list := got[t.name]
		row(w, t.name, list, rateOf)
		least, most := 1.0, 0.0
		for _, s := range list {
			least, most = min(least, s.middle.generator), max(most, s.middle.server)
		}
		fmt.Fprintf(w, "\t%.0f%%\t%.0f%%\t%s\n", 100*least, 100*most, tail(list))
	}
	w.Flush()
}

// printVerdicts tells whether one is missed.
func printVerdicts(list []verdict) bool {
	fmt.Println("\nverdicts (ratios of paired runs, mean and 95% interval)")
	bad := false
	for _, v := range list {
		fmt.Println(v.line())
		bad = bad || v.says() == missed
	}
	return bad
}
