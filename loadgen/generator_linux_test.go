package loadgen

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func httpTarget(t testing.TB, name string, h http.HandlerFunc) (Target, *httptest.Server) {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return Target{Name: name, Address: strings.TrimPrefix(s.URL, "http://")}, s
}

func TestCountsEqualTheServersOwn(t *testing.T) {
	var served [2]atomic.Int64
	targets := make([]Target, 2)
	for i := range targets {
		targets[i], _ = httpTarget(t, []string{"a", "b"}[i], func(w http.ResponseWriter, r *http.Request) {
			served[i].Add(1)
			w.Write(make([]byte, 4096))
		})
	}
	g, err := New(Spec{Path: "/4k", Connections: 32, MaxLate: time.Hour, Expect: Expect{BodyBytes: 4096}}, targets)
	require.NoError(t, err)
	defer g.Close()
	require.NoError(t, g.Connect(context.Background()))
	r, err := g.Run(context.Background(), Window{Rate: 500, Duration: time.Second, Seed: 1})
	require.NoError(t, err)
	for i, tr := range r.Targets {
		require.NoError(t, tr.Check())
		require.EqualValues(t, 500, tr.Scheduled)
		require.EqualValues(t, served[i].Load(), tr.Sent)
		require.EqualValues(t, tr.Sent, tr.Completed)
		t.Logf("%+v", tr)
	}
	t.Logf("%+v", r.Generator)
}
