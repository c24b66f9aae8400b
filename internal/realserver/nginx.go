package realserver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/tareperf/tare/internal/nginx"
)

// StartNginx starts nginx as a single process.
func StartNginx(ctx context.Context, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	binary, err := nginx.Find(ctx)
	if err != nil {
		var none *nginx.NotFoundError
		if errors.As(err, &none) {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return nil, fmt.Errorf("realserver: %w", err)
	}
	var status string
	s, tls, held, err := newServer(o, "nginx "+binary.Version, &status)
	if err != nil {
		return nil, err
	}
	defer held.release()
	if _, err := write(o, "body", o.body()); err != nil {
		return nil, err
	}
	config, err := write(o, "nginx.conf", fmt.Appendf(nil, nginxConfig, o.Dir, s.Plain, s.H2C, s.TLS, tls.certificate, tls.key, status))
	if err != nil {
		return nil, err
	}
	p, err := launch(ctx, o, "nginx", binary.Path, []string{"-p", o.Dir + "/", "-c", config, "-e", filepath.Join(o.Dir, "error.log")}, s.Plain, s.H2C, s.TLS, status)
	if err != nil {
		return nil, err
	}
	s.Pid = p.Pid()
	s.stop = func() error { return p.Stop(stopGrace) }
	reader := &nginx.Status{Address: status}
	s.requests = func(ctx context.Context) (int64, error) {
		got, err := reader.Stats(ctx)
		return int64(got.Requests), err
	}
	return s, nil
}

// As package internal/nginx serves, over more protocols.
const nginxConfig = `
daemon off;
master_process off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log warn;
events {
	worker_connections 4096;
}
http {
	access_log off;
	client_body_temp_path %[1]s/t1;
	proxy_temp_path %[1]s/t2;
	fastcgi_temp_path %[1]s/t3;
	uwsgi_temp_path %[1]s/t4;
	scgi_temp_path %[1]s/t5;
	keepalive_requests 2000000000;
	keepalive_timeout 1d;
	keepalive_time 1d;
	client_header_timeout 1h;
	client_body_timeout 1h;
	send_timeout 1h;
	sendfile off;
	tcp_nodelay on;
	postpone_output 0;
	open_file_cache max=16 inactive=1d;
	open_file_cache_valid 1d;
	etag off;
	default_type text/plain;
	ssl_certificate %[5]s;
	ssl_certificate_key %[6]s;
	ssl_protocols TLSv1.2 TLSv1.3;
	ssl_session_cache shared:s:1m;
	server {
		listen %[2]s;
		listen %[3]s http2;
		listen %[4]s ssl http2;
		location / {
			root %[1]s;
			error_page 405 =200 /;
			try_files /body =404;
		}
	}
	server {
		listen %[7]s;
		location = /status {
			stub_status;
		}
	}
}
`
