package quickstart

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/tareperf/tare/abtest"
	"github.com/tareperf/tare/counters"
	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/loadgen"
)

func TestMain(m *testing.M) { abtest.Main(m) }

func TestQuickstart(t *testing.T) {
	off, on := targets(t)
	abtest.Run(t, abtest.Experiment{
		Baseline: abtest.Arm{Name: "no log", Target: off},
		Variants: []abtest.Arm{{Name: "text log", Target: on}},
		Load:     loadgen.Spec{Path: "/"},
		// CPU time works on every machine. With hardware counters, leave the
		// metric out: the default is cycles.
		Metric: counters.CPUTime,
		// Short, so that a first look takes a minute. Leave these out for a
		// figure to publish.
		Rounds: 12,
		Window: 1500 * time.Millisecond,
		Warmup: time.Second,
	})
}

// flush is how often a log is written out, in all arms. A window ends with a
// wait of that long, so that the writing is charged to it: a second would cost
// a minute of two here.
const flush = 250 * time.Millisecond

// targets are the two configurations: Envoy's if there is an Envoy.
func targets(t *testing.T) (off, on abtest.Target) {
	found, err := envoy.Find(envoy.FindOptions{})
	var absent *envoy.NotFoundError
	switch {
	case errors.As(err, &absent):
		t.Log("no Envoy here: pricing the access log of the embedded proxy")
		return abtest.EmbeddedProxy{FlushInterval: flush}, abtest.EmbeddedProxy{FlushInterval: flush, AccessLog: "text"}
	case err != nil:
		t.Fatal(err)
	}
	t.Logf("pricing Envoy's access log: %s", found.Path)
	base := envoy.MustParse(bootstrap)
	flags := map[string]string{"file-flush-interval-msec": strconv.FormatInt(flush.Milliseconds(), 10)}
	return envoy.Proxy{Bootstrap: base, Flags: flags}, envoy.Proxy{Bootstrap: base.With(envoy.FileAccessLog("access.log")), Flags: flags}
}

// bootstrap forwards everything to the experiment's origin. Ports are the
// kernel's choice: both arms are alive at once.
const bootstrap = `
static_resources:
  listeners:
  - name: ingress
    address: {socket_address: {address: 127.0.0.1, port_value: 0}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: ingress
          route_config:
            virtual_hosts:
            - name: everything
              domains: ["*"]
              routes:
              - match: {prefix: "/"}
                route: {cluster: origin}
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
  - name: origin
    type: STATIC
    load_assignment:
      cluster_name: origin
      endpoints:
      - lb_endpoints:
        - endpoint:
            address:
              socket_address: {address: "${ORIGIN_ADDRESS}", port_value: "${ORIGIN_PORT}"}
`
