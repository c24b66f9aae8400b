package envoy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/procfs"
)

func TestParseStats(t *testing.T) {
	got, err := parseStats("a.b: 5\nlistener.[__1]_80.x: 0\nodd: name: 7\ntext: \"1.40.0\"\nh: No recorded values\nh2: P0(nan,1.0) P25(nan,1)\n\nbig: 18446744073709551615\n")
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"a.b": 5, "listener.[__1]_80.x": 0, "odd: name": 7}, got)
	for text, want := range map[string]string{
		"a.b 5\n":      `line 1: "a.b 5" is not`,
		"a: 1\na: 2\n": `line 2: "a" is there twice`,
		": 5\n":        "line 1",
		"<html>":       "line 1",
		"a: " + strings.Repeat("x", 2<<20) + "\n": "token too long",
	} {
		_, err := parseStats(text)
		require.ErrorContains(t, err, want)
	}
}

func FuzzParseStats(f *testing.F) {
	f.Add("a: 1\nb: No recorded values\n")
	f.Add("a: -1\r\n\r\n: 3")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseStats(text)
		if err != nil {
			return
		}
		for name := range got {
			if !strings.Contains(text, name+": ") {
				t.Fatalf("%q is not in the text", name)
			}
		}
	})
}

func TestAbsentIsNotZero(t *testing.T) {
	s := Stats{Counters: map[string]int64{"c": 0}, Gauges: map[string]int64{"g": 0}}
	require.True(t, s.Has("c"))
	require.True(t, s.Has("g"))
	require.False(t, s.Has("x"))
	_, ok := s.Counter("g")
	require.False(t, ok, "a gauge is no counter")
	_, ok = s.Gauge("c")
	require.False(t, ok, "a counter is no gauge")
	v, ok := s.Counter("c")
	require.True(t, ok)
	require.Zero(t, v)
}

func TestSince(t *testing.T) {
	before := Stats{Source: "p", Counters: map[string]int64{"a": 5, "b": 1}, Gauges: map[string]int64{"g": 9}}
	after := Stats{Source: "p", Release: "1.40.0", Counters: map[string]int64{"a": 7, "b": 1, "made": 3}, Gauges: map[string]int64{"g": 2}}
	d, err := after.Since(before)
	require.NoError(t, err)
	require.Equal(t, StatsDelta{Release: "1.40.0", Counters: map[string]int64{"a": 2, "b": 0, "made": 3}, Before: map[string]int64{"g": 9}, After: map[string]int64{"g": 2}}, d)
	require.True(t, d.Has("b"))
	require.False(t, d.Has("g"))

	var back *BackwardsError
	_, err = before.Since(after)
	require.ErrorAs(t, err, &back)
	require.Equal(t, "a", back.Stat)
	_, err = Stats{Source: "p", Counters: map[string]int64{"a": 9}}.Since(before)
	require.ErrorAs(t, err, &back)
	require.True(t, back.Gone)
	require.Equal(t, "b", back.Stat)
	_, err = Stats{Source: "q"}.Since(before)
	require.ErrorContains(t, err, `"p" and "q"`)
}

func TestCheckProof(t *testing.T) {
	proof := FileAccessLog("x").Proof
	delta := func(kv map[string]int64) StatsDelta { return StatsDelta{Counters: kv} }
	require.NoError(t, CheckProof(proof, delta(map[string]int64{"filesystem.write_buffered": 10, "filesystem.write_failed": 0}), 10))
	for _, c := range []struct {
		counters map[string]int64
		want     string
	}{
		{map[string]int64{"filesystem.write_buffered": 9, "filesystem.write_failed": 0}, "write_buffered grew by 9, want 10, the requests served"},
		{map[string]int64{"filesystem.write_buffered": 10, "filesystem.write_failed": 1}, "write_failed grew by 1, want zero"},
		{map[string]int64{"filesystem.write_buffered": 10}, "write_failed is absent"},
		{nil, "write_buffered is absent"},
	} {
		var e *ProofError
		err := CheckProof(proof, delta(c.counters), 10)
		require.ErrorAs(t, err, &e)
		require.ErrorContains(t, err, c.want)
	}
	require.ErrorContains(t, CheckProof([]Expect{{"a", IsRequests}}, delta(nil), 0), "absent", "no requests do not make an absent counter right")
	require.ErrorContains(t, CheckProof([]Expect{{"a", "some"}}, delta(map[string]int64{"a": 1}), 1), `"some" is no expectation`)
	require.NoError(t, CheckProof([]Expect{{"a", IsPositive}}, delta(map[string]int64{"a": 1}), 1))
	require.Error(t, CheckProof([]Expect{{"a", IsPositive}}, delta(map[string]int64{"a": 0}), 1))

	require.NoError(t, CheckProofAbsent(proof, delta(nil)))
	require.NoError(t, CheckProofAbsent(proof, delta(map[string]int64{"filesystem.write_buffered": 0})))
	require.ErrorContains(t, CheckProofAbsent(proof, delta(map[string]int64{"filesystem.write_buffered": 1})), "in an arm without the setting")
}

