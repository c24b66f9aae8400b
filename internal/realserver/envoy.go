package realserver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/internal/sys"
)

// StartEnvoy starts Envoy with one worker, which answers by itself.
func StartEnvoy(ctx context.Context, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	tls, err := newPair(o)
	if err != nil {
		return nil, err
	}
	bootstrap, err := envoy.Parse(envoyBootstrap(o, tls))
	if err != nil {
		return nil, err
	}
	proxy := envoy.Proxy{Version: o.Version, Bootstrap: bootstrap}
	binary, err := proxy.Find()
	if err != nil {
		var none *envoy.NotFoundError
		if errors.As(err, &none) {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return nil, fmt.Errorf("realserver: %w", err)
	}
	p, err := envoy.Start(ctx, envoy.StartOptions{Binary: binary, Proxy: proxy, Dir: o.Dir, Hold: func(pid int) error {
		if len(o.CPUs) == 0 {
			return nil
		}
		return sys.SetAffinity(pid, o.CPUs)
	}})
	if err != nil {
		return nil, fmt.Errorf("realserver: %w", err)
	}
	s := &Server{Name: "envoy " + binary.Release, Certificate: tls.certificate, Pid: p.Pid(), stop: p.Stop}
	for _, l := range p.Listeners() {
		switch l.Name {
		case "plain":
			s.Plain = l.Address
		case "h2c":
			s.H2C = l.Address
		case "tls":
			s.TLS = l.Address
		case "quic":
			s.QUIC = l.Address
		}
	}
	s.requests = func(ctx context.Context) (int64, error) { return envoyRequests(ctx, p.Admin()) }
	return s, nil
}

// envoyRequests adds up the counters of the listeners. A counter is made with
// its listener, so an absent one is an error.
func envoyRequests(ctx context.Context, a *envoy.Admin) (int64, error) {
	got, err := a.Stats(ctx)
	if err != nil {
		return 0, err
	}
	sum, found := int64(0), 0
	for name, value := range got.Counters {
		if strings.HasPrefix(name, "http.load_") && strings.HasSuffix(name, ".downstream_rq_total") {
			sum += value
			found++
		}
	}
	if found < 3 {
		return 0, fmt.Errorf("%d counters of requests; want those of three listeners", found)
	}
	return sum, nil
}

func envoyBootstrap(o Options, tls pair) string {
	var b strings.Builder
	b.WriteString("admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}\nstatic_resources:\n  listeners:\n")
	secure := fmt.Sprintf(`
          tls_certificates: [{certificate_chain: {filename: %s}, private_key: {filename: %s}}]`, tls.certificate, tls.key)
	listener(&b, o, "plain", "HTTP1", "", "")
	listener(&b, o, "h2c", "HTTP2", "", "")
	listener(&b, o, "tls", "AUTO", `
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
          common_tls_context:
            alpn_protocols: [h2, http/1.1]
            tls_params: {tls_minimum_protocol_version: TLSv1_2, tls_maximum_protocol_version: TLSv1_3}`+strings.ReplaceAll(secure, "\n", "\n  "), "")
	if o.QUIC {
		listener(&b, o, "quic", "HTTP3", `
      transport_socket:
        name: envoy.transport_sockets.quic
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport
          downstream_tls_context:
            common_tls_context:`+strings.ReplaceAll(secure, "\n", "\n    "), `
    udp_listener_config:
      quic_options: {}
      downstream_socket_config: {prefer_gro: true}`)
	}
	b.WriteString("  clusters: []\n")
	return b.String()
}

func listener(b *strings.Builder, o Options, name, codec, transport, udp string) {
	network := ""
	if udp != "" {
		network = "protocol: UDP, "
	}
	fmt.Fprintf(b, `  - name: %[1]s
    address: {socket_address: {%[2]saddress: 127.0.0.1, port_value: 0}}%[6]s
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: load_%[1]s
          codec_type: %[3]s
          common_http_protocol_options: {idle_timeout: 0s}
          stream_idle_timeout: 0s
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            name: local
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: {prefix: /}
                direct_response: {status: 200, body: {inline_string: "%[4]s"}}%[5]s
`, name, network, codec, o.body(), transport, udp)
}
