package envoy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Where the catalogue's settings go.
const (
	managerPath   = "static_resources.listeners[*].filter_chains[*].filters[HttpConnectionManager].typed_config."
	listenersPath = "static_resources.listeners[*]."
	clustersPath  = "static_resources.clusters[*]."
	optionsPath   = clustersPath + `typed_extension_protocol_options["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]`
)

const typePrefix = "type.googleapis.com/"

// typed is a message of an extension, with its type.
func typed(name string, fields map[string]any) map[string]any {
	m := map[string]any{"@type": typePrefix + name}
	for k, v := range fields {
		m[k] = v
	}
	return m
}

// beforeRouter puts an HTTP filter before the router of every HTTP connection
// manager.
func beforeRouter(filter, message string, fields map[string]any) Op {
	return Insert(managerPath+"http_filters[Router]", map[string]any{
		"name": "envoy.filters.http." + filter, "typed_config": typed(message, fields),
	})
}

// seconds writes a duration as Envoy reads it.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}

// BufferLimit is the limit of each connection's buffers in bytes, on every
// listener and every cluster; Envoy's default is 1 MiB. Proof: the dump of
// the running configuration.
func BufferLimit(bytes uint32) Change {
	return Change{
		Name: fmt.Sprintf("per-connection buffers of %d bytes", bytes),
		Ops: []Op{
			Set(listenersPath+"per_connection_buffer_limit_bytes", bytes),
			Set(clustersPath+"per_connection_buffer_limit_bytes", bytes),
		},
	}
}

// RetryPolicy retries as on says, such as "5xx,reset", up to retries times,
// on every virtual host whose routes have no policy of their own. Proof: the
// dump; and no request of the window was retried, so that the price is that
// of the policy and not of retries.
func RetryPolicy(on string, retries uint32) Change {
	return Change{
		Name: fmt.Sprintf("retry policy (%s, %d)", on, retries),
		Ops: []Op{Set(managerPath+"route_config.virtual_hosts[*].retry_policy", map[string]any{
			"retry_on": on, "num_retries": retries,
		})},
		Proof: []Expect{{Stat: "cluster.*.upstream_rq_retry", Is: IsZero}},
	}
}

// HPACKTable is the size in bytes of the table that Envoy offers HTTP/2
// clients for their headers; its default is 4096. Proof: the dump. What
// clients do with it only the wire shows.
func HPACKTable(bytes uint32) Change {
	return Change{
		Name: fmt.Sprintf("HPACK table of %d bytes", bytes),
		Ops:  []Op{Set(managerPath+"http2_protocol_options.hpack_table_size", bytes)},
	}
}

// ExactBalance spreads accepted connections evenly over the workers, on every
// listener. Proof: the dump.
func ExactBalance() Change {
	return Change{
		Name: "exact connection balancing",
		Ops:  []Op{Set(listenersPath+"connection_balance_config.exact_balance", map[string]any{})},
	}
}

// PoolPerDownstream gives every downstream connection upstream connections of
// its own, on every cluster. They stay open after the client has left, until
// their idle time-out. Proof: the dump.
func PoolPerDownstream() Change {
	return Change{
		Name: "connection pool per downstream connection",
		Ops:  []Op{Set(clustersPath+"connection_pool_per_downstream_connection", true)},
	}
}

// poolOption sets an option of the upstream connections of every cluster. The
// message needs to say a protocol: it is HTTP/1.1, which is the default.
func poolOption(name, field string, value any, stat string, period time.Duration) Change {
	c := Change{
		Name: name,
		Ops: []Op{
			Set(optionsPath+`["@type"]`, typePrefix+"envoy.extensions.upstreams.http.v3.HttpProtocolOptions"),
			Set(optionsPath+".explicit_http_config.http_protocol_options", map[string]any{}),
			Set(optionsPath+".common_http_protocol_options."+field, value),
		},
		Period: period,
	}
	if stat != "" {
		c.Proof = []Expect{{Stat: "cluster.*." + stat, Is: IsPositive}}
	}
	return c
}

// PoolMaxRequests closes an upstream connection after that many requests, on
// every cluster; these speak HTTP/1.1. Proof: upstream_cx_max_requests grows,
// so a window needs more requests than that.
func PoolMaxRequests(requests uint32) Change {
	return poolOption(fmt.Sprintf("%d requests for each upstream connection", requests),
		"max_requests_per_connection", requests, "upstream_cx_max_requests", 0)
}

// PoolMaxDuration closes an upstream connection that old, on every cluster;
// these speak HTTP/1.1. Proof: upstream_cx_max_duration_reached grows. The
// period is the duration.
func PoolMaxDuration(d time.Duration) Change {
	return poolOption("upstream connections of at most "+d.String(),
		"max_connection_duration", seconds(d), "upstream_cx_max_duration_reached", d)
}

// PoolIdleTimeout closes an upstream connection that was idle that long, on
// every cluster; these speak HTTP/1.1. Envoy's default is an hour. Proof: the
// dump, since under a steady load none is idle.
func PoolIdleTimeout(d time.Duration) Change {
	return poolOption("upstream connections idle for at most "+d.String(), "idle_timeout", seconds(d), "", 0)
}

// Codecs of HTTP2Codec.
const (
	Nghttp2 = "nghttp2" // the default of 1.40.0
	Oghttp2 = "oghttp2" // the default of 1.36.2
)

// HTTP2Codec chooses Envoy's implementation of HTTP/2 for the whole process.
// Proof: the dump. Give both arms one: the default is not the same in all
// releases.
func HTTP2Codec(codec string) Change {
	return Change{
		Name: "HTTP/2 by " + codec,
		Ops: []Op{Append("layered_runtime.layers", map[string]any{
			"name": "tare_http2_codec",
			"static_layer": map[string]any{
				"envoy.reloadable_features.http2_use_oghttp2": codec == Oghttp2,
			},
		})},
	}
}

// RequestHeaders adds that many headers, x-tare-0 and so on, to each request
// on its way to the origin. Proof: the dump.
func RequestHeaders(n int) Change { return headers("request", n) }

// ResponseHeaders adds that many headers, x-tare-0 and so on, to each
// response. Proof: the dump.
func ResponseHeaders(n int) Change { return headers("response", n) }

func headers(kind string, n int) Change {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"header": map[string]any{"key": fmt.Sprintf("x-tare-%d", i), "value": strings.Repeat("v", 16)}}
	}
	return Change{
		Name: fmt.Sprintf("%d %s headers added", n, kind),
		Ops:  []Op{Set(managerPath+"route_config."+kind+"_headers_to_add", list)},
	}
}

// Routes puts n routes that never match before those of every virtual host,
// each with statistics of its own. Proof: the dump.
func Routes(n int, cluster string) Change {
	c := Change{Name: fmt.Sprintf("%d more routes", n)}
	for i := range n {
		c.Ops = append(c.Ops, Insert(managerPath+"route_config.virtual_hosts[*].routes[0]", map[string]any{
			"match":       map[string]any{"path": fmt.Sprintf("/tare-route-%d", i)},
			"route":       map[string]any{"cluster": cluster},
			"stat_prefix": fmt.Sprintf("tare_route_%d", i),
		}))
	}
	return c
}
