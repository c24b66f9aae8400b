package smallproxy

import (
	"context"
	"sync"

	"github.com/tareperf/tare/internal/smallserver"
)

// Stats are counters since the start of the proxy. Those of requests are of one
// moment: Requests = Completed + Aborted + Active. A client may have an answer a
// moment before it is in Completed: [ReadAtRest] waits for that.
type Stats struct {
	Requests  uint64 `json:"requests_total"`
	Completed uint64 `json:"completed"`
	// Aborted are requests whose answer was not written whole: the client left,
	// the origin broke off in the middle of a body, the proxy ended.
	Aborted uint64 `json:"aborted"`
	Active  uint64 `json:"active"`

	// Status2xx to Status5xx are the completed requests by status.
	Status2xx uint64 `json:"2xx"`
	Status3xx uint64 `json:"3xx"`
	Status4xx uint64 `json:"4xx"`
	Status5xx uint64 `json:"5xx"`

	// UpstreamErrors are requests for which the origin gave no answer; they were
	// answered 502 (504 after the origin's time-out of 15 s).
	UpstreamErrors uint64 `json:"upstream_errors"`

	ConnectionsOpened uint64 `json:"connections_opened"`
	ConnectionsClosed uint64 `json:"connections_closed"`
	// OriginConnectionsOpened are the connections made to the origin.
	OriginConnectionsOpened uint64 `json:"origin_connections_opened"`

	// LogLines are the lines made; LogLinesWritten those of them that are in the
	// file, LogErrors those that were lost because the file could not be written.
	// The rest is still in the buffer.
	LogLines        uint64 `json:"log_lines"`
	LogLinesWritten uint64 `json:"log_lines_written"`
	LogErrors       uint64 `json:"log_errors"`
	// LogError is the first reason why a line was lost.
	LogError string `json:"log_error,omitempty"`

	// Config is the effective configuration.
	Config Effective `json:"config"`
}

// ReadStats asks the proxy that reported ready for its counters.
func ReadStats(ctx context.Context, ready smallserver.Ready) (Stats, error) {
	var s Stats
	err := smallserver.Get(ctx, ready, "/stats", &s)
	return s, err
}

// ReadAtRest is ReadStats when no request is active: it asks each millisecond until
// then. ctx bounds the wait; the error then says how many are active.
func ReadAtRest(ctx context.Context, ready smallserver.Ready) (Stats, error) {
	read := func(ctx context.Context) (Stats, error) { return ReadStats(ctx, ready) }
	return smallserver.AtRest(ctx, Name, read, func(s Stats) uint64 { return s.Active })
}

// counts is under one lock, not a row of atomics, so that a snapshot adds up.
type counts struct {
	mu sync.Mutex
	s  Stats
}

func (c *counts) add(change func(*Stats)) {
	c.mu.Lock()
	change(&c.s)
	c.mu.Unlock()
}

// end counts the end of a request.
func (c *counts) end(status int, completed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.Active--
	if !completed {
		c.s.Aborted++
		return
	}
	c.s.Completed++
	switch status / 100 {
	case 2:
		c.s.Status2xx++
	case 3:
		c.s.Status3xx++
	case 4:
		c.s.Status4xx++
	case 5:
		c.s.Status5xx++
	}
}
