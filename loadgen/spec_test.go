package loadgen

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpecRefusals(t *testing.T) {
	require.NoError(t, Spec{}.Validate())
	cases := []struct {
		field, value string
		spec         Spec
	}{
		{"Spec.Rate", "-1", Spec{Rate: -1}},
		{"Spec.Rate", "NaN", Spec{Rate: math.NaN()}},
		{"Spec.Rate", "+Inf", Spec{Rate: math.Inf(1)}},
		{"Spec.Rate", "2e+09", Spec{Rate: 2e9}},
		{"Spec.ConnectRate", "-5", Spec{ConnectRate: -5}},
		{"Spec.Connections", "-1", Spec{Connections: -1}},
		{"Spec.Workers", "-1", Spec{Workers: -1}},
		{"Spec.Workers", "5", Spec{Workers: 5, Connections: 4}},
		{"Spec.Method", `"GE T"`, Spec{Method: "GE T"}},
		{"Spec.Method", `"CONNECT"`, Spec{Method: "CONNECT"}},
		{"Spec.Path", `"4k"`, Spec{Path: "4k"}},
		{"Spec.Path", `"/a b"`, Spec{Path: "/a b"}},
		{"Spec.Path", `"/\r\nX: y"`, Spec{Path: "/\r\nX: y"}},
		{"Spec.Host", `"a\nb"`, Spec{Host: "a\nb"}},
		{"Spec.Headers[0].Name", `"a b"`, Spec{Headers: []Header{{"a b", ""}}}},
		{"Spec.Headers[1].Value", `"x\r\ny"`, Spec{Headers: []Header{{"a", "b"}, {"c", "x\r\ny"}}}},
		{"Spec.Headers[0].Name", `"content-LENGTH"`, Spec{Headers: []Header{{"content-LENGTH", "3"}}}},
		{"Spec.Arrival", `"wave"`, Spec{Arrival: "wave"}},
		{"Spec.Arrival", `"Jitter"`, Spec{Arrival: "Jitter"}},
		{"Spec.BurstSize", "0", Spec{Arrival: Burst}},
		{"Spec.BurstSize", "5", Spec{BurstSize: 5}},
		{"Spec.Coarse", "-1ns", Spec{Coarse: -1}},
		{"Spec.Coarse", "2s", Spec{Coarse: 2 * time.Second}},
		{"Spec.Queue", "-1", Spec{Queue: -1}},
		{"Spec.Reuse", `"random"`, Spec{Reuse: "random"}},
		{"Spec.Churn.Requests", "-1", Spec{Churn: Churn{Requests: -1}}},
		{"Spec.Churn.Together", "true", Spec{Churn: Churn{Together: true}}},
		{"Spec.Protocol", `"h3"`, Spec{Protocol: "h3"}},
		{"Spec.Streams", "5", Spec{Streams: 5}},
		{"Spec.Streams", "-1", Spec{Streams: -1, Protocol: H2C}},
		{"Spec.Pipeline", "5", Spec{Pipeline: 5, Protocol: H2C}},
		{"Spec.Pipeline", "10001", Spec{Pipeline: 10001}},
		{"Spec.Connections", "100000", Spec{Connections: 100000, Pipeline: 41}},
		{"Spec.TLS", "set", Spec{Protocol: H2C, TLS: &TLS{}}},
		{"Spec.GRPC", "set", Spec{GRPC: &GRPC{}}},
		{"Spec.Generated.Count", "-1", Spec{Generated: GeneratedHeaders{Count: -1}}},
		{"Spec.Generated.Count", "0", Spec{Generated: GeneratedHeaders{Sets: 2}}},
		{"Spec.Generated.Bytes", "15", Spec{Generated: GeneratedHeaders{Count: 1, Bytes: 15}}},
		{"Spec.Generated.Sets", "2", Spec{Generated: GeneratedHeaders{Count: 1, Sets: 2}, Pipeline: 2}},
		{"Spec.BodyBytes", "-1", Spec{BodyBytes: -1}},
		{"Spec.BodyBytes", "3", Spec{BodyBytes: 3, Body: "abc"}},
		{"Spec.Timeout", "-1s", Spec{Timeout: -time.Second}},
		{"Spec.Timeout", "2h0m0s", Spec{Timeout: 2 * time.Hour}},
		{"Spec.MaxLate", "-1s", Spec{MaxLate: -time.Second}},
		{"Spec.Expect.Status", "99", Spec{Expect: Expect{Status: 99}}},
		{"Spec.Expect.BodyBytes", "-1", Spec{Expect: Expect{BodyBytes: -1}}},
	}
	for _, c := range cases {
		err := c.spec.Validate()
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid, c.field)
		require.Equal(t, c.field, invalid.Field)
		require.Equal(t, c.value, invalid.Value)
		require.Contains(t, err.Error(), c.value)
	}
}

func TestTargetRefusals(t *testing.T) {
	require.NoError(t, validateTargets([]Target{{Address: "[::1]:80"}, {Address: "localhost:65535"}}))
	for _, targets := range [][]Target{nil, {{Address: "localhost"}}, {{Address: ":80"}}, {{Address: "h:0"}}, {{Address: "h:65536"}}, {{Address: "h:http"}}, make([]Target, maxTargets+1)} {
		var invalid *InvalidError
		require.ErrorAs(t, validateTargets(targets), &invalid, "%v", targets)
	}
}

func TestRequestBytes(t *testing.T) {
	target := Target{Address: "127.0.0.1:8080"}
	require.Equal(t, "GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", string(requestBytes(Spec{}.withDefaults(), target, 0)))
	s := Spec{Method: "POST", Path: "/p?q=1", Host: "example", Headers: []Header{{"A", "1"}, {"B", ""}}, Body: "hello"}
	require.Equal(t, "POST /p?q=1 HTTP/1.1\r\nHost: example\r\nA: 1\r\nB: \r\nContent-Length: 5\r\n\r\nhello", string(requestBytes(s.withDefaults(), target, 0)))
	generated := string(requestBytes(Spec{Method: "POST", BodyBytes: 3}.withDefaults(), target, 0))
	require.Contains(t, generated, "\r\nContent-Length: 3\r\n\r\nttt")
	require.Contains(t, string(requestBytes(Spec{Method: "PUT"}.withDefaults(), target, 0)), "\r\nContent-Length: 0\r\n")
}
