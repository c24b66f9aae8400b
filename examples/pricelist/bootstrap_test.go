package pricelist

// bootstrap forwards every request to the experiment's origin. The limits of
// the cluster are far above the load, so that none of them is what is
// measured.
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
            name: routes
            virtual_hosts:
            - name: everything
              domains: ["*"]
              routes:
              - match: {prefix: "/"}
                route: {cluster: origin, timeout: 15s}
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
  - name: origin
    type: STATIC
    connect_timeout: 2s
    circuit_breakers:
      thresholds:
      - {max_connections: 100000, max_pending_requests: 100000, max_requests: 100000, max_retries: 100000}
    load_assignment:
      cluster_name: origin
      endpoints:
      - lb_endpoints:
        - endpoint:
            address:
              socket_address: {address: "${ORIGIN_ADDRESS}", port_value: "${ORIGIN_PORT}"}
`
