package envoy_test

import (
	"fmt"

	"github.com/tareperf/tare/envoy"
)

// A template, two arms of it, and what differs between them: all of it
// without an Envoy at hand.
func Example() {
	base := envoy.MustParse(`
static_resources:
  listeners:
  - name: ingress
    address:
      socket_address: {address: 127.0.0.1, port_value: 8080}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{match: {prefix: /}, route: {cluster: origin}}]
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
  - name: origin
    load_assignment:
      cluster_name: origin
      endpoints:
      - lb_endpoints:
        - endpoint:
            address:
              socket_address: {address: "${ORIGIN_ADDRESS}", port_value: "${ORIGIN_PORT}"}
`)
	off := envoy.Proxy{Bootstrap: base}

	// One setting from the catalogue.
	text := envoy.FileAccessLog("access.log")
	on := envoy.Proxy{Bootstrap: base.With(text)}

	// One of your own: what to do, and the counter that shows it at work.
	small := envoy.Proxy{Bootstrap: base.With(envoy.Change{
		Name:  "4 KiB buffers",
		Ops:   []envoy.Op{envoy.Set("static_resources.clusters[origin].per_connection_buffer_limit_bytes", 4096)},
		Proof: []envoy.Expect{{Stat: "cluster.origin.upstream_flow_control_paused_reading_total", Is: envoy.IsPositive}},
	})}

	for _, variant := range []envoy.Proxy{on, small} {
		if err := variant.Check(); err != nil {
			fmt.Println(err)
		}
		differences, err := envoy.DeclaredDifference(off, variant)
		fmt.Println(differences[0].Path, err)
		fmt.Println("  windows are a multiple of", variant.Period())
	}
	fmt.Println(text.Proof[0].Stat, "grows like", text.Proof[0].Is)

	// A path that leads nowhere says how far it led.
	wrong := base.With(envoy.Change{Name: "typo", Ops: []envoy.Op{envoy.Remove("static_resources.clusters[orgin]")}})
	fmt.Println(wrong.Err())

	// Output:
	// static_resources.listeners[ingress].filter_chains[0].filters[envoy.filters.network.http_connection_manager].typed_config.access_log <nil>
	//   windows are a multiple of 1s
	// static_resources.clusters[origin].per_connection_buffer_limit_bytes <nil>
	//   windows are a multiple of 0s
	// filesystem.write_buffered grows like requests
	// change "typo": remove static_resources.clusters[orgin]: at static_resources.clusters there is a list of 1 with element origin, no element "orgin": correct the path, or the bootstrap
}
