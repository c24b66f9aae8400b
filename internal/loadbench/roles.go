package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/tareperf/tare/internal/arrivals"
	"github.com/tareperf/tare/loadgen"
	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// The program runs itself again as the processes that are compared.
const (
	roleVariable  = "TARE_LOADBENCH_ROLE"
	roleGenerator = "generator"
	roleRecorder  = "recorder"
	roleVegeta    = "vegeta"
)

func play(role string) error {
	switch role {
	case roleGenerator:
		return loadgen.Serve(os.Stdin, os.Stdout)
	case roleRecorder:
		return arrivals.Serve(os.Stdin, os.Stdout, arrivals.Options{BodySize: bodySize})
	case roleVegeta:
		return playVegeta()
	}
	return fmt.Errorf("unknown role %q", role)
}

// vegetaJob is what the vegeta process is told, on its command line.
type vegetaJob struct {
	URL    string        `json:"url"`
	Length time.Duration `json:"length_ns"`
}

// playVegeta attacks as `vegeta attack -rate 2000 -connections 32
// -max-connections 32` does and writes an outcome.
func playVegeta() error {
	var job vegetaJob
	if len(os.Args) != 2 {
		return fmt.Errorf("%d arguments; want a job", len(os.Args)-1)
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &job); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	attacker := vegeta.NewAttacker(vegeta.Connections(connections), vegeta.MaxConnections(connections), vegeta.HTTP2(false), vegeta.KeepAlive(true))
	var m vegeta.Metrics
	pace := vegeta.Rate{Freq: int(rate), Per: time.Second}
	target := vegeta.NewStaticTargeter(vegeta.Target{Method: "GET", URL: job.URL})
	for result := range attacker.Attack(target, pace, job.Length, "") {
		m.Add(result)
	}
	m.Close()
	good := int64(m.StatusCodes["200"])
	return json.NewEncoder(os.Stdout).Encode(outcome{
		Completed: good, Failed: int64(m.Requests) - good, Rate: m.Throughput, P99: m.Latencies.P99, Max: m.Latencies.Max,
	})
}
