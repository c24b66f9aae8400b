package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counted is a server that counts.
type counted struct {
	*httptest.Server
	requests, connections atomic.Int64
}

func serve(t testing.TB, h http.HandlerFunc) *counted {
	s := &counted{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		h(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func hello(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }

// loadJSON runs tare load on a machine that other work may keep from it:
// headroom is not judged, and nothing overflows for lateness of either side.
func loadJSON(t testing.TB, args ...string) (loadResult, outcome) {
	t.Helper()
	o := tare(t, append(append([]string{"load", "--json"}, calm...), args...)...)
	return o.result(t), o
}

var calm = []string{"--min-headroom", "0", "--max-late", "1m", "--queue", "10000"}

func requireIdentities(t testing.TB, r loadResult) {
	t.Helper()
	require.Equal(t, r.Scheduled, r.Sent+r.Overflow)
	require.Equal(t, r.Sent, r.Completed+r.Failed+r.InFlightAtEnd)
}

// Scheduled is rate × duration, rounded, in every shape, and the server saw
// as many.
func TestLoadCountsAreTheServers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rate, duration string
		more           []string
		want           int64
	}{
		{"500", "500ms", nil, 250},
		{"333.3", "700ms", nil, 233},
		{"7", "500ms", nil, 4},
		{"999.7", "300ms", []string{"--arrival", "uniform", "--workers", "3", "--connections", "64"}, 300},
		{"250", "500ms", []string{"--arrival", "poisson"}, 125},
		{"250", "500ms", []string{"--burst", "5"}, 125},
		{"200", "500ms", []string{"-coarse", "10ms"}, 100},
	} {
		s := serve(t, hello)
		args := append([]string{"--rate", test.rate, "--duration", test.duration, "--expect-bytes", "5"}, test.more...)
		r, o := loadJSON(t, append(args, s.URL+"/hello?x=1")...)
		require.Zero(t, o.exit, "%v: %s", test, o.errors+o.out)
		require.Empty(t, o.errors)
		require.True(t, r.AsAsked)
		require.Equal(t, test.want, r.Scheduled, "%v", test)
		require.Equal(t, test.want, r.Completed)
		require.Equal(t, test.want, s.requests.Load())
		require.Equal(t, s.connections.Load(), r.ConnectionsOpened)
		requireIdentities(t, r)
		for _, p := range []percentiles{r.Response, r.Service} {
			require.Equal(t, test.want, p.Count)
			require.LessOrEqual(t, *p.P50, *p.P90)
			require.LessOrEqual(t, *p.P99, *p.P999)
			require.LessOrEqual(t, *p.P999, *p.Max)
		}
		require.Positive(t, *r.CPUPerRequest)
		require.NotNil(t, r.Headroom)
		for _, field := range []string{
			"scheduled", "sent", "overflow", "completed", "failed", "in_flight_at_end", "connections_opened", "rate",
			"response_ns", "service_ns", "lateness_ns", "cpu_ns_per_request", "headroom", "p50", "p90", "p99", "p999", "max",
		} {
			require.Contains(t, o.out, `"`+field+`":`)
		}
	}
}

func TestLoadForPeople(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	o := tare(t, append([]string{"load", "-rate=100", s.URL, "--duration", "300ms"}, calm...)...)
	require.Zero(t, o.exit, o.errors)
	require.Empty(t, o.errors)
	for _, text := range []string{"scheduled    30 in 300ms at 100 a second", "overflow 0", "p99.9", "lateness", "connections  32 opened", "\nas asked\n"} {
		require.Contains(t, o.out, text)
	}
}

// fortio#469, fortio#419: 3,000 calls asked for, 291 made, and success.
func TestReportFortio469LessThanAskedIsNoSuccess(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(100 * time.Millisecond)
		io.WriteString(w, "slow")
	})
	r, o := loadJSON(t, "--rate", "100", "--connections", "1", "--queue", "0", "--duration", "1s", s.URL)
	require.Equal(t, exitNotAsAsked, o.exit)
	require.False(t, r.AsAsked)
	require.EqualValues(t, 100, r.Scheduled)
	require.Greater(t, r.Overflow, int64(80))
	require.Equal(t, s.requests.Load(), r.Sent)
	require.Less(t, r.Rate, 20.0)
	require.EqualValues(t, 100, r.RateAsked)
	requireIdentities(t, r)
	require.Contains(t, strings.Join(r.Problems, "\n"), "not sent")
}

