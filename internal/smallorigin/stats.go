package smallorigin

import (
	"context"
	"sync"

	"github.com/tareperf/tare/internal/smallserver"
)

// Stats are counters since the start of the origin, all of one moment:
// Requests = Completed + Aborted + Active, and
// ConnectionsOpened = ConnectionsActive + ConnectionsClosedByPeer + ConnectionsClosedByOrigin.
//
// A request is counted in Requests when its head has been read and in Completed
// after its last byte was handed to the kernel, so a client may have an answer a
// moment before it is in Completed: [ReadAtRest] waits for that.
type Stats struct {
	Requests  uint64 `json:"requests_total"`
	Completed uint64 `json:"completed"`
	Aborted   uint64 `json:"aborted"` // begun, not answered: peer gone, bad body, end of the origin
	Active    uint64 `json:"active"`
	// Malformed are requests refused with a 4xx or 5xx before they were begun;
	// they are in none of the above.
	Malformed uint64 `json:"malformed"`

	ConnectionsOpened         uint64 `json:"connections_opened"`
	ConnectionsActive         uint64 `json:"connections_active"`
	ConnectionsClosedByPeer   uint64 `json:"connections_closed_by_peer"`
	ConnectionsClosedByOrigin uint64 `json:"connections_closed_by_origin"`
}

// ConnectionsClosed is how many connections have ended, by whomever.
func (s Stats) ConnectionsClosed() uint64 {
	return s.ConnectionsClosedByPeer + s.ConnectionsClosedByOrigin
}

// ReadStats asks the origin that reported ready for its counters.
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

func (c *counts) snapshot() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s
}
