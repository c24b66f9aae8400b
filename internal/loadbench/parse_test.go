package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the tools wrote when they were run.
const (
	wrkSays = `Running 1s test @ http://127.0.0.1:18999/
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    97.89us  289.11us   3.86ms   95.85%
    Req/Sec    76.56k     2.85k   80.69k    81.82%
  Latency Distribution
     50%   42.00us
     75%   47.00us
     90%   64.00us
     99%    1.69ms
  83757 requests in 1.10s, 91.22MB read
Requests/sec:  76136.08
Transfer/sec:     82.92MB
`
	h2loadSays = `finished in 1.00s, 400.00 req/s, 446.09KB/s
requests: 400 total, 400 started, 400 done, 398 succeeded, 2 failed, 1 errored, 0 timeout
status codes: 400 2xx, 0 3xx, 0 4xx, 0 5xx
traffic: 446.09KB (456800) total, 33.98KB (34800) headers (space savings 0.00%), 400.00KB (409600) data
                     min         max         mean         sd        +/- sd
time for request:       61us       473us       177us        65us    77.00%
time for connect:        7us        46us        32us        17us    75.00%
time to 1st byte:      219us       250us       230us        13us    75.00%
req/s           :      99.91       99.92       99.92        0.00    50.00%
`
	heySays = `
Summary:
  Total:	1.0054 secs
  Slowest:	0.0016 secs
  Fastest:	0.0001 secs
  Average:	0.0003 secs
  Requests/sec:	198.9357
  
  Total data:	204800 bytes
  Size/request:	1024 bytes

Response time histogram:
  0.000 [1]	|
  0.000 [53]	|■■■■■■■■■■■■■■■■■■■■■■■
  0.002 [1]	|


Latency distribution:
  95% in 0.0009 secs
  99% in 0.0012 secs

Details (average, fastest, slowest):
  resp read:	0.0000 secs, 0.0000 secs, 0.0005 secs

Status code distribution:
  [200]	200 responses
  [503]	3 responses

Error distribution:
  [4]	Get "http://127.0.0.1:18999/": dial tcp 127.0.0.1:18999: connect: connection refused
`
)

func TestParseWhatToolsSay(t *testing.T) {
	o, err := parseWrk(wrkSays)
	require.NoError(t, err)
	require.Equal(t, outcome{Completed: 83757, Rate: 76136.08, P99: 1690 * time.Microsecond}, o)
	o, err = parseWrk(wrkSays + "  Socket errors: connect 1, read 2, write 3, timeout 4\n  Non-2xx or 3xx responses: 57\n")
	require.NoError(t, err)
	require.Equal(t, outcome{Completed: 83700, Failed: 67, Rate: 76136.08, P99: 1690 * time.Microsecond}, o)

	o, err = parseH2load(h2loadSays)
	require.NoError(t, err)
	require.Equal(t, outcome{Completed: 398, Failed: 2, Rate: 400, Max: 473 * time.Microsecond}, o)

	o, err = parseHey(heySays)
	require.NoError(t, err)
	require.Equal(t, outcome{Completed: 200, Failed: 7, Rate: 198.9357, P99: 1200 * time.Microsecond, Max: 1600 * time.Microsecond}, o)
}

func FuzzParse(f *testing.F) {
	for _, said := range []string{wrkSays, h2loadSays, heySays, ""} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		for _, parse := range []func(string) (outcome, error){parseWrk, parseH2load, parseHey} {
			_, err := parse(said)
			if said == "" {
				require.Error(t, err) // nothing is never a result
			}
		}
	})
}
