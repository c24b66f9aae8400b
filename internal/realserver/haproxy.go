package realserver

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tareperf/tare/internal/child"
)

// StartHAProxy starts HAProxy with one thread, which answers by itself.
func StartHAProxy(ctx context.Context, o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	path, err := find("haproxy", "haproxy")
	if err != nil {
		return nil, err
	}
	version, err := versionOf(ctx, path, "-v", `version (\d+\.\d+\.\d+)`)
	if err != nil {
		return nil, err
	}
	s, tls, held, err := newServer(o, "haproxy "+version, nil)
	if err != nil {
		return nil, err
	}
	defer held.release()
	body, err := write(o, "body", o.body())
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(o.Dir, "stats")
	config, err := write(o, "haproxy.cfg", fmt.Appendf(nil, haproxyConfig, socket, s.Plain, s.H2C, s.TLS, tls.both, body))
	if err != nil {
		return nil, err
	}
	p, err := launch(ctx, o, "haproxy", path, []string{"-db", "-f", config}, s.Plain, s.H2C, s.TLS, socket)
	if err != nil {
		return nil, err
	}
	s.Pid = p.Pid()
	s.stop = func() error { return p.Stop(0) } // it would wait for connections to end
	s.requests = func(ctx context.Context) (int64, error) { return haproxyRequests(ctx, socket) }
	return s, nil
}

const haproxyConfig = `
global
	stats socket %s mode 600 level user
	nbthread 1
	maxconn 4096
	ssl-default-bind-options ssl-min-ver TLSv1.2
defaults
	mode http
	timeout client 1h
	timeout server 1h
	timeout connect 5s
	timeout http-request 1h
	timeout http-keep-alive 1h
frontend load
	bind %s
	bind %s proto h2
	bind %s ssl crt %s alpn h2,http/1.1
	http-request return status 200 content-type text/plain file %s
`

// haproxyRequests asks the stats socket for the requests of the frontend.
func haproxyRequests(ctx context.Context, socket string) (int64, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if at, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(at)
	} else {
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	}
	if _, err := io.WriteString(c, "show stat\n"); err != nil {
		return 0, err
	}
	raw, err := io.ReadAll(io.LimitReader(c, 1<<20))
	if err != nil {
		return 0, err
	}
	return parseHAProxy(string(raw))
}

// parseHAProxy finds req_tot of the row load,FRONTEND in the CSV of "show
// stat", whose first line names the columns.
func parseHAProxy(text string) (int64, error) {
	table := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "# ")))
	table.FieldsPerRecord = -1
	rows, err := table.ReadAll()
	if err != nil {
		return 0, fmt.Errorf("show stat: %w", err)
	}
	for k, row := range rows {
		if k == 0 || len(row) < 2 || row[0] != "load" || row[1] != "FRONTEND" {
			continue
		}
		for column, name := range rows[0] {
			if name == "req_tot" && column < len(row) {
				return strconv.ParseInt(row[column], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("show stat has no req_tot of the frontend in %.200q", text)
}

// versionOf runs a program for its version.
func versionOf(ctx context.Context, path, flag, pattern string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := child.Output(ctx, child.Spec{Path: path, Args: []string{flag}}, 4<<10)
	if err != nil {
		return "", fmt.Errorf("realserver: version of %s: %w", path, err)
	}
	m := regexp.MustCompile(pattern).FindStringSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("realserver: no version in what %s %s says: %.200q", path, flag, out)
	}
	return m[1], nil
}