// ghz#233 (and hey): fewer requests than workers sent none at all.
func TestReportGhz233FewerRequestsThanWorkers(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	r, o := loadJSON(t, "--rate", "10", "--connections", "50", "--workers", "50", "--duration", "1s", s.URL)
	require.Zero(t, o.exit, o.errors)
	require.EqualValues(t, 10, r.Completed)
	require.EqualValues(t, 10, s.requests.Load())
}

// vegeta, k6, ghz: a rate whose period is no whole number of nanoseconds, and
// one above a request a nanosecond.
func TestReportVegetaPeriodOfRate(t *testing.T) {
	o := tare(t, "load", "--rate", "2e9", "http://127.0.0.1:9/")
	require.Equal(t, exitUsage, o.exit)
	require.Contains(t, o.errors, "--rate is 2e+09")
}

// wrk2#117, wrk2#90: a run that is short has an empty result. wrk2#138: the
// rate of one is a thousand times what was asked for.
func TestReportWrk2ShortRuns(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	r, o := loadJSON(t, "--rate", "1000", "--duration", "5ms", s.URL)
	require.Zero(t, o.exit, o.errors)
	require.EqualValues(t, 5, r.Completed)
	require.InDelta(t, 1000, r.Rate, 0.001)
	require.EqualValues(t, 5, r.Response.Count)
	require.NotContains(t, o.out, "NaN")

	o = tare(t, "load", "--rate", "0.3", "--duration", "100ms", s.URL)
	require.Equal(t, exitUsage, o.exit)
	require.Contains(t, o.errors, "at least one request")
}

// The warm-up is in no count.
func TestLoadWarmUpIsNotCounted(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	r, o := loadJSON(t, "--rate", "200", "--duration", "500ms", "--warmup", "250ms", "--ramp", "100ms", s.URL)
	require.Zero(t, o.exit, o.errors)
	require.EqualValues(t, 100, r.Scheduled)
	require.EqualValues(t, 100, r.Completed)
	require.EqualValues(t, 100, r.Response.Count)
	require.EqualValues(t, 100+50+10, s.requests.Load())
	require.EqualValues(t, 32, r.ConnectionsOpened)
}

// Answers within the drain are completed, others in flight at the end.
func TestLoadDrain(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(400 * time.Millisecond)
		hello(w, r)
	})
	r, o := loadJSON(t, "--rate", "40", "--duration", "250ms", s.URL)
	require.Zero(t, o.exit, o.errors)
	require.EqualValues(t, 10, r.Completed)
	r, o = loadJSON(t, "--rate", "40", "--duration", "250ms", "--drain", "0", s.URL)
	require.Equal(t, exitNotAsAsked, o.exit)
	require.Positive(t, r.InFlightAtEnd)
	requireIdentities(t, r)
}

func TestLoadWrongAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, http.NotFound)
	r, o := loadJSON(t, "--rate", "50", "--duration", "200ms", s.URL)
	require.Equal(t, exitNotAsAsked, o.exit)
	require.EqualValues(t, 10, r.Failed)
	require.Contains(t, r.Problems[0], "10 another status")
	require.Nil(t, r.Response.P50)
	require.Nil(t, r.CPUPerRequest)
	r, o = loadJSON(t, "--rate", "50", "--duration", "200ms", "--expect-status", "404", s.URL)
	require.Zero(t, o.exit, o.errors)
	require.EqualValues(t, 10, r.Completed)
}

// What the request is made of arrives.
func TestLoadRequest(t *testing.T) {
	t.Parallel()
	var seen atomic.Value
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen.Store(fmt.Sprintf("%s %s host=%s a=%s b=%s headers=%d body=%d", r.Method, r.URL, r.Host, r.Header.Get("A"), r.Header.Get("B"), len(r.Header), len(body)))
	})
	_, o := loadJSON(t, "--rate", "50", "--duration", "100ms", "--method", "POST", "--header", "A: 1", "--header", "B:two words",
		"--header-count", "7", "--header-size", "40", "--body-size", "3000", "--host", "shop.example", s.URL+"/x?y=z%20")
	require.Zero(t, o.exit, o.errors)
	require.Equal(t, "POST /x?y=z%20 host=shop.example a=1 b=two words headers=10 body=3000", seen.Load())
}

