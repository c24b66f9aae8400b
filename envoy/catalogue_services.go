package envoy

import (
	"fmt"
	"net"
	"time"
)

// sideCluster adds a cluster of one endpoint, host:port with a numeric host.
// An address that is none becomes a step that Validate refuses.
func sideCluster(name, address string, http2 bool) Op {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	limits := map[string]any{"max_connections": 50000, "max_pending_requests": 50000, "max_requests": 50000, "max_retries": 50000}
	cluster := map[string]any{
		"name":             name,
		"type":             "STATIC",
		"circuit_breakers": map[string]any{"thresholds": []any{limits}},
		"load_assignment": map[string]any{"cluster_name": name, "endpoints": []any{map[string]any{
			"lb_endpoints": []any{map[string]any{"endpoint": map[string]any{"address": map[string]any{
				"socket_address": map[string]any{"address": host, "port_value": port},
			}}}},
		}}},
	}
	if http2 {
		cluster["typed_extension_protocol_options"] = map[string]any{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": typed("envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
				map[string]any{"explicit_http_config": map[string]any{"http2_protocol_options": map[string]any{}}}),
		}
	}
	return Append("static_resources.clusters", cluster)
}

const authzMessage = "envoy.extensions.filters.http.ext_authz.v3.ExtAuthz"

func authzProof(cluster string) []Expect {
	return []Expect{
		{Stat: "http.*.ext_authz.tare.ok", Is: IsRequests},
		{Stat: "http.*.ext_authz.tare.denied", Is: IsZero},
		{Stat: "http.*.ext_authz.tare.error", Is: IsZero},
		{Stat: "cluster." + cluster + ".upstream_rq_total", Is: IsRequests},
		{Stat: "cluster." + cluster + ".upstream_cx_connect_fail", Is: IsZero},
	}
}

// ExtAuthzHTTP asks the service at address, host:port, about every request
// over HTTP/1.1; what is not allowed, or not answered, is refused. Proof: one
// ok and one call for each request, no denial, no error.
func ExtAuthzHTTP(address string) Change {
	const cluster = "tare_authz_http"
	return Change{
		Name: "external authorization (HTTP)",
		Ops: []Op{
			beforeRouter("ext_authz", authzMessage, map[string]any{
				"stat_prefix": "tare", "transport_api_version": "V3", "failure_mode_allow": false,
				"http_service": map[string]any{"server_uri": map[string]any{
					"uri": "http://" + address, "cluster": cluster, "timeout": "5s",
				}},
			}),
			sideCluster(cluster, address, false),
		},
		Proof: authzProof(cluster),
		Needs: []string{"an external authorization service over HTTP"},
	}
}

// ExtAuthzGRPC is ExtAuthzHTTP over gRPC.
func ExtAuthzGRPC(address string) Change {
	const cluster = "tare_authz_grpc"
	return Change{
		Name: "external authorization (gRPC)",
		Ops: []Op{
			beforeRouter("ext_authz", authzMessage, map[string]any{
				"stat_prefix": "tare", "transport_api_version": "V3", "failure_mode_allow": false,
				"grpc_service": map[string]any{"envoy_grpc": map[string]any{"cluster_name": cluster}, "timeout": "5s"},
			}),
			sideCluster(cluster, address, true),
		},
		Proof: authzProof(cluster),
		Needs: []string{"an external authorization service over gRPC"},
	}
}

// otelFlushInterval is Envoy's default time between two exports of spans.
const otelFlushInterval = 5 * time.Second

// OpenTelemetry traces percent (0 to 100) of the requests and sends the spans
// to the collector at address, host:port, over OTLP/gRPC. Proof: requests
// were sampled as they should be (at 0 none, at 100 all, else some), and
// where some were, the collector took exports; spans that Envoy counts as
// sent prove nothing, it counts them without a collector too.
func OpenTelemetry(address string, percent float64) Change {
	const cluster = "tare_otel"
	c := Change{
		Name: fmt.Sprintf("OpenTelemetry tracer, %g%% sampled", percent),
		Ops: []Op{
			Set(managerPath+"tracing", map[string]any{
				"random_sampling": map[string]any{"value": percent},
				"provider": map[string]any{
					"name": "envoy.tracers.opentelemetry",
					"typed_config": map[string]any{
						"@type":        typePrefix + "envoy.config.trace.v3.OpenTelemetryConfig",
						"service_name": "tare",
						"grpc_service": map[string]any{"envoy_grpc": map[string]any{"cluster_name": cluster}, "timeout": "5s"},
					},
				},
			}),
			sideCluster(cluster, address, true),
		},
		Period: otelFlushInterval,
		Needs:  []string{"an OTLP collector over gRPC"},
	}
	const sampled, unsampled = "http.*.tracing.random_sampling", "http.*.tracing.not_traceable"
	switch {
	case percent <= 0:
		c.Proof = []Expect{{Stat: unsampled, Is: IsRequests}, {Stat: sampled, Is: IsZero}}
		return c
	case percent >= 100:
		c.Proof = []Expect{{Stat: sampled, Is: IsRequests}}
	default:
		c.Proof = []Expect{{Stat: sampled, Is: IsPositive}, {Stat: unsampled, Is: IsPositive}}
	}
	c.Proof = append(c.Proof,
		Expect{Stat: "cluster." + cluster + ".upstream_rq_2xx", Is: IsPositive},
		Expect{Stat: "cluster." + cluster + ".upstream_cx_connect_fail", Is: IsZero})
	return c
}

// CORS answers cross-origin requests of one origin, such as
// "https://example.com", on every virtual host. Proof: a valid origin for
// each request, so the load must send that Origin header.
func CORS(origin string) Change {
	return Change{
		Name: "CORS",
		Ops: []Op{
			beforeRouter("cors", "envoy.extensions.filters.http.cors.v3.Cors", nil),
			Set(managerPath+`route_config.virtual_hosts[*].typed_per_filter_config["envoy.filters.http.cors"]`,
				typed("envoy.extensions.filters.http.cors.v3.CorsPolicy", map[string]any{
					"allow_origin_string_match": []any{map[string]any{"exact": origin}},
				})),
		},
		Proof: []Expect{{Stat: "http.*.cors.origin_valid", Is: IsRequests}},
		Needs: []string{"a load that sends the header Origin"},
	}
}
