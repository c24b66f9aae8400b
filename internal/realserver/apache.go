package realserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// StartApache starts Apache httpd with its event MPM: a parent and one worker
// process.
func StartApache(ctx context.Context, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	path, err := find("apache2", "apache2-bin")
	if err != nil {
		return nil, err
	}
	modules := "/usr/lib/apache2/modules"
	if _, err := os.Stat(filepath.Join(modules, "mod_http2.so")); err != nil {
		return nil, fmt.Errorf("realserver: modules of apache2: %w: %w; install Debian's apache2-bin", ErrNotFound, err)
	}
	version, err := versionOf(ctx, path, "-v", `Apache/(\d+\.\d+\.\d+)`)
	if err != nil {
		return nil, err
	}
	s, tls, held, err := newServer(o, "apache "+version, nil)
	if err != nil {
		return nil, err
	}
	defer held.release()
	if err := os.Mkdir(filepath.Join(o.Dir, "htdocs"), 0o755); err != nil {
		return nil, fmt.Errorf("realserver: %w", err)
	}
	if _, err := write(o, "htdocs/body", o.body()); err != nil {
		return nil, err
	}
	// Apache listens before it opens its log.
	if _, err := write(o, accessLog, nil); err != nil {
		return nil, err
	}
	config, err := write(o, "apache.conf", fmt.Appendf(nil, apacheConfig, o.Dir, modules, s.Plain, s.H2C, s.TLS, tls.certificate, tls.key))
	if err != nil {
		return nil, err
	}
	p, err := launch(ctx, o, "apache2", path, []string{"-D", "FOREGROUND", "-f", config}, s.Plain, s.H2C, s.TLS)
	if err != nil {
		return nil, err
	}
	s.Pid = p.Pid()
	s.stop = func() error { return p.Stop(stopGrace) }
	s.requests = func(context.Context) (int64, error) { return apacheRequests(filepath.Join(o.Dir, accessLog)) }
	return s, nil
}

const apacheConfig = `
ServerRoot %[1]s
DefaultRuntimeDir %[1]s
PidFile %[1]s/apache.pid
ErrorLog %[1]s/error.log
LogLevel warn
LogFormat %%>s status
CustomLog %[1]s/access.log status
Mutex pthread
LoadModule mpm_event_module %[2]s/mod_mpm_event.so
LoadModule authz_core_module %[2]s/mod_authz_core.so
LoadModule alias_module %[2]s/mod_alias.so
LoadModule ssl_module %[2]s/mod_ssl.so
LoadModule http2_module %[2]s/mod_http2.so
User www-data
Group www-data
ServerName localhost
StartServers 1
ServerLimit 1
ThreadLimit 128
ThreadsPerChild 128
MaxRequestWorkers 128
MaxConnectionsPerChild 0
AsyncRequestWorkerFactor 8
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 3600
Timeout 3600
FileETag None
DocumentRoot %[1]s/htdocs
AliasMatch ^ %[1]s/htdocs/body
SSLSessionCache none
Listen %[3]s
Listen %[4]s
Listen %[5]s https
<VirtualHost %[3]s>
	Protocols http/1.1
</VirtualHost>
<VirtualHost %[4]s>
	Protocols h2c
	H2Direct on
</VirtualHost>
<VirtualHost %[5]s>
	Protocols h2 http/1.1
	SSLEngine on
	SSLCertificateFile %[6]s
	SSLCertificateKeyFile %[7]s
	SSLProtocol all -SSLv3 -TLSv1 -TLSv1.1
</VirtualHost>
`

const accessLog = "access.log"

// apacheRequests counts the lines of the access log, of which each is a status.
// mod_http2 writes it when it cleans a stream up, which for the last streams of
// a connection can be at its end.
func apacheRequests(path string) (int64, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	lines := int64(bytes.Count(raw, []byte{'\n'}))
	if good := int64(bytes.Count(raw, []byte("200\n"))); good != lines {
		return 0, fmt.Errorf("%d of %d lines of the access log say another status than 200", lines-good, lines)
	}
	return lines, nil
}
