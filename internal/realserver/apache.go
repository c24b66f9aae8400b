package realserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
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
	s := &Server{Name: "apache " + version}
	var held ports
	defer held.release()
	var status string
	if err := held.holdFor(s, &status); err != nil {
		return nil, err
	}
	tls, err := newPair(o)
	if err != nil {
		return nil, err
	}
	s.Certificate = tls.certificate
	if err := os.Mkdir(filepath.Join(o.Dir, "htdocs"), 0o755); err != nil {
		return nil, fmt.Errorf("realserver: %w", err)
	}
	if _, err := write(o, "htdocs/body", o.body()); err != nil {
		return nil, err
	}
	config, err := write(o, "apache.conf", fmt.Appendf(nil, apacheConfig, o.Dir, modules, s.Plain, s.H2C, s.TLS, status, tls.certificate, tls.key))
	if err != nil {
		return nil, err
	}
	p, err := launch(ctx, o, "apache2", path, []string{"-D", "FOREGROUND", "-f", config}, s.Plain, s.H2C, s.TLS, status)
	if err != nil {
		return nil, err
	}
	s.Pid = p.Pid()
	s.stop = func() error { return p.Stop(stopGrace) }
	reader := &apacheStatus{address: status}
	s.requests = reader.requests
	return s, nil
}

const apacheConfig = `
ServerRoot %[1]s
DefaultRuntimeDir %[1]s
PidFile %[1]s/apache.pid
ErrorLog %[1]s/error.log
LogLevel warn
Mutex pthread
LoadModule mpm_event_module %[2]s/mod_mpm_event.so
LoadModule authz_core_module %[2]s/mod_authz_core.so
LoadModule alias_module %[2]s/mod_alias.so
LoadModule status_module %[2]s/mod_status.so
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
ExtendedStatus On
FileETag None
DocumentRoot %[1]s/htdocs
AliasMatch ^ %[1]s/htdocs/body
SSLSessionCache none
Listen %[3]s
Listen %[4]s
Listen %[5]s https
Listen %[6]s
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
	SSLCertificateFile %[7]s
	SSLCertificateKeyFile %[8]s
	SSLProtocol all -SSLv3 -TLSv1 -TLSv1.1
</VirtualHost>
<VirtualHost %[6]s>
	Protocols http/1.1
	<Location />
		SetHandler server-status
	</Location>
</VirtualHost>
`

// apacheStatus asks mod_status, and knows by counting what its own questions
// added.
type apacheStatus struct {
	address string

	mu    sync.Mutex
	asked int64
}

func (a *apacheStatus) requests(ctx context.Context) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.address+"/?auto", nil)
	if err != nil {
		return 0, err
	}
	request.Close = true
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return 0, err
	}
	total, err := parseApache(string(raw))
	if err != nil {
		return 0, err
	}
	total -= a.asked // before this one, which is counted when it has been answered
	a.asked++
	return total, nil
}

var totalAccesses = regexp.MustCompile(`(?m)^Total Accesses: (\d+)$`)

func parseApache(text string) (int64, error) {
	m := totalAccesses.FindStringSubmatch(strings.ReplaceAll(text, "\r", ""))
	if m == nil {
		return 0, fmt.Errorf("no Total Accesses in %.200q", text)
	}
	return strconv.ParseInt(m[1], 10, 64)
}