// What cannot be loaded is named, before a request, with status 1 and an
// object on standard output.
func TestLoadThatCannotBe(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := l.Addr().String()
	l.Close()
	secret := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	secret.Config.ErrorLog = log.New(io.Discard, "", 0)
	secret.StartTLS()
	defer secret.Close()
	for url, text := range map[string]string{
		"http://" + closed:             "refused",
		"http://no-such-host.invalid/": "resolve",
		secret.URL:                     "tls: 0 of 32 connections: tls: failed to verify certificate",
		strings.Replace(secret.URL, "https", "http", 1) + "/x": "",
	} {
		o := tare(t, "load", "--json", "--rate", "10", "--duration", "100ms", url)
		if text == "" { // plain HTTP to a TLS server: answered, but not rightly
			require.Equal(t, exitNotAsAsked, o.exit)
			continue
		}
		require.Equal(t, exitError, o.exit, "%s %s", o.out, o.errors)
		require.Contains(t, o.errors, text)
		require.Contains(t, o.out, `"error":"`)
		require.Contains(t, o.out, `"exit":1`)
		require.NotContains(t, o.out, `"scheduled"`)
	}
}

func TestLoadWrongUse(t *testing.T) {
	t.Parallel()
	for text, args := range map[string][]string{
		"--rate is needed":                 {"http://x/"},
		"want one URL, got 0":              {"--rate", "1"},
		"want one URL, got 2":              {"--rate", "1", "http://x", "http://y"},
		"want http:// or https://":         {"--rate", "1", "ftp://x/"},
		"has no host":                      {"--rate", "1", "http:///x"},
		"--rate is 0":                      {"--rate", "0", "http://x/"},
		"--rate is -1":                     {"--rate", "-1", "http://x/"},
		"exclude each other":               {"--rate", "1", "--in-flight", "3", "http://x/"},
		"--connections is -3":              {"--rate", "1", "--connections", "-3", "http://x/"},
		"--workers is 9":                   {"--rate", "1", "--workers", "9", "--connections", "8", "http://x/"},
		"--arrival is \"often\"":           {"--rate", "1", "--arrival", "often", "http://x/"},
		"--header: \"Connection\"":         {"--rate", "1", "--header", "Connection: close", "http://x/"},
		"want Name: value":                 {"--rate", "1", "--header", "x", "http://x/"},
		"--tls-ca needs an https":          {"--rate", "1", "--tls-ca", "x", "http://x/"},
		"--tls-min is \"1.1\"":             {"--rate", "1", "--tls-min", "1.1", "https://x/"},
		"protocol h2 is with TLS":          {"--rate", "1", "--protocol", "h2", "http://x/"},
		"protocol h2c is without TLS":      {"--rate", "1", "--protocol", "h2c", "https://x/"},
		"--protocol is \"spdy\"":           {"--rate", "1", "--protocol", "spdy", "https://x/"},
		"flag provided but not defined":    {"--rte", "1", "http://x/"},
		"invalid value \"fast\" for flag ": {"--rate", "fast", "http://x/"},
		"--duration is -1s":                {"--rate", "1", "--duration", "-1s", "http://127.0.0.1:1/"},
		"--cpus is \"a\"":                  {"--rate", "1", "--cpus", "a", "http://x/"},
		"--tls-ca is \"/no/such\"":         {"--rate", "1", "--tls-ca", "/no/such", "https://127.0.0.1:1/"},
		"--grpc-... needs --grpc":          {"--rate", "1", "--grpc-messages", "3", "http://x/"},
	} {
		o := tare(t, append([]string{"load"}, args...)...)
		require.Equal(t, exitUsage, o.exit, "%v: %s", args, o.errors)
		require.Empty(t, o.out)
		require.Contains(t, o.errors, text, "%v", args)
	}
}

func TestLoadClosedLoopAndIdle(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	r, o := loadJSON(t, "--in-flight", "4", "--connections", "4", "--duration", "300ms", s.URL)
	require.Zero(t, o.exit, o.errors)
	require.Positive(t, r.Completed)
	require.Equal(t, s.requests.Load(), r.Completed)
	require.Zero(t, r.RateAsked)
	require.EqualValues(t, 4, r.Report.Targets[0].MaxInFlight)

	s = serve(t, hello)
	r, o = loadJSON(t, "--idle", "--connections", "9", "--duration", "100ms", s.URL)
	require.Zero(t, o.exit, o.errors)
	require.Zero(t, r.Scheduled)
	require.Zero(t, s.requests.Load())
	require.EqualValues(t, 9, s.connections.Load())
	require.EqualValues(t, 9, r.ConnectionsOpened)
}

// A result that cannot be written is an error.
func TestLoadFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	s := serve(t, hello)
	c := exec.Command(program, "load", "--json", "--rate", "50", "--duration", "100ms", s.URL)
	var errs bytes.Buffer
	c.Stdout, c.Stderr = full, &errs
	o := ended(t, c.Run(), &bytes.Buffer{}, &errs)
	require.Equal(t, exitError, o.exit)
	require.Contains(t, o.errors, "write the result")
}
