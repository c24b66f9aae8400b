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
	require.Contains(t, string(requestBytes(Spec{Method: "PUT"}.withDefaults(), target, 0)), "\r\nContent-Length: 0\r\n")
}
