package nginx

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// MaxBodySize is the largest body, in bytes.
const MaxBodySize = 64 << 20

// ErrNotSupported is wrapped by the answer of Prepare on systems other than Linux.
var ErrNotSupported = errors.New("nginx as origin is not supported on this system")

// Options are how nginx serves. The zero value serves empty bodies.
type Options struct {
	// BodySize is the size of each answer's body, in bytes, 0 to MaxBodySize.
	BodySize int `json:"body_size"`
	// Connections is how many connections nginx holds at the same time, its own
	// two and those for the status included. Default 1024. Above the limit of
	// open files nginx starts with a warning and refuses late.
	Connections int `json:"connections,omitempty"`
}

func (o Options) withDefaults() (Options, error) {
	if o.Connections == 0 {
		o.Connections = 1024
	}
	if o.Connections < 16 || o.Connections > 1<<20 {
		return o, fmt.Errorf("nginx: Connections is %d; give 16 to %d, or 0 for the default", o.Connections, 1<<20)
	}
	if o.BodySize < 0 || o.BodySize > MaxBodySize {
		return o, fmt.Errorf("nginx: BodySize is %d bytes; give 0 to %d", o.BodySize, MaxBodySize)
	}
	return o, nil
}

// Files of a run directory.
const (
	configFile = "nginx.conf"
	errorFile  = "error.log"
	bodyFile   = "body"
	statusPath = "/status"
)

// UnsafePathError says that a run directory cannot be written into a
// configuration of nginx, which would read its characters as syntax.
type UnsafePathError struct{ Dir string }

func (e *UnsafePathError) Error() string {
	return fmt.Sprintf(`nginx: run directory %q is not absolute, or holds one of " \ $ { } ; or a control character; use another`, e.Dir)
}

// render is the configuration of b in dir.
func render(b Binary, dir, address, status string, o Options) (string, error) {
	unsafe := strings.ContainsFunc(dir, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`"\${};`, r) })
	if unsafe || !filepath.IsAbs(dir) {
		return "", &UnsafePathError{Dir: dir}
	}
	path := func(name string) string { return `"` + filepath.Join(dir, name) + `"` }
	// Default an hour, after which a connection is closed however busy.
	age := ""
	if b.atLeast(1, 19, 10) {
		age = "keepalive_time 365d;"
	}
	return fmt.Sprintf(`# One process, so that its CPU is one number and its accepts need no balance.
daemon off;
master_process off;
worker_processes 1;
pid %[1]s;
error_log %[2]s warn;

events {
	worker_connections %[3]d;
}

http {
	access_log off;
	client_body_temp_path %[4]s;
	proxy_temp_path %[5]s;
	fastcgi_temp_path %[6]s;
	uwsgi_temp_path %[7]s;
	scgi_temp_path %[8]s;

	# Never close under a proxy that is about to send.
	keepalive_requests 2000000000;
	keepalive_timeout 365d;
	%[9]s
	client_header_timeout 1h;
	client_body_timeout 1h;
	send_timeout 1h;

	# Whatever a proxy may send.
	client_max_body_size 0;
	large_client_header_buffers 8 64k;

	# Head and body in one write.
	sendfile off;
	tcp_nodelay on;
	output_buffers 2 128k;
	postpone_output 0;

	open_file_cache max=16 inactive=365d;
	open_file_cache_valid 365d;
	open_file_cache_min_uses 1;
	etag off;
	if_modified_since off;
	max_ranges 0;
	default_type text/plain;

	server {
		listen %[10]s;
		location / {
			root "%[11]s";
			# The file answers to GET and HEAD; other methods are sent round once.
			error_page 405 =200 /;
			try_files /%[12]s =404;
		}
	}

	server {
		listen %[13]s;
		location = %[14]s {
			stub_status;
		}
		location / {
			return 404;
		}
	}
}
`, path("nginx.pid"), path(errorFile), o.Connections,
		path("client_body"), path("proxy"), path("fastcgi"), path("uwsgi"), path("scgi"),
		age, address, dir, bodyFile, status, statusPath), nil
}