// servedCounters is what one manager and one cluster of a release have.
func servedCounters(release string) StatsDelta {
	d := StatsDelta{Release: release, Counters: map[string]int64{}, After: map[string]int64{"cluster_manager.active_clusters": 1}}
	for _, n := range []string{"downstream_rq_total", "downstream_rq_completed", "downstream_rq_1xx", "downstream_rq_2xx", "downstream_rq_3xx", "downstream_rq_4xx", "downstream_rq_5xx", "downstream_rq_rx_reset", "downstream_rq_timeout", "downstream_cx_protocol_error", "downstream_cx_total"} {
		d.Counters["http.in.gress."+n] = 1
		d.Counters["http.admin."+n] = 1000
	}
	for _, n := range []string{"upstream_rq_total", "upstream_cx_total", "upstream_cx_connect_fail", "upstream_rq_timeout", "upstream_rq_rx_reset", "upstream_cx_destroy_with_active_rq", "upstream_rq_retry", "upstream_cx_overflow", "upstream_cx_pool_overflow", "upstream_rq_pending_overflow", "upstream_rq_retry_overflow"} {
		d.Counters["cluster.o.rigin."+n] = 2
	}
	if release != "1.36.2" {
		d.Counters["cluster.o.rigin.upstream_rq_active_overflow"] = 2
	}
	for _, n := range []string{"downstream_cx_overflow", "downstream_cx_overload_reject", "downstream_global_cx_overflow"} {
		d.Counters["listener.ingress."+n] = 0
		d.Counters["listener.admin."+n] = 1000
	}
	d.Counters["server.worker_0.watchdog_miss"] = 3
	return d
}

func TestServedBy(t *testing.T) {
	s, err := ServedBy(servedCounters("1.36.2"))
	require.NoError(t, err)
	require.EqualValues(t, 8, s.Overflow)
	s, err = ServedBy(servedCounters("1.40.0"))
	require.NoError(t, err)
	require.EqualValues(t, 10, s.Overflow)
	require.EqualValues(t, 2, s.Overflows["cluster.o.rigin.upstream_rq_active_overflow"])
	require.EqualValues(t, 1, s.Requests, "admin's own requests do not count")
	require.EqualValues(t, 2, s.UpstreamRequests)
	require.EqualValues(t, 3, s.WatchdogMisses)

	// Each counter that is needed is missed.
	for name := range servedCounters("1.40.0").Counters {
		if strings.Contains(name, "admin") || strings.Contains(name, "watchdog") || strings.HasSuffix(name, ".downstream_cx_overflow") {
			continue
		}
		d := servedCounters("1.40.0")
		delete(d.Counters, name)
		_, err := ServedBy(d)
		var missing *MissingStatsError
		require.ErrorAs(t, err, &missing, name)
	}
	// An unknown release is asked for the newest counters.
	d := servedCounters("1.36.2")
	d.Release = ""
	_, err = ServedBy(d)
	require.ErrorContains(t, err, "upstream_rq_active_overflow")
	// Without clusters, none is needed, if that is known.
	direct := StatsDelta{Release: "1.40.0", Counters: map[string]int64{}, After: map[string]int64{"cluster_manager.active_clusters": 0}}
	for name, v := range servedCounters("1.40.0").Counters {
		if !strings.HasPrefix(name, "cluster.") {
			direct.Counters[name] = v
		}
	}
	_, err = ServedBy(direct)
	require.NoError(t, err)
	direct.After = nil
	_, err = ServedBy(direct)
	require.ErrorContains(t, err, "cluster.*.upstream_rq_total")
	_, err = ServedBy(StatsDelta{After: map[string]int64{"cluster_manager.active_clusters": 0}})
	require.ErrorContains(t, err, "http.*.downstream_rq_total")
}

func TestScanLog(t *testing.T) {
	found := scanLog(`[2026-11-30 20:48:42.424][616][error][envoy_bug] [source/common/runtime/runtime_impl.cc:466] envoy bug failure: false. Details: Using a removed guard envoy.reloadable_features.nope. In future
[2026-11-30 20:48:42.862][626][warning][misc] [source/x.cc:39] field 'a.use_oghttp2_codec' is marked as work-in-progress. API features
[2026-11-30 20:48:42.870][627][warning][misc] [source/x.cc:39] field 'a.use_oghttp2_codec' is marked as work-in-progress. API features
[2026-11-30 20:48:43.259][636][warning][misc] [source/x.cc:23] Deprecated field: type a.B Using deprecated option 'a.B.c'
[2026-11-30 20:48:43.259][636][error][envoy_bug] [x.cc:1] envoy bug failure: other
[2026-11-30 20:48:43.595][636][warning][main] [source/server/server.cc:1028] caught ENVOY_SIGTERM
[2026-11-30 20:48:43.595][636][warning][main] there is no configured limit to the number of allowed active downstream connections
`)
	var kinds []string
	for _, p := range found {
		kinds = append(kinds, p.Kind)
	}
	require.Equal(t, []string{"removed runtime guard", "work in progress", "deprecated field", "Envoy bug"}, kinds)
	require.Nil(t, scanLog(""))
}

func TestWorkersOf(t *testing.T) {
	thread := func(name string, tid int) procfs.Thread {
		return procfs.Thread{Comm: name, Tid: tid, RunNanoseconds: int64(tid)}
	}
	w, err := workersOf(1, []procfs.Thread{thread("envoy", 1), thread("wrk:worker_1", 3), thread("wrk:worker_0", 2), thread("dog:workers_gua", 4)})
	require.NoError(t, err)
	require.Equal(t, []Worker{{0, 2, 2}, {1, 3, 3}}, w)
	for _, c := range []struct {
		threads []procfs.Thread
		want    string
	}{
		{nil, "no thread called"},
		{[]procfs.Thread{thread("wrk:worker_x", 1)}, `"wrk:worker_x"`},
		{[]procfs.Thread{thread("wrk:worker_1", 1)}, "worker 0 is missing"},
		{[]procfs.Thread{thread("wrk:worker_0", 1), thread("wrk:worker_0", 2)}, "there twice"},
	} {
		_, err := workersOf(1, c.threads)
		require.ErrorContains(t, err, c.want)
	}
}
