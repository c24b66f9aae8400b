package envoy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Served sums what one window did, over all HTTP connection managers (but
// admin's own) and all clusters. Every figure is the growth of counters.
type Served struct {
	// Downstream: requests from the load generator.
	Requests  int64 `json:"requests"`  // downstream_rq_total: begun
	Completed int64 `json:"completed"` // downstream_rq_completed: answered
	Status1xx int64 `json:"status_1xx"`
	Status2xx int64 `json:"status_2xx"`
	Status3xx int64 `json:"status_3xx"`
	Status4xx int64 `json:"status_4xx"`
	Status5xx int64 `json:"status_5xx"`
	Resets    int64 `json:"resets"`   // downstream_rq_rx_reset: broken off by the client
	Timeouts  int64 `json:"timeouts"` // downstream_rq_timeout
	// ProtocolErrors counts downstream_cx_protocol_error.
	ProtocolErrors int64 `json:"protocol_errors"`
	// ConnectionsOpened counts downstream_cx_total.
	ConnectionsOpened int64 `json:"connections_opened"`

	// Upstream: requests to origins and side services.
	UpstreamRequests          int64 `json:"upstream_requests"`           // upstream_rq_total
	UpstreamConnectionsOpened int64 `json:"upstream_connections_opened"` // upstream_cx_total
	UpstreamConnectFailures   int64 `json:"upstream_connect_failures"`   // upstream_cx_connect_fail
	UpstreamTimeouts          int64 `json:"upstream_timeouts"`           // upstream_rq_timeout
	UpstreamResets            int64 `json:"upstream_resets"`             // upstream_rq_rx_reset
	UpstreamCutOff            int64 `json:"upstream_cut_off"`            // upstream_cx_destroy_with_active_rq
	Retries                   int64 `json:"retries"`                     // upstream_rq_retry

	// Overflow counts every trip of a limit: connections, pools, pending and
	// active requests, retries, listeners. Overflows has those above zero.
	Overflow  int64            `json:"overflow"`
	Overflows map[string]int64 `json:"overflows,omitempty"`
	// WatchdogMisses counts workers that were stuck.
	WatchdogMisses int64 `json:"watchdog_misses"`
}

// MissingStatsError names counters that a window needs and that Envoy does
// not have: what they would say is unknown.
type MissingStatsError struct {
	Release string
	Names   []string
}

func (e *MissingStatsError) Error() string {
	return fmt.Sprintf("envoy %s has no counter %s: whether the window was served whole cannot be told; do not use it",
		e.Release, strings.Join(e.Names, ", "))
}

var (
	managerStat  = regexp.MustCompile(`^http\.(.+)\.downstream_rq_total$`)
	clusterStat  = regexp.MustCompile(`^cluster\.(.+)\.upstream_rq_total$`)
	listenerStat = regexp.MustCompile(`^listener\.(.+)\.downstream_cx_overflow$`)
	watchdogStat = regexp.MustCompile(`^server\.worker_\d+\.watchdog_(mega_)?miss$`)
)

// ServedBy makes the sums. Only as much is known as there are counters: one
// that this release should have and has not is a *MissingStatsError, as is a
// window without any HTTP connection manager.
func ServedBy(d StatsDelta) (Served, error) {
	s := Served{Overflows: map[string]int64{}}
	sum := summer{delta: d}
	managers, clusters := 0, 0
	for _, name := range slices.Sorted(maps.Keys(d.Counters)) {
		if m := managerStat.FindStringSubmatch(name); m != nil && m[1] != "admin" && !strings.Contains(m[1], ".user_agent.") {
			managers++
			sum.manager(&s, "http."+m[1]+".")
		}
		if m := clusterStat.FindStringSubmatch(name); m != nil {
			clusters++
			sum.cluster(&s, "cluster."+m[1]+".")
		}
		if m := listenerStat.FindStringSubmatch(name); m != nil && m[1] != "admin" {
			sum.overflow(&s, "listener."+m[1]+".", "downstream_cx_overflow", "downstream_cx_overload_reject", "downstream_global_cx_overflow")
		}
		if watchdogStat.MatchString(name) {
			sum.add(&s.WatchdogMisses, name)
		}
	}
	if managers == 0 {
		sum.missing = append(sum.missing, "http.*.downstream_rq_total")
	}
	if clusters == 0 {
		if n, ok := d.After["cluster_manager.active_clusters"]; !ok || n != 0 {
			sum.missing = append(sum.missing, "cluster.*.upstream_rq_total")
		}
	}
	if len(sum.missing) > 0 {
		return Served{}, &MissingStatsError{Release: d.Release, Names: sum.missing}
	}
	return s, nil
}

type summer struct {
	delta   StatsDelta
	missing []string
}

func (s *summer) add(to *int64, name string) {
	v, ok := s.delta.Counter(name)
	if !ok {
		s.missing = append(s.missing, name)
	}
	*to += v
}

func (s *summer) manager(to *Served, prefix string) {
	s.add(&to.Requests, prefix+"downstream_rq_total")
	s.add(&to.Completed, prefix+"downstream_rq_completed")
	s.add(&to.Status1xx, prefix+"downstream_rq_1xx")
	s.add(&to.Status2xx, prefix+"downstream_rq_2xx")
	s.add(&to.Status3xx, prefix+"downstream_rq_3xx")
	s.add(&to.Status4xx, prefix+"downstream_rq_4xx")
	s.add(&to.Status5xx, prefix+"downstream_rq_5xx")
	s.add(&to.Resets, prefix+"downstream_rq_rx_reset")
	s.add(&to.Timeouts, prefix+"downstream_rq_timeout")
	s.add(&to.ProtocolErrors, prefix+"downstream_cx_protocol_error")
	s.add(&to.ConnectionsOpened, prefix+"downstream_cx_total")
}

func (s *summer) cluster(to *Served, prefix string) {
	s.add(&to.UpstreamRequests, prefix+"upstream_rq_total")
	s.add(&to.UpstreamConnectionsOpened, prefix+"upstream_cx_total")
	s.add(&to.UpstreamConnectFailures, prefix+"upstream_cx_connect_fail")
	s.add(&to.UpstreamTimeouts, prefix+"upstream_rq_timeout")
	s.add(&to.UpstreamResets, prefix+"upstream_rq_rx_reset")
	s.add(&to.UpstreamCutOff, prefix+"upstream_cx_destroy_with_active_rq")
	s.add(&to.Retries, prefix+"upstream_rq_retry")
	s.overflow(to, prefix, "upstream_cx_overflow", "upstream_cx_pool_overflow", "upstream_rq_pending_overflow", "upstream_rq_retry_overflow")
	// Since 1.38 max_requests trips here; before, in upstream_rq_pending_overflow.
	if since(s.delta.Release, 1, 38) {
		s.overflow(to, prefix, "upstream_rq_active_overflow")
	}
}

func (s *summer) overflow(to *Served, prefix string, names ...string) {
	for _, name := range names {
		var v int64
		s.add(&v, prefix+name)
		to.Overflow += v
		if v != 0 {
			to.Overflows[prefix+name] = v
		}
	}
}

// since reports whether a release is at least major.minor. An unknown one
// counts as new: the counter is then asked for.
func since(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return true
	}
	return a > major || a == major && b >= minor
}
