package abtest

import (
	"context"
	"testing"

	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/internal/need"
	"github.com/tareperf/tare/internal/nginx"
)

// Need skips t, with the reason, if a program that e asks for is not on this
// machine: an Envoy of the version that an arm names, or nginx. If TARE_REQUIRE
// lists it ("envoy", "nginx") the test fails instead, so that a skip cannot
// hide what is broken. Measure alone makes the same absence an error.
func Need(t testing.TB, e Experiment) {
	t.Helper()
	find := envoyFinder{}
	for _, a := range e.arms() {
		if p, ok := a.Target.(envoy.Proxy); ok {
			_, err := find.find(p)
			need.Skip(t, "envoy", err)
		}
	}
	if o, ok := e.Origin.(Nginx); ok {
		_, err := findNginx(context.Background(), o)
		need.Skip(t, "nginx", err)
	}
}

func findNginx(ctx context.Context, o Nginx) (nginx.Binary, error) {
	if o.Path != "" {
		return nginx.Identify(ctx, o.Path)
	}
	return nginx.Find(ctx)
}
