package envoy

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Stats is one reading of Envoy's counters and gauges. A statistic that is
// not in it is unknown: Envoy makes many only when something first happens,
// and names change between releases.
type Stats struct {
	// Source tells whose they are: admin address and pid. Two readings can be
	// subtracted only if it is the same.
	Source string `json:"source"`
	// Release is Envoy's version, such as "1.40.0".
	Release  string           `json:"release"`
	Counters map[string]int64 `json:"counters"` // only grow
	Gauges   map[string]int64 `json:"gauges"`   // go up and down
}

// Has reports whether there is a counter or gauge of that name.
func (s Stats) Has(name string) bool {
	_, c := s.Counters[name]
	_, g := s.Gauges[name]
	return c || g
}

// Counter is the value of a counter; false if there is none of that name.
func (s Stats) Counter(name string) (int64, bool) {
	v, ok := s.Counters[name]
	return v, ok
}

// Gauge is the value of a gauge; false if there is none of that name.
func (s Stats) Gauge(name string) (int64, bool) {
	v, ok := s.Gauges[name]
	return v, ok
}

// StatsDelta is what counters did between two readings, and gauges at both.
type StatsDelta struct {
	Release  string           `json:"release"`
	Counters map[string]int64 `json:"counters"` // growth
	Before   map[string]int64 `json:"gauges_before"`
	After    map[string]int64 `json:"gauges_after"`
}

// Has reports whether the growth of that counter is known.
func (d StatsDelta) Has(name string) bool {
	_, ok := d.Counters[name]
	return ok
}

// Counter is the growth of a counter; false if it is not known.
func (d StatsDelta) Counter(name string) (int64, bool) {
	v, ok := d.Counters[name]
	return v, ok
}

// BackwardsError is a counter that went back, or away.
type BackwardsError struct {
	Stat          string
	Before, After int64
	Gone          bool
}

func (e *BackwardsError) Error() string {
	if e.Gone {
		return fmt.Sprintf("counter %s was %d and is not there any more: the configuration changed in the window; discard it", e.Stat, e.Before)
	}
	return fmt.Sprintf("counter %s went back from %d to %d: it was reset in the window, or the process is another one; discard it", e.Stat, e.Before, e.After)
}

// Since gives the growth of every counter from before to s, both of the same
// process. A counter that only s has was made in between, from zero. One that
// went back or away is a *BackwardsError.
func (s Stats) Since(before Stats) (StatsDelta, error) {
	if s.Source != before.Source {
		return StatsDelta{}, fmt.Errorf("statistics of two processes, %q and %q, cannot be subtracted", before.Source, s.Source)
	}
	d := StatsDelta{
		Release: s.Release, Counters: make(map[string]int64, len(s.Counters)),
		Before: maps.Clone(before.Gauges), After: maps.Clone(s.Gauges),
	}
	for _, name := range slices.Sorted(maps.Keys(before.Counters)) {
		now, ok := s.Counters[name]
		if was := before.Counters[name]; !ok || now < was {
			return StatsDelta{}, &BackwardsError{Stat: name, Before: was, After: now, Gone: !ok}
		}
	}
	for name, now := range s.Counters {
		d.Counters[name] = now - before.Counters[name]
	}
	return d, nil
}

// parseStats reads the plain form of /stats, "name: value" a line. Values
// that are no whole numbers (texts, histograms) are left out.
func parseStats(text string) (map[string]int64, error) {
	out := map[string]int64{}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), "\r")
		if line == "" {
			continue
		}
		i := strings.LastIndex(line, ": ")
		if i <= 0 {
			return nil, fmt.Errorf("statistics, line %d: %q is not \"name: value\"", n, clip(line, 120))
		}
		value := line[i+2:]
		if v, err := strconv.ParseInt(value, 10, 64); err == nil {
			if _, twice := out[line[:i]]; twice {
				return nil, fmt.Errorf("statistics, line %d: %q is there twice", n, clip(line[:i], 120))
			}
			out[line[:i]] = v
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("statistics: %w", err)
	}
	return out, nil
}
