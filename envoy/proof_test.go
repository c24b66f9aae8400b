package envoy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A * adds up all counters that fit; none that fits is unknown, never zero.
func TestProofOverSeveralCounters(t *testing.T) {
	d := StatsDelta{Counters: map[string]int64{
		"http.a.rbac.allowed": 3, "http.b.rbac.allowed": 4, "http.rbac.allowed": 100, "http.a.rbac.denied": 0,
	}}
	allowed := []Expect{{Stat: "http.*.rbac.allowed", Is: IsRequests}}
	require.NoError(t, CheckProof(allowed, d, 7))
	require.Error(t, CheckProof(allowed, d, 107))
	require.Error(t, CheckProofAbsent(allowed, d))
	require.NoError(t, CheckProof([]Expect{{Stat: "http.*.rbac.denied", Is: IsZero}}, d, 7))
	require.ErrorContains(t, CheckProof([]Expect{{Stat: "http.*.rbac.shadow", Is: IsZero}}, d, 7), "absent")
	require.NoError(t, CheckProofAbsent([]Expect{{Stat: "http.*.rbac.shadow", Is: IsRequests}}, d))
	require.ErrorContains(t, CheckProof([]Expect{{Stat: "http.*.*", Is: IsRequests}}, d, 0), "grew by 107")
}
